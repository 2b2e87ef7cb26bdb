"""writing: batches are written one at a time, and an element is done when what it was written with is durable."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import Dropped, RunCancelledError, Stream, thread
from penstock.connectors import telling, writing
from tests.connectors.server import WAIT
from tests.engine.watch import dropped, loop_apart, no_thread_is_left
from tests.run.carrying.ledger import Ledger

__all__ = ["dropped", "loop_apart", "no_thread_is_left"]

LOST = ConnectionError("the server has gone")


class Table:
    """What a writer has written, and where it fails."""

    def __init__(self, holds: int = 0, **fails: Exception) -> None:
        self.holds = holds
        """How many batches it holds before it makes them durable."""
        self.fails = fails
        self.batches: list[list[int]] = []
        self.words: list[Any] = []
        self.inside = 0
        self.gate: threading.Event | None = None
        self.gated = {"write", "flush"}
        """What waits at the gate."""
        self.waits = threading.Event()
        self.closed = threading.Event()

    async def enter(self, name: str) -> None:
        self.words.append(name)
        self.inside += 1
        assert self.inside == 1, "two calls at a time"
        try:
            await asyncio.sleep(0)
            while name in self.gated and self.gate is not None and not self.gate.is_set():
                self.waits.set()
                await asyncio.sleep(0.001)
            if name in self.fails:
                raise self.fails[name]
        finally:
            self.inside -= 1

    async def open(self) -> Rows:
        await self.enter("open")
        return Rows(self)

    async def open_holding(self) -> HoldingRows:
        await self.enter("open")
        return HoldingRows(self)


class Rows:
    """One connection."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.held = 0

    async def write(self, batch: list[int]) -> bool | None:
        await self.table.enter("write")
        self.table.batches.append(batch)
        if self.held < self.table.holds:
            self.held += 1
            return False
        self.held = 0
        return None

    async def close(self, error: BaseException | None) -> None:
        try:
            await self.table.enter("close")
        finally:
            self.table.words.append(error)
            self.table.closed.set()


class HoldingRows(Rows):
    """One connection that can be told to make durable what it holds."""

    flush_after = 0.001

    async def flush(self) -> None:
        await self.table.enter("flush")
        self.held = 0


def test_batches_are_written_and_counted() -> None:
    table = Table()
    assert (Stream.range(7) | writing(table.open, size=3)).run().wait(WAIT) == 7
    assert table.batches == [[0, 1, 2], [3, 4, 5], [6]]
    assert table.words == ["open", "write", "write", "write", "close", None]


def test_nothing_is_opened_for_nothing() -> None:
    table = Table()
    assert (Stream.empty() | writing(table.open)).run().wait(WAIT) == 0
    assert table.words == []


def test_a_batch_that_is_not_full_is_written_when_its_time_has_come() -> None:
    table = Table()

    def slowly() -> Iterator[int]:
        yield 1
        yield 2
        wait_until(lambda: bool(table.batches))

    stream = Stream.defer(slowly).subscribe_on(thread())
    assert (stream | writing(table.open, size=10, seconds=0.01)).run().wait(WAIT) == 2
    assert [number for batch in table.batches for number in batch] == [1, 2]


def test_the_next_batch_is_collected_while_one_is_written_and_no_more() -> None:
    table = Table()
    table.gate = threading.Event()
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number

    run = (Stream.range(20).map(make) | writing(table.open, size=3, ahead=True)).run()
    assert table.waits.wait(WAIT)
    wait_until(lambda: len(made) == 6)
    table.gate.set()
    assert run.wait(WAIT) == 20
    assert [len(batch) for batch in table.batches] == [3] * 6 + [2]


def test_a_failure_while_one_is_written_comes_behind_it() -> None:
    table = Table()
    table.gate = threading.Event()

    def make(number: int) -> int:
        if number == 4:
            table.gate.set()  # type: ignore[union-attr]
            raise LOST
        return number

    with pytest.raises(ConnectionError):
        (Stream.range(20).map(make) | writing(table.open, size=3, ahead=True)).run().wait(WAIT)
    assert table.batches[0] == [0, 1, 2]
    assert table.closed.wait(WAIT)


def test_a_written_batch_is_done() -> None:
    source, table = Ledger(9), Table()
    assert (source.stream() | writing(table.open, size=3, seconds=None)).run().wait(WAIT) == 9
    assert source.told == [3, 6, 9]


