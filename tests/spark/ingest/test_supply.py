"""Supply: behind each row there is a place, from which the stream gives what follows that row and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from penstock import NotResumableError, Stream
from penstock.engine.places.clocks import VirtualClock
from penstock.spark.ingest.intake import IngestError, Intake
from penstock.spark.ingest.pace import Pace
from penstock.spark.ingest.supply import Place, Supply, place_of, supply_of
from penstock.spark.wire.schema import Schema

SCHEMA = Schema.of(pa.schema([("n", pa.int64())]))
ROWS = 20
BATCHES = [pa.record_batch({"n": list(range(at, at + 5))}) for at in range(0, ROWS, 5)]


OTHER = "the stream gives something else than before"


def some_bad(n: int) -> tuple[Any]:
    return ("bad",) if n % 4 == 1 else (n,)


GIVEN: dict[str, tuple[Any, list[int]]] = {
    "a list": (Stream.from_iterable([(n,) for n in range(ROWS)]), list(range(ROWS))),
    "counted results": (Stream.range(2 * ROWS).filter(lambda n: n < ROWS), list(range(ROWS))),
    "positions": (
        Stream.resumable(lambda after: [(n + 1, (n,)) for n in range(after or 0, ROWS)]),
        list(range(ROWS)),
    ),
    "positions and a filter": (
        Stream.resumable(lambda after: [(n + 1, n) for n in range(after or 0, ROWS)]).filter(lambda n: n % 3),
        [n for n in range(ROWS) if n % 3],
    ),
    "a function of the row": (lambda row: Stream.range(row, ROWS), list(range(ROWS))),
    "batches": (Stream.from_iterable(BATCHES), list(range(ROWS))),
    "batches with positions": (
        Stream.resumable(lambda after: [(n + 1, BATCHES[n]) for n in range(after or 0, 4)]),
        list(range(ROWS)),
    ),
    "batches by a function of the row": (
        lambda row: Stream.just(pa.record_batch({"n": list(range(row, ROWS))})).filter(lambda batch: batch.num_rows),
        list(range(ROWS)),
    ),
    "some that do not fit": (
        Stream.range(ROWS).map(some_bad),
        [n for n in range(ROWS) if n % 4 != 1],
    ),
    "positions and some that do not fit": (
        Stream.resumable(lambda after: [(n + 1, some_bad(n)) for n in range(after or 0, ROWS)]),
        [n for n in range(ROWS) if n % 4 != 1],
    ),
}


def opened(supply: Supply, first: int, place: Place | None, expected: tuple[int, Place] | None = None) -> Intake:
    opening = supply.open(place)
    pace = Pace(1.0, 10_000, VirtualClock())
    intake = Intake(SCHEMA, 1000, first, pace, None, lambda row, error: None, opening.track)
    if expected is not None:
        intake.shelf.expect(*expected)
    intake.start(opening.publisher)
    return intake


def taken(supply: Supply, first: int, place: Place | None) -> tuple[list[int], list[Place | None]]:
    """Take all rows behind a place, and the places behind them."""
    intake = opened(supply, first, place)
    rows: list[int] = []
    places: list[Place | None] = []
    end, done = first, False
    while not done:
        at, done = intake.poll(end, None, 10.0)
        if at > end:
            rows.extend(row for batch in intake.rows(end, at) for row in batch.column(0).to_pylist())
            places.extend(intake.place(row) for row in range(end + 1, at + 1))
        end = at
    if intake.error is not None:
        raise intake.error
    return rows, places


@pytest.mark.parametrize("name", GIVEN)
def test_behind_every_place_comes_what_follows(name: str) -> None:
    given, expected = GIVEN[name]
    supply = supply_of(given, None)
    rows, places = taken(supply, 0, None)
    assert rows == expected
    for number, place in enumerate(places, 1):
        assert place is not None
        rest, later = taken(supply, number, place)
        assert rest == expected[number:], place
        assert later == places[number:]


def test_a_stream_that_cannot_be_had_again_has_no_places() -> None:
    with pytest.raises(NotResumableError):
        supply_of(Stream.from_iterable(iter([(1,)])), None)
    with pytest.raises(NotResumableError):
        supply_of(Stream.range(3), "later")
    assert supply_of(Stream.from_iterable(iter([(1,)])), "same").counts


def changed(place: Place, given: Any) -> Exception:
    with pytest.raises(IngestError) as caught:
        taken(supply_of(given, None), 3, place)
    return caught.value


@pytest.mark.parametrize(
    ("place", "given", "words"),
    [
        (
            [[1, 0], 4], Stream.from_iterable([BATCHES[0], pa.record_batch({"n": [1, 2]})]),
            "frame: the checkpoint is behind row 4 of an element that has 2 rows now; " + OTHER,
        ),
        (
            [[1, 0], 4], Stream.just((1,), (2,)),
            "frame: the checkpoint is in the middle of a record batch, and rows are no batches now",
        ),
    ],
)  # fmt: skip
def test_a_stream_that_has_changed_is_refused(place: Place, given: Any, words: str) -> None:
    assert str(changed(place, given)) == words


def test_a_stream_that_is_at_another_place_than_spark_had_planned_is_refused() -> None:
    def source(step: int) -> Callable[[int | None], Any]:
        return lambda after: [(n + step, (n,)) for n in range(after or 0, ROWS)]

    for step, fails in ((1, False), (2, True)):
        intake = opened(supply_of(Stream.resumable(source(step)), None), 10, [[10, 0], 0], (15, [[15, 0], 0]))
        if not fails:
            assert len(list(intake.rows(10, 15))) > 0
            continue
        words = (
            "frame: row 14 is at [[16, 0], 0] now, and was at [[15, 0], 0] when Spark planned it;"
            " the stream gives something else than before"
        )
        with pytest.raises(IngestError, match=f"^{re.escape(words)}$"):
            list(intake.rows(10, 15))


@pytest.mark.parametrize("place", [3, [1], [1, -2], {"row": 1}])
def test_what_is_no_place_is_refused(place: Any) -> None:
    with pytest.raises(IngestError, match=r"^frame: the checkpoint is at .*, which is no place in a stream$"):
        place_of(place)
