"""How much a loop asks for: one by one on its own thread, and ahead of what another thread gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Thread

import pytest

from penstock import Stream, Subscriber

LAST = 40


class Counting:
    """A publisher of numbers that answers a request before it returns, on its own thread or on the caller's."""

    def __init__(self, *, apart: bool) -> None:
        self.apart = apart
        self.asked: list[int] = []

    def subscribe(self, subscriber: Subscriber[int], /) -> None:
        self.subscriber = subscriber
        self.next = 0
        subscriber.on_subscribe(self)

    def request(self, count: int, /) -> None:
        self.asked.append(count)
        if self.apart:
            thread = Thread(target=self._give, args=(count,))
            thread.start()
            thread.join()  # so that what was asked for is there whenever the loop looks
        else:
            self._give(count)

    def _give(self, count: int) -> None:
        for _ in range(count):
            if self.next == LAST:
                return
            self.next += 1
            self.subscriber.on_next(self.next)
            if self.next == LAST:
                self.subscriber.on_complete()

    def cancel(self) -> None:
        self.next = LAST


def taken_for(stream: Stream[int]) -> list[int]:
    return list(stream)


def taken_async_for(stream: Stream[int]) -> list[int]:
    async def take() -> list[int]:
        return [number async for number in stream]

    return asyncio.run(take())


@pytest.mark.parametrize("taken", [taken_for, taken_async_for])
def test_what_another_thread_gives_is_asked_for_ahead_however_fast_it_is(
    taken: Callable[[Stream[int]], list[int]],
) -> None:
    source = Counting(apart=True)
    assert taken(Stream.from_publisher(source)) == list(range(1, LAST + 1))
    assert source.asked[:2] == [1, 255]


@pytest.mark.parametrize("taken", [taken_for, taken_async_for])
def test_what_comes_on_the_thread_of_the_loop_is_asked_for_one_by_one(
    taken: Callable[[Stream[int]], list[int]],
) -> None:
    source = Counting(apart=False)
    assert taken(Stream.from_publisher(source)) == list(range(1, LAST + 1))
    assert set(source.asked) == {1}