def test_held_batches_are_done_with_the_one_that_is_durable() -> None:
    source, table = Ledger(10), Table(holds=2)
    assert (source.stream() | writing(table.open, size=1, seconds=None)).run().wait(WAIT) == 10
    assert source.told == [3, 6, 9, 10]  # the last one with the close


def test_held_batches_are_not_done_if_the_run_fails() -> None:
    source, table = Ledger(10), Table(holds=99)

    def fragile(number: int) -> int:
        if number == 5:
            raise LOST
        return number

    with pytest.raises(ConnectionError):
        (source.stream().map(fragile) | writing(table.open, size=1, seconds=None)).run().wait(WAIT)
    assert table.batches == [[1], [2], [3], [4]]
    assert source.told == []
    assert table.words[-1] is LOST


def test_held_batches_are_flushed_when_no_other_one_comes() -> None:
    source, table = Ledger(3), Table(holds=99)

    def slowly(after: int | None) -> Iterator[tuple[int, int]]:
        yield from source.pairs(after)
        source.wait_for(3)  # before the end

    stream: Stream[int] = Stream.resumable(slowly, source.commit).subscribe_on(thread())
    assert (stream | writing(table.open_holding, size=1, seconds=None)).run().wait(WAIT) == 3
    assert "flush" in table.words
    assert source.told[-1] == 3


def test_a_flush_that_raises_fails_the_run_and_nothing_is_done() -> None:
    source, table = Ledger(2), Table(holds=99, flush=LOST)

    def slowly(after: int | None) -> Iterator[tuple[int, int]]:
        yield 1, 1
        wait_until(lambda: "flush" in table.words)
        yield 2, 2

    stream: Stream[int] = Stream.resumable(slowly, source.commit).subscribe_on(thread())
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (stream | writing(table.open_holding, size=1, seconds=None)).run().wait(WAIT)
    assert source.told == []
    assert table.closed.wait(WAIT)
    assert table.words[-1] is LOST


@pytest.mark.parametrize("commits", [True, False])
def test_a_flush_that_raises_fails_a_run_of_which_nothing_else_comes(commits: bool) -> None:
    source, table = Ledger(1), Table(holds=99, flush=LOST)
    over = threading.Event()

    def quiet(after: int | None = None) -> Iterator[Any]:
        yield (1, 1) if commits else 1
        over.wait(WAIT)  # a live source, of which nothing comes for hours

    stream: Stream[int] = Stream.resumable(quiet, source.commit) if commits else Stream.defer(quiet)
    run = (stream.subscribe_on(thread()) | writing(table.open_holding, size=1, seconds=None)).run()
    try:
        with pytest.raises(ConnectionError, match=r"^the server has gone"):
            run.wait(WAIT / 2)
    finally:
        over.set()
    assert source.told == []
    assert table.closed.wait(WAIT)
    assert table.words[-1] is LOST


def test_the_end_waits_for_a_flush_that_is_under_way() -> None:
    source, table = Ledger(1), Table(holds=99)
    table.gate, table.gated = threading.Event(), {"flush"}

    def slowly(after: int | None) -> Iterator[tuple[int, int]]:
        yield 1, 1
        assert table.waits.wait(WAIT)  # the flush is under way

    stream: Stream[int] = Stream.resumable(slowly, source.commit).subscribe_on(thread())
    run = (stream | writing(table.open_holding, size=1, seconds=None)).run()
    assert table.waits.wait(WAIT)
    table.gate.set()
    assert run.wait(WAIT) == 1
    assert table.words == ["open", "write", "flush", "close", None]
    assert source.told == [1]


def test_a_cancel_ends_a_flush_that_hangs() -> None:
    table = Table(holds=99)
    table.gate, table.gated = threading.Event(), {"flush"}

    def slowly() -> Iterator[int]:
        yield 1
        assert table.waits.wait(WAIT)
        yield 2

    run = (Stream.defer(slowly).subscribe_on(thread()) | writing(table.open_holding, size=1, seconds=None)).run()
    assert table.waits.wait(WAIT)
    run.cancel()
    assert table.closed.wait(WAIT)
    assert isinstance(table.words[-1], asyncio.CancelledError)
    assert "flush" in table.words


