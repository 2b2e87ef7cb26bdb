"""bounds: with a consumer a thousand times slower than its source, nothing holds more than it says.

A source counts what it has made, the consumer what it has got; the difference is what everything between them holds.
The source makes elements as fast as it is asked. The consumer asks for one element a thousand times, and before each
request everything is at rest: what the source made ahead of it is the most that could ever be held.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock import (
    EmitResult,
    Emitter,
    Overflow,
    OverflowedError,
    Slow,
    Stream,
    VirtualClock,
    flow,
    inline,
    loop,
    pool,
    processor,
    thread,
)
from penstock.testing import Probe

REQUESTS = 1000


@dataclass
class Made:
    """Count the elements that a source has made, and remember the most that were ahead of the consumer."""

    got: Callable[[], int] = lambda: 0
    total: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def one(self) -> int:
        with self.lock:
            self.total += 1
            self.most = max(self.most, self.total - self.got())
            return self.total

    def endless(self) -> Iterator[int]:
        while True:
            yield self.one()

    def stream(self) -> Stream[int]:
        return Stream.defer(self.endless)

    async def asynchronous(self) -> AsyncIterator[int]:
        while True:
            yield self.one()


async def same(element: int) -> int:
    return element


class Snail:
    """Take one element, and ask for the next when told to."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = False
        self.subscription: Any = None
        self._arrived = threading.Condition()

    def on_subscribe(self, subscription: Any, /) -> None:
        with self._arrived:
            self.subscription = subscription
            self._arrived.notify()

    def on_next(self, element: object, /) -> None:
        with self._arrived:
            self.count += 1
            self._arrived.notify()

    def on_error(self, error: Exception, /) -> None:
        self.on_complete()

    def on_complete(self) -> None:
        with self._arrived:
            self.ended = True
            self._arrived.notify()

    def take(self) -> None:
        """Ask for one element and wait for it."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.subscription is not None, 10)
            due = self.count + 1
        self.subscription.request(1)
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.count >= due or self.ended, 10)
            assert self.count == due


def held_by(build: Callable[[Made], Stream[Any]], *, per_element: int = 1) -> int:
    """Take elements one by one and return the most that the source was ever ahead."""
    made = Made()
    snail = Snail()
    made.got = lambda: snail.count * per_element
    build(made).subscribe(snail)
    for _ in range(REQUESTS):
        snail.take()
    snail.subscription.cancel()
    return made.most


BOUNDS: dict[str, tuple[Callable[[Made], Stream[Any]], int]] = {
    # What is woven into the loop of its source holds nothing: one element is under way.
    "map, filter, take": (lambda m: m.stream().map(str).filter(bool).take(REQUESTS), 1),
    "flat_map": (lambda m: m.stream().flat_map(lambda n: [n]), 1),
    "a joint and stages behind it": (lambda m: m.stream().do_finally(bool).map(str).filter(bool), 1),
    "take behind a joint": (lambda m: m.stream().do_finally(bool).take(REQUESTS), 1),
    "on_error_resume": (lambda m: m.stream().on_error_resume(lambda error: []), 1),
    "retry": (lambda m: m.stream().retry(3), 1),
    "timeout": (lambda m: m.stream().timeout(5, clock=VirtualClock()), 1),
    "concat": (lambda m: Stream.empty().concat(m.stream()), 1),
    "checked": (lambda m: m.stream().checked(), 1),
    "subscribe_on": (lambda m: m.stream().subscribe_on(thread()), 1),
    "from_publisher": (lambda m: Stream.from_publisher(m.stream()), 1),
    "from_async_iterable": (lambda m: Stream.from_async_iterable(m.asynchronous()), 1),
    # Boundaries and joints hold their window, and one more element is with the consumer.
    "publish_on inline": (lambda m: m.stream().publish_on(inline(), prefetch=8), 8 + 1),
    "publish_on thread": (lambda m: m.stream().publish_on(thread(), prefetch=8), 8 + 1),
    "publish_on pool": (lambda m: m.stream().publish_on(pool(2), prefetch=8), 8 + 1),
    "publish_on loop": (lambda m: m.stream().publish_on(loop(), prefetch=8), 8 + 1),
    "publish_on one": (lambda m: m.stream().publish_on(thread(), prefetch=1), 1 + 1),
    "map_async": (lambda m: m.stream().map_async(same, concurrency=3), 2 * 3 + 1),
    "map_async unordered": (lambda m: m.stream().map_async(same, concurrency=3, ordered=False), 2 * 3 + 1),
    "merge": (lambda m: m.stream().merge(Stream.never(), prefetch=5), 5 + 1),
    "merge of two": (lambda m: m.stream().do_finally(bool).merge(m.stream(), prefetch=5), 2 * 5 + 1),
    "flat_map publishers": (
        lambda m: Stream.just(1, 2).flat_map(lambda _: m.stream(), concurrency=2, prefetch=4),
        2 * 4 + 1,
    ),
    "flat_map of many": (lambda m: m.stream().flat_map(lambda n: Stream.just(n), concurrency=4), 4 + 1),
    "share": (lambda m: m.stream().share(size=6), 6 + 1),
    "share waits": (lambda m: m.stream().share(size=6, slow=Slow.WAIT), 6 + 1),
    "replay": (lambda m: m.stream().replay(2, size=6), 6 + 1),
    "two boundaries": (
        lambda m: m.stream().publish_on(inline(), prefetch=4).publish_on(thread(), prefetch=4),
        2 * 4 + 1,
    ),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_holds_no_more_than_it_says(name: str) -> None:
    build, bound = BOUNDS[name]
    assert held_by(build) <= bound


def test_buffer_holds_fewer_than_its_count_behind_a_joint_and_its_list() -> None:
    assert held_by(lambda m: m.stream().buffer(10), per_element=10) <= 10
    assert held_by(lambda m: m.stream().do_finally(bool).buffer(10), per_element=10) <= 2 * 10


def test_flatten_reads_no_more_than_the_element_at_hand() -> None:
    assert held_by(lambda m: m.stream().map(lambda n: [n]).flatten()) <= 1
    assert held_by(lambda m: m.stream().do_finally(bool).map(lambda n: [n]).flatten()) <= 1


def test_zip_holds_its_window_of_each_stream() -> None:
    assert held_by(lambda m: m.stream().zip(Stream.from_async_iterable(endless_letters()), prefetch=5)) <= 5 + 1


async def endless_letters() -> AsyncIterator[str]:
    while True:
        yield "a"


def test_a_processor_holds_nothing() -> None:
    def through(made: Made) -> Stream[int]:
        middle = processor(flow(lambda stream: stream.map(lambda n: n)))
        made.stream().subscribe(middle)
        return Stream.from_publisher(middle)

    assert held_by(through) <= 1


class TestSourcesThatCannotBeSlowed:
    """Emit a thousand elements to a consumer that asks for one."""

    def emitted(self, overflow: Overflow) -> tuple[Probe, list[EmitResult]]:
        results: list[EmitResult] = []

        def attach(emitter: Emitter[int]) -> None:
            results.extend(emitter.emit(number) for number in range(REQUESTS))
            emitter.complete()

        probe = Probe()
        Stream.create(attach, overflow=overflow, size=10).subscribe(probe)
        probe.request(REQUESTS)
        probe.wait_for_end()
        return probe, results

    def test_buffer_holds_its_size_and_refuses_the_rest(self) -> None:
        probe, results = self.emitted(Overflow.BUFFER)
        assert probe.elements == list(range(10))
        assert results.count(EmitResult.OK) == 10
        assert results.count(EmitResult.OVERFLOW) == REQUESTS - 10

    def test_drop_holds_nothing(self) -> None:
        probe, results = self.emitted(Overflow.DROP)
        assert probe.elements == []
        assert set(results) == {EmitResult.OVERFLOW}

    def test_latest_holds_one(self) -> None:
        probe, _ = self.emitted(Overflow.LATEST)
        assert probe.elements == [REQUESTS - 1]

    def test_error_holds_its_size_and_fails(self) -> None:
        probe, results = self.emitted(Overflow.ERROR)
        assert probe.elements == list(range(10))
        assert isinstance(probe.error, OverflowedError)
        assert results[11] is EmitResult.TERMINATED

    @pytest.mark.parametrize(
        ("overflow", "kept"), [(Overflow.LATEST, [999]), (Overflow.DROP, []), (Overflow.BUFFER, [0, 1, 2])]
    )
    def test_a_clock_keeps_what_its_policy_says(self, overflow: Overflow, kept: list[int]) -> None:
        clock = VirtualClock()
        probe = Probe()
        Stream.interval(1, overflow=overflow, size=3, clock=clock).subscribe(probe)
        clock.advance(REQUESTS)
        probe.request(3)
        assert probe.elements == kept
        probe.cancel()

    def test_debounce_holds_the_latest_alone(self) -> None:
        clock = VirtualClock()
        probe = Probe()
        Stream.interval(10, overflow=Overflow.BUFFER, size=10_000, clock=clock).debounce(1, clock=clock).subscribe(
            probe
        )
        clock.advance(10_002)
        assert probe.elements == []
        probe.request(2)
        assert probe.elements == [999]
        probe.cancel()


class TestLoops:
    """Iterate with a body that is slower than the source."""

    def test_a_loop_over_what_can_be_iterated_takes_one_by_one(self) -> None:
        made = Made()
        for count, _ in enumerate(made.stream().pulled() or made.endless(), 1):
            assert made.total == count
            if count == REQUESTS:
                break

    def test_a_loop_over_signals_holds_its_window(self) -> None:
        made = Made()
        taken = 0
        made.got = lambda: taken
        with made.stream().publish_on(thread(), prefetch=4).open() as elements:
            for _ in elements:
                taken += 1
                if taken == REQUESTS:
                    break
        assert made.most <= 256 + 4 + 1

    def test_an_asynchronous_loop_over_signals_holds_its_window(self) -> None:
        made = Made()
        taken = 0
        made.got = lambda: taken

        async def consume() -> None:
            nonlocal taken
            async with made.stream().publish_on(thread(), prefetch=4).open() as elements:
                async for _ in elements:
                    taken += 1
                    if taken == REQUESTS:
                        break

        asyncio.run(consume())
        assert made.most <= 256 + 4 + 1

    def test_get_asks_for_one(self) -> None:
        made = Made()
        assert made.stream().do_finally(bool).get() == 1
        assert made.total == 1


def test_a_slow_subscriber_does_not_hold_back_a_fast_one() -> None:
    made = Made()
    fast, slow = Snail(), Probe()
    made.got = lambda: fast.count + 5  # the slow one came first and alone was sent five
    shared = made.stream().share(size=5)
    shared.subscribe(slow)
    shared.subscribe(fast)
    for _ in range(REQUESTS):
        fast.take()
    fast.subscription.cancel()
    assert made.most <= 5 + 1
    assert slow.elements == []
    slow.request(100)
    slow.wait_for_end()
    assert len(slow.elements) == 5
    assert isinstance(slow.error, OverflowedError)
