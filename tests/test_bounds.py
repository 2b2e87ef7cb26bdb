"""bounds: with a consumer a thousand times slower than its source, nothing holds more than it says.

A source counts what it has made, the consumer what it has got; the difference is what everything between them holds.
The source makes elements as fast as it is asked. The consumer asks for one element a thousand times, and before each
request everything is at rest: what the source made ahead of it is the most that could ever be held.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock import (
    Connectable,
    EmitResult,
    Emitter,
    Overflow,
    OverflowedError,
    Recorder,
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
SOMETHING: ContextVar[int] = ContextVar("something")


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


def same_group(group: Stream[int]) -> Stream[int]:
    return group


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


def begun(published: Connectable[Any]) -> Stream[Any]:
    """Return a published stream whose run has begun."""
    published.connect()
    return published


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
    "checkpoint": (lambda m: m.stream().do_finally(bool).checkpoint("here"), 1),
    "log": (lambda m: m.stream().log("bounds", level=100), 1),
    "metrics": (lambda m: m.stream().metrics("bounds"), 1),
    "observed": (lambda m: m.stream().map(str).do_finally(bool).filter(bool).observed(Recorder()), 1),
    "publish_on observed": (lambda m: m.stream().publish_on(thread(), prefetch=8).observed(Recorder()), 8 + 1),
    "with_context": (lambda m: m.stream().with_context({SOMETHING: 1}), 1),
    "subscribe_on": (lambda m: m.stream().subscribe_on(thread()), 1),
    "from_publisher": (lambda m: Stream.from_publisher(m.stream()), 1),
    "from_async_iterable": (lambda m: Stream.from_async_iterable(m.asynchronous()), 1),
    # These hold what they say, and nothing is asked for ahead of demand.
    "start_with, end_with, default_if_empty": (
        lambda m: m.stream().do_finally(bool).start_with(0).end_with(0).default_if_empty(0),
        1,
    ),
    "materialize, dematerialize": (lambda m: m.stream().do_finally(bool).materialize().dematerialize(), 1),
    "distinct of the last": (lambda m: m.stream().do_finally(bool).distinct(size=2), 1),
    "pairwise": (lambda m: m.stream().do_finally(bool).pairwise(), 1 + 1),
    "skip_last": (lambda m: m.stream().do_finally(bool).skip_last(5), 5 + 1),
    "sliding": (lambda m: m.stream().do_finally(bool).sliding(5), 5),
    "split_when": (lambda m: m.stream().do_finally(bool).split_when(lambda a, b: True), 1 + 1),
    "map_batches": (lambda m: m.stream().map_batches(list, 10), 10),
    "map_batches behind a joint": (lambda m: m.stream().do_finally(bool).map_batches(list, 10), 10),
    "on_error_return, map_error": (lambda m: m.stream().map_error(ValueError).on_error_return(0), 1),
    "on_error_complete": (lambda m: m.stream().on_error_complete(), 1),
    "repeat": (lambda m: m.stream().do_finally(bool).repeat(), 1),
    "concat_map": (lambda m: m.stream().concat_map(lambda n: Stream.just(n).do_finally(bool)), 1),
    "concat_map of one": (lambda m: Stream.just(0).concat_map(lambda _: m.stream()), 1),
    "expand": (lambda m: m.stream().do_finally(bool).expand(lambda n: []), 1),
    "with_latest_from": (lambda m: m.stream().with_latest_from(Stream.just(0)), 1),
    "race": (lambda m: Stream.never().race(m.stream()), 1),
    "switch_if_empty": (lambda m: Stream.empty().do_finally(bool).switch_if_empty(m.stream()), 1),
    "take_until, skip_until": (lambda m: m.stream().take_until(Stream.never()).skip_until(Stream.just(0)), 1),
    "using": (lambda m: Stream.using(object, lambda _: m.stream(), bool), 1),
    "from_callable": (lambda m: Stream.from_callable(m.one).repeat(), 1),
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
    "delay": (lambda m: m.stream().delay(0, size=6), 1),
    "delay and more demand": (lambda m: m.stream().delay(0, size=6).publish_on(inline(), prefetch=20), 6 + 20 + 1),
    "delay_subscription": (lambda m: m.stream().delay_subscription(0), 1),
    "throttle": (lambda m: m.stream().throttle(10**6), 1),
    "throttle_first": (lambda m: m.stream().throttle_first(0), 1),
    "timestamp, time_interval": (lambda m: m.stream().do_finally(bool).timestamp().time_interval(), 1),
    "keep_alive": (lambda m: m.stream().keep_alive(60, 0, clock=VirtualClock()), 1),
    "limit_rate": (lambda m: m.stream().limit_rate(4), 1),
    "group_by": (
        lambda m: m.stream().group_by(lambda n: n % 3, size=6).flat_map(same_group, concurrency=3, prefetch=2),
        6 + 3 * 2 + 1,
    ),
    "group_by of one": (
        lambda m: m.stream().group_by(bool, size=1).flat_map(same_group, concurrency=1, prefetch=1),
        1 + 1 + 1,
    ),
    "window": (lambda m: m.stream().window(4, size=6).flat_map(same_group, concurrency=1, prefetch=2), 6 + 2 + 1),
    "switch_map": (lambda m: Stream.just(0).switch_map(lambda _: m.stream(), prefetch=4), 4 + 1),
    "expand of publishers": (
        lambda m: m.stream().expand(lambda n: Stream.empty(), concurrency=3, prefetch=2),
        3 + 1,
    ),
    "combine_latest": (lambda m: Stream.just(0).combine_latest(m.stream().do_finally(bool), prefetch=5), 5 + 1),
    "merge_sorted": (lambda m: m.stream().do_finally(bool).merge_sorted(Stream.empty(), prefetch=5), 5 + 1),
    "interleave": (lambda m: m.stream().do_finally(bool).interleave(Stream.empty(), prefetch=5), 5 + 1),
    "join": (lambda m: m.stream().do_finally(bool).join(Stream.just(0), lambda n: 0, prefetch=5), 5 + 1),
    "publish": (lambda m: begun(m.stream().publish(size=6)), 6 + 1),
    "partition": (lambda m: m.stream().partition(lambda n: True, size=6)[0], 6 + 1),
    "parallel": (lambda m: m.stream().parallel(2, lambda rail: rail.map(str), prefetch=8), 8 + 1),
    "parallel unordered": (
        lambda m: m.stream().parallel(2, lambda rail: rail.map(str), executor=thread(), ordered=False, prefetch=8),
        8 + 1,
    ),
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
    assert held_by(lambda m: m.stream().do_finally(bool).buffer(10), per_element=10) <= 10
    assert held_by(lambda m: m.stream().do_finally(bool).buffer(10, 4), per_element=4) <= 10
    assert held_by(lambda m: m.stream().do_finally(bool).buffer(4, 10), per_element=10) <= 4


def test_flatten_reads_no_more_than_the_element_at_hand() -> None:
    assert held_by(lambda m: m.stream().map(lambda n: [n]).flatten()) <= 1
    assert held_by(lambda m: m.stream().do_finally(bool).map(lambda n: [n]).flatten()) <= 1


def test_buffer_timeout_holds_one_list() -> None:
    clock = VirtualClock()
    assert held_by(lambda m: m.stream().buffer_timeout(10, 60, clock=clock), per_element=10) <= 10
    assert clock.pending == 0


@pytest.mark.parametrize("asked", [0, 1])
def test_groups_and_windows_that_nobody_subscribes_to_hold_their_size(asked: int) -> None:
    for build in (
        lambda m: m.stream().group_by(lambda n: n, size=6, clock=VirtualClock()),
        lambda m: m.stream().window(1, size=6, clock=VirtualClock()),
    ):
        made = Made()
        probe = Probe(REQUESTS * asked)
        build(made).subscribe(probe)
        assert made.total == len(probe.elements) == 6 * asked
        probe.cancel()


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

    def test_sample_holds_the_latest_and_one_sample(self) -> None:
        clock = VirtualClock()
        probe = Probe()
        ticks = Stream.interval(1, overflow=Overflow.BUFFER, size=10_000, clock=clock)
        ticks.sample(10, clock=clock).subscribe(probe)
        clock.advance(95)
        probe.request(5)
        assert len(probe.elements) == 1
        clock.advance(10)
        assert len(probe.elements) == 2
        probe.cancel()

    @pytest.mark.parametrize(
        ("slow", "kept"),
        [
            (lambda ticks: ticks.on_backpressure_buffer(5, overflow=Overflow.DROP), [0, 1, 2, 3, 4]),
            (lambda ticks: ticks.on_backpressure_buffer(5, overflow=Overflow.LATEST), [995, 996, 997, 998, 999]),
            (lambda ticks: ticks.on_backpressure_drop(), []),
            (lambda ticks: ticks.on_backpressure_latest(), [999]),
            (lambda ticks: ticks.conflate(lambda n: n, lambda _, n: n), [999]),
        ],
    )
    def test_what_was_not_asked_for_is_held_as_it_is_said(
        self, slow: Callable[[Stream[int]], Stream[int]], kept: list[int]
    ) -> None:
        clock = VirtualClock()
        probe = Probe()
        slow(Stream.interval(1, clock=clock)).subscribe(probe)
        clock.advance(REQUESTS)
        probe.request(9)
        assert probe.elements == kept
        probe.cancel()


class TestLoops:
    """Iterate with a body that is slower than the source."""

    def test_a_loop_over_what_can_be_iterated_takes_one_by_one(self) -> None:
        made = Made()
        for count, _ in enumerate(made.stream()._pulled() or made.endless(), 1):
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
        assert made.stream().do_finally(bool).first().get() == 1
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


def test_partition_holds_no_more_for_a_side_that_is_not_taken() -> None:
    """One side is taken to its end; the other has its bound, and fails behind it."""
    made = Made()
    wanted, other = made.stream().partition(lambda n: n % 3 == 0, size=5)
    snail, slow = Snail(), Probe()
    wanted.subscribe(snail)
    other.subscribe(slow)
    for _ in range(REQUESTS):
        snail.take()
    snail.subscription.cancel()
    slow.request(100)
    slow.wait_for_end()
    assert len(slow.elements) == 5
    assert isinstance(slow.error, OverflowedError)


def test_a_cache_holds_no_more_than_its_size() -> None:
    made = Made()
    probe = Probe(REQUESTS)
    made.stream().cache(size=10).subscribe(probe)
    probe.wait_for_end()
    assert len(probe.elements) == 10
    assert made.total == 11
    assert isinstance(probe.error, OverflowedError)


def test_a_join_holds_no_more_than_its_size_of_each() -> None:
    made, others = Made(), Made()
    probe = Probe(REQUESTS)
    made.stream().join(others.stream(), lambda n: -n, lambda n: n, size=10, prefetch=4).subscribe(probe)
    probe.wait_for_end()
    assert max(made.total, others.total) <= 10 + 4 + 1
    assert isinstance(probe.error, OverflowedError)


def test_a_subject_holds_no_more_than_its_size_for_each_subscriber() -> None:
    subject = Stream.subject(size=5, kept=3)
    fast, slow = Probe(REQUESTS), Probe()
    subject.subscribe(fast)
    subject.subscribe(slow)
    for number in range(REQUESTS):
        subject.emit(number)
    late = Probe(REQUESTS)
    subject.subscribe(late)
    slow.request(REQUESTS)
    slow.wait_for_end()
    assert len(fast.elements) == REQUESTS
    assert slow.elements == [0, 1, 2, 3, 4]
    assert late.elements == [REQUESTS - 3, REQUESTS - 2, REQUESTS - 1]


LARGE = 10**30  # more than a length may be, which is how some say that they want no bound
LARGEST: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "cache": lambda stream: stream.cache(size=LARGE),
    "expand": lambda stream: stream.expand(lambda _: Stream.empty(), concurrency=LARGE, size=LARGE, prefetch=LARGE),
    "flat_map": lambda stream: stream.flat_map(lambda n: Stream.just(n), concurrency=LARGE, prefetch=LARGE),
    "interleave": lambda stream: stream.interleave(Stream.empty(), count=LARGE, prefetch=LARGE),
    "join": lambda stream: stream.join(Stream.range(5), lambda n: n, size=LARGE, prefetch=LARGE).map(min),
    "merge": lambda stream: stream.merge(Stream.empty(), prefetch=LARGE),
    "merge_sorted": lambda stream: stream.merge_sorted(Stream.empty(), prefetch=LARGE),
    "publish_on": lambda stream: stream.publish_on(inline(), prefetch=LARGE),
    "replay": lambda stream: stream.replay(LARGE, size=LARGE),
    "share": lambda stream: stream.share(size=LARGE),
    "zip": lambda stream: stream.zip(Stream.range(5), prefetch=LARGE).map(min),
}
"""What holds things in a list whose length C counts, or asks for as many as it may hold."""


@pytest.mark.parametrize("form", ["iterated", "signalled"])
@pytest.mark.parametrize("operator", LARGEST)
def test_a_bound_may_be_larger_than_any_length(operator: str, form: str) -> None:
    numbers = Stream.range(5) if form == "iterated" else Stream.range(5).publish_on(inline())
    assert list(LARGEST[operator](numbers)) == [0, 1, 2, 3, 4]