@pytest.mark.parametrize("name", ["open", "write", "close"])
def test_what_raises_fails_the_run(name: str) -> None:
    source, table = Ledger(5), Table(**{name: LOST})
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (source.stream() | writing(table.open, size=5)).run().wait(WAIT)
    if name != "open":
        assert table.closed.wait(WAIT)
        assert table.words.count("close") == 1
    assert source.told == ([5] if name == "close" else [])


def test_a_cancel_closes_with_an_error() -> None:
    table = Table()
    table.gate = threading.Event()
    run = (Stream.range(10) | writing(table.open, size=2)).run()
    assert table.waits.wait(WAIT)
    run.cancel()
    assert table.closed.wait(WAIT)
    with pytest.raises(RunCancelledError):
        run.wait(WAIT)
    assert isinstance(table.words[-1], asyncio.CancelledError)


def test_a_failure_before_it_closes_with_that_error() -> None:
    table = Table()
    with pytest.raises(ConnectionError):
        (Stream.just(1, 2).concat(Stream.error(LOST)) | writing(table.open, size=1, seconds=None)).run().wait(WAIT)
    assert table.words[-2:] == ["close", LOST]


def test_a_close_that_raises_after_a_cancel_is_dropped(dropped: list[Dropped]) -> None:
    table = Table(close=LOST)
    table.gate = threading.Event()
    run = (Stream.range(10) | writing(table.open, size=2)).run()
    assert table.waits.wait(WAIT)
    run.cancel()
    assert table.closed.wait(WAIT)
    wait_until(lambda: bool(dropped))
    assert dropped.pop().error is LOST


def test_it_works_on_the_loop_of_a_caller() -> None:
    table = Table()

    async def main() -> None:
        assert await (Stream.range(100) | writing(table.open, size=9)).run() == 100
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0)

    asyncio.run(main())
    assert sum(map(len, table.batches)) == 100


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0}, "writing: size must be >= 1, got 0"),
        ({"seconds": 0}, "writing: seconds must be > 0 and finite, got 0"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}$"):
        writing(Table().open, **options)


def wait_until(holds: Any) -> None:
    tick = threading.Event()
    for _ in range(WAIT * 1000):
        if holds():
            return
        tick.wait(0.001)
    raise AssertionError("it did not happen")


def test_a_writer_that_keeps_a_cancel_to_itself_is_closed() -> None:
    waits, closed = threading.Event(), threading.Event()

    class Stubborn:
        async def write(self, batch: list[int], /) -> None:
            waits.set()
            try:
                await asyncio.sleep(WAIT)
            except asyncio.CancelledError:
                return  # as some clients do

        async def close(self, error: BaseException | None, /) -> None:
            closed.set()

    async def opened() -> Stubborn:
        return Stubborn()

    run = (Stream.just(1).repeat() | writing(opened, size=2)).run()
    assert waits.wait(WAIT)
    run.cancel()
    assert closed.wait(WAIT)


async def writes_nothing() -> Any:
    return 3


def test_what_is_no_writer_is_refused(dropped: list[Dropped]) -> None:
    with pytest.raises(TypeError, match=r"^writing: what open connects must have write and close, got 3$"):
        (Stream.range(3) | writing(writes_nothing)).run().wait(WAIT)
    told = Stream.resumable(lambda _: [(1, "a")], commit=lambda _: None)
    with pytest.raises(TypeError, match=r"^telling: what open connects must have write_done and close, got 3$"):
        (told | telling(writes_nothing)).run().wait(WAIT)


class Plain:
    """A writer whose methods are asynchronous but for one."""

    def __init__(self, plain: str) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Any:
        if name not in {"write", "write_done", "close"}:
            raise AttributeError(name)

        def done(*_: object) -> None: ...

        async def later(*_: object) -> None: ...

        return done if name == self.plain else later


@pytest.mark.parametrize(("sink", "name"), [(writing, "write"), (writing, "close"), (telling, "write_done")])
def test_a_plain_function_where_one_is_awaited_is_named(sink: Any, name: str) -> None:
    async def connect() -> Any:
        return Plain(name)

    source = Stream.resumable(lambda _: [1], commit=lambda _: None, counted=True)
    with pytest.raises(TypeError, match=rf"^{sink.__name__}: {name} must be a coroutine function, got None from it$"):
        (source | sink(connect)).run().wait(WAIT)
