"""A source whose elements have to be waited for: a loop waits on its own thread, everybody else gets signals."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from penstock import Stream
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import pull
from penstock.spec.interfaces import Subscriber
from penstock.stage import Opener, Source


@dataclass(frozen=True)
class Awaited(Source[int]):
    """Give five numbers either way, and note which way was taken."""

    ways: list[str] = field(default_factory=list)

    def waiting_opener(self) -> Opener[int]:
        return lambda _: self._rows()

    def _rows(self) -> Iterator[int]:
        self.ways.append("waited")
        try:
            yield from range(5)
        finally:
            self.ways.append("closed")

    def connect(self, downstream: Subscriber[int], /) -> None:
        self.ways.append("connected")
        Stream.range(5).subscribe(downstream)


@pytest.fixture
def source() -> Awaited:
    return Awaited()


def test_a_loop_waits_and_closes_what_it_leaves(source: Awaited) -> None:
    stream = Stream(Chain(source))
    assert list(stream.map(lambda n: n * 2)) == [0, 2, 4, 6, 8]
    for n in stream:
        assert n == 0
        break
    assert source.ways == ["waited", "closed"] * 2


def test_a_result_is_waited_for(source: Awaited) -> None:
    stream = Stream(Chain(source))
    assert stream.filter(lambda n: n > 1).count().get() == 3
    assert stream.take(2).to_list().get() == [0, 1]
    assert source.ways == ["waited", "closed"] * 2


def test_a_subscriber_and_a_joint_get_signals(source: Awaited) -> None:
    stream = Stream(Chain(source))
    assert pull(stream._chain) is None
    assert list(stream.merge(Stream.empty())) == [0, 1, 2, 3, 4]
    assert source.ways == ["connected"]


def test_an_event_loop_does_not_wait(source: Awaited) -> None:
    async def main() -> list[int]:
        return [n async for n in Stream(Chain(source))]

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]
    assert source.ways == ["connected"]
