"""tck: every publisher, processor and subscriber that penstock offers keeps every rule."""

from __future__ import annotations

import operator
import pkgutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import penstock.operators
from penstock import (
    AnyPublisher,
    AnySubscriber,
    Emitter,
    Flow,
    Sink,
    Stream,
    VirtualClock,
    flow,
    inline,
    loop,
    pool,
    processor,
    subscriber,
    thread,
)
from penstock.tck import Limits, Status, render, verify_processor, verify_publisher, verify_subscriber_blackbox
from penstock.tck.outcome import Report

ENDLESS = 10**9
LIMITS = Limits(elements=20, timeout=5.0, quiet=0.02)


def numbers(count: int | None) -> Stream[int]:
    return Stream.range(ENDLESS if count is None else count)


class Ticks:
    """Be an asynchronous iterable that starts anew for each subscriber."""

    def __init__(self, count: int | None) -> None:
        self.count = ENDLESS if count is None else count

    async def __aiter__(self) -> AsyncIterator[int]:
        for number in range(self.count):
            yield number


async def same(element: int) -> int:
    return element


def emitted(count: int | None) -> Stream[int]:
    def attach(emitter: Emitter[int]) -> None:
        for number in range(500 if count is None else count):
            emitter.emit(number)
        if count is not None:
            emitter.complete()

    return Stream.create(attach, size=1000)


@dataclass(frozen=True)
class Subject:
    """Hold one publisher under test and what it is able to do."""

    make: Callable[[int | None], Any]
    able: dict[str, Any] = field(default_factory=dict)


def on(build: Callable[[Stream[int]], Stream[Any]], **able: Any) -> Subject:
    return Subject(lambda count: build(numbers(count)), able)


def ticking() -> Subject:
    clock = VirtualClock()
    return Subject(
        lambda count: Stream.interval(1.0, clock=clock).take(ENDLESS if count is None else count),
        {"settle": lambda: clock.advance(100), "unicast": False},
    )


PUBLISHERS: dict[str, list[Subject]] = {
    "buffer": [on(lambda s: s.buffer(1))],
    "checked": [on(lambda s: s.checked())],
    "concat": [on(lambda s: Stream.empty().concat(s)), on(lambda s: s.do_finally(bool).concat(Stream.empty()))],
    "count": [Subject(lambda count: Stream.range(3).count(), {"max_elements": 1, "min_elements": 1})],
    "create": [Subject(emitted, {"max_elements": 400})],
    "debounce": [on(lambda s: s.last().debounce(0, clock=VirtualClock()), max_elements=1)],
    "defer": [on(lambda s: Stream.defer(lambda: s))],
    "do_finally": [on(lambda s: s.do_finally(bool))],
    "drop_repeats": [on(lambda s: s.drop_repeats())],
    "empty": [Subject(lambda count: Stream.empty(), {"max_elements": 0})],
    "enumerate": [on(lambda s: s.enumerate())],
    "error": [on(lambda s: Stream.error(ValueError("lost")).on_error_resume(lambda error: s))],
    "filter": [on(lambda s: s.filter(lambda n: True)), on(lambda s: s.do_finally(bool).filter(lambda n: True))],
    "first": [Subject(lambda count: Stream.range(3).first(), {"max_elements": 1, "min_elements": 1})],
    "flat_map": [on(lambda s: s.flat_map(lambda n: [n])), on(lambda s: s.flat_map(Stream.just, concurrency=3))],
    "flatten": [on(lambda s: s.buffer(1).flatten())],
    "from_async_iterable": [Subject(lambda count: Stream.from_async_iterable(Ticks(count)), {"asynchronous": True})],
    "from_iterable": [Subject(lambda count: Stream.from_iterable(range(ENDLESS if count is None else count)))],
    "from_publisher": [on(lambda s: Stream.from_publisher(AnyPublisher(s)))],
    "generate": [Subject(lambda count: Stream.generate(0, lambda n: (n, n + 1) if n != count else None))],
    "interval": [],
    "just": [Subject(lambda count: Stream.just(*range(count or 0)), {"max_elements": 100})],
    "last": [Subject(lambda count: Stream.range(3).last(), {"max_elements": 1, "min_elements": 1})],
    "map": [on(lambda s: s.map(operator.neg)), on(lambda s: s.do_finally(bool).map(operator.neg))],
    "map_async": [
        on(lambda s: s.map_async(same, concurrency=4)),
        on(lambda s: s.map_async(same, concurrency=4, ordered=False)),
        on(lambda s: s.map_async(same, concurrency=4, key=lambda n: n % 2)),
    ],
    "merge": [on(lambda s: s.merge(Stream.empty())), on(lambda s: s.do_finally(bool).merge(Stream.empty()))],
    "never": [on(lambda s: Stream.never().merge(s).take(ENDLESS), finite=False)],
    "on_error_resume": [on(lambda s: s.on_error_resume(lambda error: []))],
    "publish_on": [on(lambda s, e=e: s.publish_on(e, prefetch=4)) for e in (inline(), thread(), pool(2), loop())],
    "range": [Subject(numbers)],
    "reduce": [Subject(lambda count: Stream.range(3).reduce(max), {"max_elements": 1, "min_elements": 1})],
    "replay": [on(lambda s: s.replay(1000, size=1000))],
    "retry": [on(lambda s: s.retry(2))],
    "scan": [on(lambda s: s.scan(operator.add, 0))],
    "share": [on(lambda s: s.share())],
    "skip": [on(lambda s: Stream.just(-1).concat(s).skip(1))],
    "stateful_map": [on(lambda s: s.stateful_map(lambda total, n: (total + n, total), int))],
    "subscribe_on": [on(lambda s, e=e: s.subscribe_on(e)) for e in (inline(), thread(), pool(2), loop())],
    "take": [on(lambda s: s.take(ENDLESS)), on(lambda s: s.do_finally(bool).take(ENDLESS))],
    "take_while": [on(lambda s: s.take_while(lambda n: True))],
    "tap": [on(lambda s: s.tap(bool)), on(lambda s: s.tap(bool, on_request=bool))],
    "timeout": [on(lambda s: s.timeout(1, clock=VirtualClock()))],
    "to_list": [Subject(lambda count: Stream.range(3).to_list(), {"max_elements": 1, "min_elements": 1})],
    "zip": [on(lambda s: s.zip(s)), on(lambda s: s.zip(s.publish_on(thread())))],
}

