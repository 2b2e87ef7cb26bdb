"""pouring: an asynchronous basin that keeps a cancel to itself is let go of all the same."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from penstock import Dropped, Stream
from penstock.run.pouring import PourAsync
from penstock.testing import ManualPublisher, Probe
from tests.engine.watch import PATIENCE, dropped

__all__ = ["dropped"]


class Stubborn:
    """A basin that waits in one of its methods, and goes on if it is cancelled there."""

    def __init__(self, waits_in: str) -> None:
        self.waits_in = waits_in
        self.calls: list[str] = []
        self.waiting, self.over = threading.Event(), threading.Event()

    async def _called(self, name: str) -> None:
        self.calls.append(name)
        if name == self.waits_in:
            self.waiting.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.calls.append("goes on")

    async def begin(self) -> None:
        await self._called("begin")

    async def put(self, _: Any, /) -> int:
        await self._called("put")
        return 1

    async def end(self, _: Exception | None, /) -> None:
        await self._called("end")

    def left(self) -> None:
        self.calls.append("left")
        self.over.set()


@pytest.mark.parametrize(
    ("source", "waits_in"),
    [
        (Stream.range(3), "begin"),
        (Stream.never(), "begin"),
        (Stream.empty(), "begin"),
        (Stream.error(ValueError("no")), "begin"),
        (Stream.range(3), "put"),
        (Stream.just(1).concat(Stream.never()), "put"),
        (Stream.empty(), "end"),
    ],
    ids=str,
)
def test_a_basin_that_goes_on_behind_a_cancel_is_left_and_gives_nothing(
    source: Stream[int], waits_in: str, dropped: list[Dropped]
) -> None:
    basin = Stubborn(waits_in)
    probe: Probe[int] = Probe(1)
    Stream(source._chain.then(PourAsync(lambda: basin))).subscribe(probe)
    assert basin.waiting.wait(PATIENCE)
    probe.cancel()
    assert basin.over.wait(PATIENCE)
    assert basin.calls[-2:] == ["goes on", "left"]
    assert probe.signals == []
    assert all(repr(one.error) == "ValueError('no')" for one in dropped)  # it waits until the basin has begun
    dropped.clear()


def test_a_failure_that_waits_behind_an_element_is_told_where_the_basin_is_cancelled(dropped: list[Dropped]) -> None:
    basin = Stubborn("put")
    upstream: ManualPublisher[int] = ManualPublisher()
    probe: Probe[int] = Probe(1)
    Stream(Stream.from_publisher(upstream)._chain.then(PourAsync(lambda: basin))).subscribe(probe)
    upstream.wait_for_request(1)
    upstream.next(1)
    assert basin.waiting.wait(PATIENCE)
    upstream.fail(OSError("lost"))
    probe.cancel()
    assert basin.over.wait(PATIENCE)
    assert [repr(one.error) for one in dropped] == ["OSError('lost')"]
    dropped.clear()


def test_an_asynchronous_source_that_goes_on_behind_a_cancel_gives_nothing_more() -> None:
    waiting, closed = threading.Event(), threading.Event()

    async def stubborn() -> Any:
        try:
            waiting.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            yield 1
        finally:
            closed.set()

    probe: Probe[int] = Probe(1)
    Stream.defer(stubborn).subscribe(probe)
    assert waiting.wait(PATIENCE)
    probe.cancel()
    assert closed.wait(PATIENCE)
    assert probe.signals == []
