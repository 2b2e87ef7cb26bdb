"""pairing: two streams per key, brought together in the state of the key, in process, in a batch and on a stream."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any, NamedTuple

import pytest

from penstock import Flow, Sink, Stream, flow
from penstock.bridges.shared.columns import SchemaError
from penstock.spark import Schema, Spark, both, entry, frame, keyed_by, pair_latest, pair_with_latest, pair_within
from penstock.testing import ManualPublisher, subscribed
from tests.spark.differential import MADE
from tests.spark.event_timed import moment
from tests.spark.stages.pieces import in_pieces


class Sided(NamedTuple):
    """A row that knows its side."""

    side: int
    k: int
    second: int
    n: int


class Paid(NamedTuple):
    """What a trade has cost."""

    share: str
    paid: float


@flow
def priced(rows: Stream[Any]) -> Stream[Paid]:
    return (rows | pair_with_latest()).starmap(lambda trade, quote: Paid(trade.share, trade.count * quote.price))


ROWS = Schema.of(Sided)
FLOWS: dict[str, Callable[[], Flow[Any, Any]]] = {
    "with_latest_from": pair_with_latest,
    "combine_latest": pair_latest,
    "within": lambda: pair_within(5, lambda row: moment(row.second)),
}


def rows_of(number: int) -> list[Sided]:
    draw = random.Random(f"sides {number}")
    second, found = 0, list[Sided]()
    for n in range(draw.randint(1, 30)):
        second += draw.randrange(4)
        found.append(Sided(draw.randrange(2), draw.randrange(3), second, n))
    return found


def by_two_streams(name: str, rows: list[Sided]) -> list[tuple[int, int]]:
    """Return what the operator of two streams makes of the rows of a key."""
    if name == "within":
        lefts, rights = ([row for row in rows if row.side == side] for side in (0, 1))
        near = [(a, b) for a, b in product(lefts, rights) if abs(a.second - b.second) <= 5]
        return sorted((a.n, b.n) for a, b in near)
    sides: list[ManualPublisher[Sided]] = [ManualPublisher(), ManualPublisher()]
    left, right = map(Stream.from_publisher, sides)
    probe = subscribed(getattr(left, name)(right))
    probe.request()
    for row in rows:
        sides[row.side].next(row)
    return [(a.n, b.n) for a, b in probe.elements]


@pytest.mark.parametrize("name", FLOWS)
def test_rows_are_paired_as_two_streams_would_be_however_they_are_cut(name: str) -> None:
    @flow
    def made(rows: Stream[Any]) -> Stream[Any]:
        return (rows | FLOWS[name]()).map(lambda pair: (pair[0].k, 0, repr((pair[0].n, pair[1].n))))

    for number in range(25):
        rows = rows_of(number)
        of_key = {key: [row for row in rows if row.k == key] for key in {row.k for row in rows}}
        want = {key: by_two_streams(name, some) for key, some in of_key.items()}
        for key, some in of_key.items():
            here = [(a.n, b.n) for a, b in Stream.from_iterable(some) | FLOWS[name]()]
            assert (sorted(here) if name == "within" else here) == want[key]
        draw = random.Random(f"side cuts {number}")
        cuts = sorted(draw.randrange(len(rows) + 1) for _ in range(4))
        pieces = [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        found: dict[int, list[str]] = {key: [] for key in of_key}
        for piece in in_pieces(made, ROWS, MADE, ["k"], pieces):
            for row in piece:
                found[row.flow].append(row.text)
        for key, texts in found.items():
            pairs = [eval(text) for text in texts]
            assert (sorted(pairs) if name == "within" else pairs) == want[key]


@pytest.mark.parametrize("apart", [0.1, 0.3, 1.1])
def test_rows_that_are_just_so_far_apart_are_paired(apart: float) -> None:
    near = pair_within(apart, lambda row: row[1], lambda row: row[0])
    for milliseconds in range(0, 1000, 7):
        first = moment(1_729_987_200) + timedelta(milliseconds=milliseconds)
        just, farther = first + timedelta(seconds=apart), first + timedelta(seconds=apart, microseconds=1)
        assert list(Stream.just((0, first), (1, just)) | near) == [((0, first), (1, just))]
        assert list(Stream.just((0, first), (1, farther)) | near) == []


def test_rows_that_no_later_one_can_meet_are_not_kept() -> None:
    states: dict[Any, dict[Any, Any]] = {}
    made = flow(lambda rows: (rows | FLOWS["within"]()).map(lambda pair: (0, 0, "")))
    far = [Sided(n % 2, 1, n * 100, n) for n in range(50)]
    list(in_pieces(made, ROWS, MADE, ["k"], [far], states=states, ends=False))
    near = [len(value) for held in states.values() for (value,) in held.values()]
    assert near[0] < 250  # one row, and not fifty


@pytest.mark.parametrize("pair", [pair_latest(), pair_with_latest(), pair_within(1, lambda row: row)], ids=range(3))
def test_a_row_without_a_side_is_refused_with_the_cure(pair: Flow[Any, Any]) -> None:
    with pytest.raises(TypeError) as refused:
        list(Stream.just(7) | pair)
    assert str(refused.value) == (
        "a row must have a side, got 7; orders | frame(both, payments) gives each row one, or say side=, a function "
        "that tells it"
    )


def test_what_is_given_wrongly_is_refused(spark: Spark) -> None:
    with pytest.raises(ValueError, match=r"^pairing: side must be 0 for the left or 1 for the right, got 2"):
        list(Stream.just(Sided(2, 1, 1, 1)) | pair_latest())
    with pytest.raises(TypeError, match=r"^pair_latest: side must be callable, got 5"):
        pair_latest(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^pair_within: time must be callable, got 'at'"):
        pair_within(5, "at")  # type: ignore[arg-type]
    df = spark.session.createDataFrame([(1,)], "Side long")  # which is the same name to Spark
    with pytest.raises(SchemaError, match=r"^both: column 'side' must not be there already; rename it$"):
        both(df, df)


def test_two_live_streams_of_a_pipeline_meet_in_their_key(spark: Spark) -> None:
    trades = [("x", moment(5), 2), ("y", moment(6), 1), ("x", moment(9), 1), ("x", moment(30), 7)]
    quotes = [("x", moment(8), 4.0), ("x", moment(1), 3.0), ("y", moment(2), 9.0)]
    left = Stream.from_iterable(trades) | entry("share string, at timestamp, count long")
    right = Stream.from_iterable(quotes) | entry("share string, at timestamp, price double")
    scoped = keyed_by(priced, "share", order_by="side", time="at", watermark=60)
    pipeline = left | frame(both, right) | scoped | Sink.to_list()
    result = pipeline.run(spark).wait()
    assert sorted(tuple(row) for row in result) == [("x", 4.0), ("x", 6.0), ("x", 28.0), ("y", 9.0)]