FLOWS: dict[str, Flow[Any, Any]] = {
    "nothing": flow(lambda s: s),
    "stages": flow(lambda s: s.map(lambda n: n).filter(lambda n: True)),
    "a joint": flow(lambda s: s.do_finally(bool)),
    "stages behind a joint": flow(lambda s: s.checked().map(lambda n: n)),
    "a flow of flows": flow(lambda s: s.map(lambda n: n)) | flow(lambda s: s.tap(bool)),
}

SINKS: dict[str, Sink[Any, Any]] = {
    "count": Sink.count(),
    "for_each": Sink.for_each(bool),
    "to_list": Sink.to_list(),
    "first": Sink.of(lambda s: s.first()),
    "behind a boundary": Sink.of(lambda s: s.publish_on(inline(), prefetch=2).count()),
}


def assert_kept(report: Report) -> None:
    assert report.ok, render(report)
    assert any(outcome.status is Status.PASSED for outcome in report.outcomes)


def test_no_operator_is_missing() -> None:
    assert set(PUBLISHERS) == {module.name for module in pkgutil.iter_modules(penstock.operators.__path__)}


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(subject, id=f"{name}-{index}")
        for name, some in PUBLISHERS.items()
        for index, subject in enumerate(some)
    ],
)
def test_a_publisher_keeps_the_rules(subject: Subject) -> None:
    able = {"failing": lambda: Stream.error(ValueError("lost")), **subject.able}
    assert_kept(verify_publisher(subject.make, limits=LIMITS, **able))


def test_a_clock_that_ticks_keeps_the_rules() -> None:
    subject = ticking()
    assert_kept(verify_publisher(subject.make, limits=LIMITS, max_elements=10, settle=subject.able["settle"]))


def test_a_stream_over_an_iterable_closes_it_and_never_runs_ahead() -> None:
    assert_kept(
        verify_publisher(
            numbers, over=lambda items: Stream.from_iterable(items).map(lambda n: n), closes=True, limits=LIMITS
        )
    )


@pytest.mark.parametrize("name", FLOWS)
def test_a_processor_keeps_the_rules(name: str) -> None:
    assert_kept(verify_processor(lambda: processor(FLOWS[name]), limits=LIMITS))


@pytest.mark.parametrize("name", SINKS)
def test_a_subscriber_keeps_the_rules(name: str) -> None:
    report = verify_subscriber_blackbox(
        lambda: subscriber(SINKS[name]), stop=lambda receiver: receiver.cancel(), limits=LIMITS
    )
    assert_kept(report)


def test_an_erased_subscriber_keeps_the_rules() -> None:
    assert_kept(verify_subscriber_blackbox(lambda: AnySubscriber(subscriber(Sink.count())), limits=LIMITS))
