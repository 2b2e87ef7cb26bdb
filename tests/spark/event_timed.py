"""event_timed: random flows by the times of rows give one answer: in process, in a batch, and on a stream.

    python -m tests.spark.event_timed --flows 1000

The rows of a key are put in the order of their times, and a virtual clock is moved to each of them: that is what is to
come. Rows reach the others out of order, within the watermark. On a stream a micro-batch has some of them, and each is
run by a fresh copy of the processor, with no more than the bytes of the states in between; a life that ends before its
last micro-batch is committed repeats it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import sys
from collections.abc import Iterator
from copy import deepcopy
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa

from penstock import Clock, Flow, Stream, VirtualClock, flow
from penstock.engine.places.clocks import SYSTEM_CLOCK
from penstock.spark import Schema, keyed_by
from penstock.spark.stages.event_keeper import EventKeeper
from penstock.spark.stages.event_time import timed_function
from penstock.spark.stages.stateful import BUCKETS, _apart, _together
from penstock.testing import ManualPublisher, subscribed
from tests.spark.differential import MADE
from tests.spark.stages.pieces import _Handle
from tests.spark.timed import OTHERS, WAITING, Make, asked


class Moment(NamedTuple):
    """A row with a time."""

    k: int
    at: dt.datetime
    place: int
    n: int


ROWS = Schema.of(Moment)
BEHIND = 10
"""Seconds that a row may come late."""
HELD = [make for place, make in enumerate(WAITING) if place not in {5, 6, len(WAITING) - 2, len(WAITING) - 1}]
"""Those that hold something; how long nothing came depends on the rows of other keys."""
CLOCKED = [OTHERS[11], OTHERS[-1]]
"""Those that look at the clock, which stand first here: when a stream ends has no time among the rows."""
PLAIN = [make for make in OTHERS if make not in CLOCKED]


def moment(seconds: float) -> dt.datetime:
    """Return a time."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def flow_of(number: int) -> tuple[Make, str]:
    """Return the steps of a flow by its number, and a name for it."""
    draw = random.Random(f"event {number}")
    steps = [draw.choice(PLAIN) for _ in range(draw.randint(0, 3))]
    for step in draw.sample(HELD, draw.randint(0, 2)):
        steps.insert(draw.randint(0, len(steps)), step)
    steps[:0] = draw.sample(CLOCKED, draw.choice((0, 0, 1)))
    places = [[*HELD, *OTHERS].index(step) for step in steps]

    def make(stream: Stream[Any], clock: Clock) -> Stream[Any]:
        for step in steps:
            stream = step(stream, clock)
        return stream

    return make, f"event flow {number}: steps {places}"


def rows_of(number: int) -> list[Moment]:
    """Return rows, none of which is late."""
    draw = random.Random(f"moments {number}")
    now, found = 1000.0, list[Moment]()
    for place in range(draw.randint(1, 25)):
        now += draw.choice((0, 1, 1, 2, 3, 7))
        found.append(Moment(draw.randrange(3), moment(now - draw.choice((0, 0, 1, 4, 9))), place, draw.randrange(30)))
    return found


def wanted(make: Make, rows: list[Moment]) -> list[tuple[int, str]]:
    """Return what is to come of the rows of a key: from the joints of this process, on a virtual clock."""
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    found: list[Any] = []
    ordered = sorted(rows, key=lambda row: (row.at, row.place))
    clock.advance(ordered[0].at.timestamp())
    probe = subscribed(make(asked(Stream.from_publisher(upstream), clock), clock).map(lambda n: found.append(n) or 1))
    probe.request()
    for row in ordered:
        clock.advance(row.at.timestamp() - clock.now())
        if not upstream.cancelled:
            upstream.next(row.n)
    clock.advance(1000.0)
    if not upstream.cancelled:
        upstream.complete()
    clock.advance(1000.0)
    assert probe.ended
    assert probe.error is None, probe.error
    return [(place, repr(one)) for place, one in enumerate(found)]


def made_of(make: Make) -> Flow[Any, Any]:
    """Return the Flow over the rows of a key, whose results have their places in it."""

    def steps(rows: Stream[Any]) -> Stream[Any]:
        return make(rows.map(lambda row: row.n), SYSTEM_CLOCK).enumerate().map(lambda one: (0, one[0], repr(one[1])))

    return flow(steps)


