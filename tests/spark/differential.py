"""differential: random flows of operators that Spark takes give one answer in process, on a batch and on a stream.

    python -m tests.spark.differential --flows 1000            # through the functions that Spark calls, without a JVM
    python -m tests.spark.differential --flows 100 --spark     # on Spark: batch, stream, and a driver's restart

A flow is made from a number, so that one which differs can be had again with `--first`. Elements of a key keep their
order; those of different keys have none. Micro-batches are cut at random, each on a fresh copy of the processor, with
nothing but the bytes of the states in between; a life that ends before its last micro-batch is committed repeats it.
"""

from __future__ import annotations

import argparse
import operator
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, NamedTuple

import pyarrow as pa

from penstock import Flow, Stream, flow
from penstock.spark import Schema, Spark, keyed_by
from penstock.spark.stages.executing import stage_function
from tests.spark.stages.pieces import in_pieces

Make = Callable[[Stream[Any]], Stream[Any]]
ROWS = Schema.of(pa.schema([("k", pa.int64()), ("at", pa.int64()), ("n", pa.int64())]))
MADE = Schema.of(pa.schema([("flow", pa.int64()), ("number", pa.int64()), ("text", pa.string())]))


class Given(NamedTuple):
    """One row."""

    k: int
    at: int
    n: int


async def later(n: int) -> int:
    """Return a number from the event loop."""
    return n


def broken(n: int) -> int:
    """Fail for some numbers."""
    return 60 // (n % 13)


def collected(kept: list[int] | None, n: int) -> tuple[list[int] | None, int]:
    """Forget the state at each third number."""
    held = [*(kept or []), n]
    return (None if len(held) == 3 else held), sum(held)


