"""Readers: exactly the rows that were planned, never more held than asked for, and a lookout tells what comes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock import Stream
from penstock.errors import InterruptionError
from penstock.spark.partitions.lookout import Lookout
from penstock.spark.partitions.positions import PartError
from penstock.spark.partitions.readers import Cursor, KeptReaders, PartSight, opened

WAIT = 60.0
ROWS = pa.record_batch({"n": list(range(25))})


def numbers(part: Any, row: int) -> Stream[int]:
    return Stream.range(row, 25)


def batches(part: Any, row: int) -> list[pa.RecordBatch]:
    return [ROWS.slice(at, min(10, 25 - at)) for at in range(row, 25, 10)]


def flat(chunks: Any) -> list[Any]:
    found: list[Any] = []
    for chunk in chunks:
        for each in chunk:
            found.extend(each.column(0).to_pylist() if isinstance(each, pa.RecordBatch) else [each])
    return found


class Told:
    """What a lookout tells."""

    def __init__(self) -> None:
        self.said: list[PartSight] = []
        self.changed = threading.Condition()
        self.listens = True

    def __call__(self, seen: PartSight) -> bool:
        with self.changed:
            self.said.append(seen)
            self.changed.notify_all()
        return self.listens

    def until(self, said: PartSight) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: said in self.said, WAIT), self.said


class Live:
    """A part whose rows come when the test says so."""

    def __init__(self) -> None:
        self.opened: list[int] = []
        self.emitters: list[Any] = []
        self.asked: list[int] = []
        self.cancelled = threading.Event()
        self.here = threading.Event()

    def __call__(self, part: Any, row: int) -> Stream[Any]:
        self.opened.append(row)

        def take(emitter: Any) -> None:
            self.emitters.append(emitter)
            self.here.set()

        made: Stream[Any] = Stream.create(take, size=1000)
        return made.tap(on_request=self.asked.append, on_cancel=self.cancelled.set)

    def emit(self, *rows: Any) -> None:
        assert self.here.wait(WAIT)
        for row in rows:
            self.emitters[-1].emit(row)


def until(reader: Lookout, ahead: int, row: int) -> None:
    """Look until a row has come; a single look may end early on a busy machine."""
    while (seen := reader.look(ahead, WAIT)).row != row:
        assert seen.row < row
        assert not seen.ended


@pytest.mark.parametrize("rows", [numbers, batches], ids=["rows", "batches"])
@pytest.mark.parametrize("kind", ["cursor", "lookout"])
def test_exactly_the_rows_of_a_range(rows: Any, kind: str) -> None:
    reader = Cursor(rows, "a", 3, may_end=False) if kind == "cursor" else Lookout(rows, "a", 3, Told())
    assert flat(reader.take(4)) == [3, 4, 5, 6]
    assert reader.row == 7
    assert flat(reader.take(15)) == list(range(7, 22))
    assert flat(reader.take(3)) == [22, 23, 24]
    with pytest.raises(PartError, match=r"^partitioned: part 'a' ended at row 25, and rows up to 26 were planned;"):
        flat(reader.take(1))
    reader.close()


def test_a_part_that_may_end_gives_what_it_has() -> None:
    reader = Cursor(numbers, "a", 20, may_end=True)
    assert flat(reader.take(100)) == [20, 21, 22, 23, 24]
    assert reader.ended


def test_a_cursor_reads_no_further_than_it_must() -> None:
    taken: list[int] = []

    def counted(part: Any, row: int) -> Iterator[int]:
        for n in range(row, 10**6):
            taken.append(n)
            yield n

    reader = Cursor(counted, "a", 0, may_end=False)
    assert flat(reader.take(1200)) == list(range(1200))
    assert len(taken) == 1200
    reader.close()


def test_a_lookout_holds_what_it_may_and_no_more() -> None:
    asked: list[int] = []

    def endless(part: Any, row: int) -> Stream[int]:
        return Stream.range(row, 10**9).tap(on_request=asked.append)

    told = Told()
    reader = Lookout(endless, "a", 0, told)
    until(reader, 1000, 1000)
    assert sum(asked) == 1000
    assert flat(reader.take(600)) == list(range(600))
    until(reader, 1000, 1600)
    assert sum(asked) == 1600
    assert reader.most_held == 1000
    reader.close()


def test_a_lookout_of_batches_asks_for_the_next_while_it_holds_fewer_rows_than_it_may() -> None:
    reader = Lookout(batches, "a", 0, Told())
    until(reader, 15, 20)
    assert flat(reader.take(12)) == list(range(12))
    until(reader, 8, 20)
    until(reader, 9, 25)
    reader.close()


def test_a_parked_lookout_tells_of_rows_of_the_end_and_of_a_failure() -> None:
    ends = (
        (lambda e: e.complete(), PartSight(3, ended=True)),
        (lambda e: e.fail(OSError("x")), PartSight(3, failed=True)),
    )
    for end, said in ends:
        live, told = Live(), Told()
        reader = Lookout(live, "a", 0, told)
        assert reader.look(100, 0.0) == PartSight(0)
        reader.park(PartSight(0))
        live.emit("p")
        told.until(PartSight(1))
        live.emit("q", "r")
        told.until(PartSight(2))
        end(live.emitters[0])
        told.until(said)
        reader.unpark()
        assert flat(reader.take(3)) == ["p", "q", "r"]
        assert reader.look(1, WAIT) == said
        if said.failed:
            with pytest.raises(OSError, match=r"^x$"):
                flat(reader.take(1))


def test_a_lookout_to_which_none_listens_lets_go() -> None:
    live, told = Live(), Told()
    told.listens = False
    reader = Lookout(live, "a", 0, told)
    reader.look(10, 0.0)
    reader.park(PartSight(0))
    live.emit("p")
    assert live.cancelled.wait(WAIT)


def test_what_happened_between_the_look_and_the_parking_is_told() -> None:
    told = Told()
    reader = Lookout(numbers, "a", 20, told)
    while not reader.look(100, WAIT).ended:
        pass
    reader.park(PartSight(22))
    assert told.said == [PartSight(25, ended=True)]


def test_an_error_comes_after_the_rows_before_it() -> None:
    def broken(part: Any, row: int) -> Stream[int]:
        return Stream.concat(Stream.range(3), Stream.error(OSError("no such shard")))

    reader = Lookout(broken, "a", 0, Told())
    until(reader, 10, 3)
    assert flat(reader.take(3)) == [0, 1, 2]
    with pytest.raises(OSError, match="no such shard"):
        flat(reader.take(1))


def test_what_open_raises_is_the_failure_of_the_part() -> None:
    def closed(part: Any, row: int) -> Any:
        raise PermissionError(part)

    reader = Lookout(closed, "a", 0, Told())
    assert reader.look(1, WAIT) == PartSight(0, failed=True)
    with pytest.raises(PermissionError, match=r"^a$"):
        flat(reader.take(1))


def test_a_part_whose_opening_is_interrupted_fails() -> None:
    def left(part: str, row: int) -> Iterator[Any]:
        raise SystemExit(3)

    reader = Lookout(left, "a", 0, Told())
    with pytest.raises(InterruptionError, match=r"^the stream was interrupted by SystemExit\(3\)$"):
        list(reader.take(1))


def test_what_is_no_stream_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^partitioned: open must return a Stream or an iterable, got 5$"):
        opened(lambda part, row: 5, "a", 0)


def test_a_kept_reader_is_found_at_its_row_and_closed_elsewhere() -> None:
    kept = KeptReaders()
    live = Live()
    reader = Lookout(live, "a", 4, Told())
    assert live.here.wait(WAIT) or reader.look(1, 0.1)
    kept.keep("run", "a", reader)
    assert kept.claim("other", "a", 4) is None
    assert kept.claim("run", "a", 4) is reader
    assert kept.claim("run", "a", 4) is None
    kept.keep("run", "a", reader)
    assert kept.claim("run", "a", 5) is None
    assert live.cancelled.wait(WAIT)


def test_a_reader_that_no_task_comes_back_for_is_closed() -> None:
    kept = KeptReaders(seconds=-1.0)
    live = Live()
    reader = Lookout(live, "a", 0, Told())
    reader.look(1, 0.1)
    kept.keep("run", "a", reader)
    assert kept.claim("run", "b", 0) is None
    assert live.cancelled.wait(WAIT)
