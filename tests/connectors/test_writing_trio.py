"""writing from trio: the writer's coroutines run on the loop of the caller, whichever kind of loop that is."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from penstock import Sink, Stream
from penstock.connectors import reading, writing
from tests.engine.watch import no_thread_is_left

__all__ = ["no_thread_is_left"]

WAIT = 60


class Rows:
    """A writer over trio, which may hold what it has until it is flushed or closed."""

    flush_after = 0.01

    def __init__(self, *, holds: bool = False, flush_fails: bool = False) -> None:
        self.holds = holds
        self.flush_fails = flush_fails
        self.gate: trio.Event | None = None
        self.batches: list[list[int]] = []
        self.words: list[str] = []
        self.flushed = trio.Event()

    async def open(self) -> Rows:
        await trio.sleep(0)
        return self

    async def write(self, batch: list[int]) -> bool | None:
        await trio.sleep(0)
        self.batches.append(batch)
        return False if self.holds else None

    async def flush(self) -> None:
        self.words.append("flush")
        self.flushed.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.flush_fails:
            raise ConnectionError("the server has gone")

    async def close(self, error: BaseException | None) -> None:
        await trio.sleep(0)
        self.words.append(f"close {type(error).__name__}")


class Numbers:
    """A reader over trio of the numbers from 1 on."""

    def __init__(self, count: int | None) -> None:
        self.count = count
        self.last = 0
        self.told: list[int] = []
        self.more = trio.Event()
        self.committed = trio.Event()

    async def open(self, _: int | None) -> Numbers:
        return self

    async def fetch(self, most: int) -> list[tuple[int, int]] | None:
        if self.count is None and self.last == 3:
            await self.more.wait()
            return None
        first, end = self.last + 1, self.last + most
        self.last = min(end, 3 if self.count is None else self.count)
        return [(number, number) for number in range(first, self.last + 1)] or None

    async def commit(self, position: int) -> None:
        await trio.sleep(0)
        self.told.append(position)
        self.committed.set()

    async def close(self) -> None:
        await trio.sleep(0)


def on_trio(main: Any) -> None:
    async def limited() -> None:
        with trio.fail_after(WAIT):
            await main()

    trio.run(limited)


def test_batches_are_written_and_committed() -> None:
    async def main() -> None:
        numbers, rows = Numbers(10), Rows()
        assert await (reading(numbers.open, most=4) | writing(rows.open, size=3)).run() == 10
        assert [number for batch in rows.batches for number in batch] == list(range(1, 11))
        assert rows.words == ["close NoneType"]
        assert numbers.told[-1] == 10

    on_trio(main)


def test_held_batches_are_flushed_when_no_other_one_comes() -> None:
    async def main() -> None:
        numbers, rows = Numbers(None), Rows(holds=True)
        run = (reading(numbers.open) | writing(rows.open, size=3)).run()
        while numbers.told != [3]:  # what was flushed is done, though the source goes on
            await numbers.committed.wait()
        assert rows.words == ["flush"]
        numbers.more.set()
        assert await run == 3
        assert rows.words == ["flush", "close NoneType"]

    on_trio(main)


def test_a_flush_that_raises_fails_the_run() -> None:
    async def main() -> None:
        numbers, rows = Numbers(None), Rows(holds=True, flush_fails=True)
        run = (reading(numbers.open) | writing(rows.open, size=3)).run()
        await rows.flushed.wait()
        numbers.more.set()
        with pytest.raises(ConnectionError, match=r"^the server has gone"):
            await run
        assert rows.words == ["flush", "close ConnectionError"]
        assert numbers.told == []

    on_trio(main)


def test_a_cancel_ends_a_flush_that_hangs_and_closes() -> None:
    async def main() -> None:
        numbers, rows = Numbers(None), Rows(holds=True)
        rows.gate = trio.Event()
        run = (reading(numbers.open) | writing(rows.open, size=3)).run()
        await rows.flushed.wait()
        run.cancel()
        await run.ended()
        assert rows.words == ["flush", "close CancelledError"]
        assert numbers.told == []

    on_trio(main)


def test_the_end_waits_for_a_flush_that_is_under_way() -> None:
    async def main() -> None:
        numbers, rows = Numbers(None), Rows(holds=True)
        rows.gate = trio.Event()
        run = (reading(numbers.open) | writing(rows.open, size=3)).run()
        await rows.flushed.wait()
        numbers.more.set()
        await trio.sleep(0)
        rows.gate.set()
        assert await run == 3
        assert rows.words == ["flush", "close NoneType"]

    on_trio(main)


def test_a_failure_before_it_closes_with_that_error() -> None:
    async def main() -> None:
        rows = Rows()
        stream = Stream.just(1, 2, 0).map(lambda n: 1 // n)
        with pytest.raises(ZeroDivisionError):
            await (stream | writing(rows.open, size=1)).run()
        assert rows.words == ["close ZeroDivisionError"]
        assert await (Stream.just(1) | Sink.count()).run() == 1

    on_trio(main)