class _Timers(_Handle):
    """What a processor gets its states from, with a timer for each bucket."""

    def __init__(self, held: dict[Any, dict[Any, Any]]) -> None:
        super().__init__(held)
        self.bucket: Any = None

    def turn(self, bucket: Any) -> None:
        super().turn(bucket)
        self.bucket = bucket

    @property
    def timers(self) -> dict[Any, Any]:
        return self._held.setdefault(("timers", self.bucket), {})

    def registerTimer(self, milliseconds: int) -> None:
        self.timers[milliseconds] = True

    def deleteTimer(self, milliseconds: int) -> None:
        del self.timers[milliseconds]


def in_micro_batches(
    made: Flow[Any, Any], batches: list[list[Moment]], states: dict[Any, dict[Any, Any]], watermark: int, *, ends: bool
) -> Iterator[Any]:
    """Run a micro-batch, with a watermark in milliseconds, as Spark would: first the rows, then the timers."""
    keeper = EventKeeper(made, ROWS, MADE, None, (2,), 1)
    handle = _Timers(states)
    keeper.init(handle)  # type: ignore[arg-type]
    told = SimpleNamespace(getCurrentWatermarkInMs=lambda: watermark)
    read = MADE.reader()
    carried: dict[int, list[bytes]] = {bucket: [b""] for bucket in range(BUCKETS)} if ends else {}
    for batch in filter(None, batches):
        for each in _together(ROWS, (0,), 1)(iter([ROWS.batch(batch)])):
            for one in each.to_pylist():
                carried.setdefault(one["bucket"], []).append(one["rows"])

    def unpacked(rows: Iterator[Any]) -> Iterator[Any]:
        for row in rows:
            out = pa.RecordBatch.from_pydict({"rows": pa.array([row.rows], pa.binary())})
            for back in _apart(MADE.arrow)(iter([out])):
                yield from read(back)

    for bucket, parts in carried.items():
        handle.turn(bucket)
        yield from unpacked(keeper.handleInputRows((bucket,), iter(SimpleNamespace(rows=part) for part in parts), told))
    for bucket in [name[1] for name in states if isinstance(name, tuple) and name[0] == "timers"]:
        handle.turn(bucket)
        for due in sorted(due for due in handle.timers if due < watermark):
            del handle.timers[due]
            yield from unpacked(keeper.handleExpiredTimer((bucket,), told, None))


def differs(number: int) -> str | None:
    """Try a flow; return what differs, if anything does."""
    make, name = flow_of(number)
    rows = rows_of(number)
    made = made_of(make)
    of_key = {key: [row for row in rows if row.k == key] for key in sorted({row.k for row in rows})}
    want = sorted(one for some in of_key.values() for one in wanted(make, some))
    here = Stream.from_iterable(rows) | keyed_by(made, "k", order_by="place", time="at", watermark=BEHIND)
    if (got := sorted((row[1], row[2]) for row in here)) != want:
        return f"{name}, in process: {got} != {want}, from {rows}"
    read = MADE.reader()
    by_key = sorted(rows, key=lambda row: (row.k, row.at, row.place))
    batch = timed_function(made, ROWS, MADE, None, (0,), 1)
    got = sorted((row.number, row.text) for one in batch(iter([ROWS.batch(by_key)])) for row in read(one))
    if got != want:
        return f"{name}, in a batch: {got} != {want}, from {rows}"
    draw = random.Random(f"event cuts {number}")
    cuts = sorted(draw.randrange(len(rows) + 1) for _ in range(draw.randrange(8)))
    states: dict[Any, dict[Any, Any]] = {}
    taken, watermark, newest = list[Any](), 0, 0.0
    for start, stop in zip([0, *cuts, len(rows)], [*cuts, len(rows), len(rows) + 1], strict=True):
        some, last = rows[start:stop], stop > len(rows)
        for _ in range(2 if draw.random() < 0.2 else 1):
            held = deepcopy(states)
            found = list(in_micro_batches(made, [some], held, watermark, ends=last))
        states = held
        taken.extend(found)
        newest = max([newest, *(row.at.timestamp() for row in some)])
        watermark = max(watermark, round((newest - BEHIND) * 1000))
    left = {
        name: kept for name, kept in states.items() if kept and not (isinstance(name, tuple) and name[0] == "clock")
    }
    if left:
        return f"{name}: {left} is left behind"
    got = sorted((row.number, row.text) for row in taken)
    return None if got == want else f"{name}, on a stream cut at {cuts}: {got} != {want}, from {rows}"


def main(arguments: list[str]) -> int:
    """Try flows and say which differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.event_timed", description=__doc__)
    parser.add_argument("--flows", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args(arguments)
    numbers = range(given.first, given.first + given.flows)
    wrong = [text for number in numbers if (text := differs(number)) is not None]
    print("\n".join(wrong) or f"{given.flows} flows, the same everywhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