ALONE: list[Make] = [
    lambda s: s.map(lambda n: n + 1),
    lambda s: s.filter(lambda n: n % 4 != 0),
    lambda s: s.flat_map(lambda n: [n, n // 2][: n % 3]),
    lambda s: s.map_async(later, concurrency=3),
    lambda s: s.concat_map(lambda n: Stream.just(n).map(broken).retry(1).on_error_return(0)),
    lambda s: s.tap(lambda n: None).map_error(lambda error: LookupError(str(error))),
    lambda s: s.expand(lambda n: [n // 3] if n > 2 else []),
    lambda s: s.log("differential", level=5),
]
TOGETHER: list[Make] = [
    lambda s: s.take(6),
    lambda s: s.skip(2),
    lambda s: s.scan(operator.add, 0).map(lambda n: n % 1000),
    lambda s: s.distinct(),
    lambda s: s.distinct(lambda n: n % 7, size=3),
    lambda s: s.drop_repeats(),
    lambda s: s.buffer(3).map(sum),
    lambda s: s.buffer(2, 3).map(sum),
    lambda s: s.buffer(3, 1).map(sum),
    lambda s: s.buffer_while(lambda n: n % 2).map(len),
    lambda s: s.sliding(2).starmap(operator.sub),
    lambda s: s.pairwise().starmap(operator.add),
    lambda s: s.start_with(5, 6),
    lambda s: s.end_with(7),
    lambda s: s.take_last(3),
    lambda s: s.skip_last(2),
    lambda s: s.take_while(lambda n: n < 40),
    lambda s: s.skip_while(lambda n: n < 6),
    lambda s: s.split_when(operator.gt).map(len),
    lambda s: s.enumerate().starmap(operator.mul).map(lambda n: n % 100),
    lambda s: s.stateful_map(collected, lambda: None),
    lambda s: s.window(3).concat_map(lambda w: w.map(lambda n: n + 1).sum()),
    lambda s: s.window(2).flat_map(lambda w: w.skip(1).start_with(3), concurrency=1),
    lambda s: s.group_by(lambda n: n % 2).flat_map(lambda g: g.buffer(2).map(sum).take(2), concurrency=9).max(),
    lambda s: s.map_batches(lambda ns: [min(ns), len(ns)], 4),
    lambda s: s.default_if_empty(9),
    lambda s: s.map(broken).on_error_return(-1),
    lambda s: s.map(broken).on_error_complete(),
    lambda s: s.map(broken).on_error_resume(lambda error: [1, 2], when=ZeroDivisionError),
    lambda s: s.reduce(operator.add),
    lambda s: s.count(),
    lambda s: s.max(),
    lambda s: s.to_list().flatten(),
    lambda s: s.first(lambda n: n > 3, default=0),
    lambda s: s.element_at(2, default=-1),
]


def flow_of(number: int) -> tuple[Make, bool, str]:
    """Return the steps of a flow by its number, whether each element is treated alone, and a name for it."""
    draw = random.Random(f"flow {number}")
    alone = number % 5 == 0
    choice = ALONE if alone else [*ALONE, *TOGETHER, *TOGETHER]
    places = [draw.randrange(len(choice)) for _ in range(draw.randint(1, 5))]
    steps = [choice[place] for place in places]

    def make(stream: Stream[Any]) -> Stream[Any]:
        for step in steps:
            stream = step(stream)
        return stream

    return make, alone, f"flow {number}: steps {places}"


def rows_of(number: int) -> list[Given]:
    """Return the rows that a flow is tried with."""
    draw = random.Random(f"rows {number}")
    return [Given(draw.randrange(4), at, draw.randrange(30)) for at in range(draw.randint(1, 40))]


def here(make: Make, rows: Iterable[Given]) -> list[str]:
    """Return what comes of the rows of a key in this process."""
    return [repr(one) for one in make(Stream.from_iterable([row.n for row in rows]))]


def _scoped(number: int, make: Make) -> Flow[Any, Any]:
    """Return a Flow over the rows of a key, whose results have their places in it."""

    def steps(rows: Stream[Any]) -> Stream[Any]:
        return make(rows.map(lambda row: row.n)).enumerate().map(lambda one: (number, one[0], repr(one[1])))

    return flow(steps)


def _whole(number: int, make: Make) -> Flow[Any, Any]:
    return flow(lambda rows: make(rows.map(lambda row: row.n)).map(lambda one: (number, 0, repr(one))))


def expected(make: Make, rows: list[Given], alone: bool) -> list[Any]:
    """Return what is to come: with the places in its key, or, where elements are treated alone, without."""
    if alone:
        return sorted((0, text) for text in here(make, rows))
    keys = sorted({row.k for row in rows})
    return sorted(pair for key in keys for pair in enumerate(here(make, [row for row in rows if row.k == key])))


def found(rows: Iterable[Any]) -> list[Any]:
    """Return what has come, to be compared."""
    return sorted((row.number, row.text) for row in rows)


def differs_without_a_jvm(number: int) -> str | None:
    """Try a flow through the functions that Spark calls; return what differs, if anything does."""
    make, alone, name = flow_of(number)
    rows = rows_of(number)
    want = expected(make, rows, alone)
    draw = random.Random(f"cuts {number}")
    read = MADE.reader()
    cuts = sorted(draw.randrange(len(rows) + 1) for _ in range(draw.randrange(6)))
    pieces = [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    if alone:
        parts = stage_function(_whole(number, make), ROWS, MADE)
        got = found(row for piece in pieces for batch in parts(iter([ROWS.batch(piece)])) for row in read(batch))
        return None if got == want else f"{name}, alone in parts of {cuts}: {got} != {want}"
    by_key = sorted(rows, key=lambda row: row.k)
    keyed = stage_function(_scoped(number, make), ROWS, MADE, places=(0,))
    got = found(row for batch in keyed(iter([ROWS.batch(by_key)])) for row in read(batch))
    if got != want:
        return f"{name}, per key of a batch: {got} != {want}"
    states: dict[Any, dict[Any, Any]] = {}
    taken: list[Any] = []
    for at, piece in enumerate([*pieces, None]):
        for _ in range(2 if draw.random() < 0.2 else 1):  # a life that ended before the commit repeats its batch
            held = deepcopy(states)
            batches = [] if piece is None else [piece]
            made = list(in_pieces(_scoped(number, make), ROWS, MADE, ["k"], batches, states=held, ends=piece is None))
        states = held
        taken.extend(row for one in made for row in one)
        if at == len(pieces) and any(states.values()):
            left = [kept for held in states.values() for kept in held.values()]
            if any(len(value) > 2 for (value,) in left) and in_tail(make):
                return f"{name}: {len(left)} states are left behind"
    got = found(taken)
    return None if got == want else f"{name}, per key of a stream cut at {cuts}: {got} != {want}"


def in_tail(make: Make) -> bool:
    """Tell whether a flow has something to say at its end, after which nothing is kept."""
    return any(
        getattr(step, "body", None) is not None and step.body.tail is not None for step in flow(make)._chain.steps
    )


def differ_on_spark(spark: Spark, numbers: Iterable[int], checkpoint: str) -> list[str]:
    """Try flows together, in one query: as a batch, and as a stream that is stopped and goes on from its checkpoint."""
    chosen = [(number, *flow_of(number)) for number in numbers]
    rows = [Given(row.k, at, row.n) for at, row in enumerate(one for number in numbers for one in rows_of(number))]
    steps = [
        spark.stage(_whole(number, make) if alone else keyed_by(_scoped(number, make), "k", order_by="at"), MADE.struct)
        for number, make, alone, _ in chosen
    ]

    def all_of(df: Any) -> Any:
        made = [df.transform(step) for step in steps]
        whole = made[0]
        for one in made[1:]:
            whole = whole.union(one)
        return whole

    def compared(given: Iterable[Any], where: str, seen: Iterable[Any] = ()) -> list[str]:
        """Return what differs; what was `seen` before the query was stopped may have come again."""
        of_flow: dict[int, list[Any]] = {}
        before: dict[int, list[Any]] = {}
        for row in given:
            of_flow.setdefault(row.flow, []).append(row)
        for row in seen:
            before.setdefault(row.flow, []).append(row)
        wrong: list[str] = []
        for number, make, alone, name in chosen:
            want = Counter(expected(make, rows, alone))
            got, held = Counter(found(of_flow.get(number, []))), Counter(found(before.get(number, [])))
            if not (got <= want and want - got <= held):
                wrong.append(f"{name}, {where}: {sorted(got.elements())} != {sorted(want.elements())}, before {held}")
        return wrong

    batch = spark.session.createDataFrame(pa.Table.from_batches([ROWS.batch(rows)])).repartition(3)
    wrong = compared(all_of(batch).collect(), "on a batch")
    live = spark.frame(lambda row: Stream.from_iterable(rows[row:]), ROWS, capacity=max(2, len(rows) // 3))
    # A subscriber that has enough ends the query in the middle, and the micro-batch it was in comes again.
    before = list(spark.stream(all_of(live), checkpoint=checkpoint).take(3))
    after = list(spark.stream(all_of(live), checkpoint=checkpoint))
    return wrong + compared(after, "on a stream that was stopped and went on", before)


def main(arguments: list[str]) -> int:
    """Try flows and say which differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.differential", description=__doc__)
    parser.add_argument("--flows", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args(arguments)
    numbers = range(given.first, given.first + given.flows)
    if not given.spark:
        wrong = [text for number in numbers if (text := differs_without_a_jvm(number)) is not None]
    else:
        import tempfile

        wrong = []
        with Spark(master="local[2]") as spark:
            for start in range(numbers.start, numbers.stop, 5):
                some = range(start, min(start + 5, numbers.stop))
                wrong += differ_on_spark(spark, some, tempfile.mkdtemp())
    print("\n".join(wrong) or f"{given.flows} flows, the same everywhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
