"""tck: every publisher, processor and subscriber that penstock offers keeps every rule."""

from __future__ import annotations

import operator
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pytest

import penstock.operators
from penstock import (
    AnyPublisher,
    AnySubscriber,
    Emitter,
    Flow,
    Next,
    Recorder,
    Registry,
    Sink,
    Stream,
    SystemClock,
    VirtualClock,
    flow,
    inline,
    loop,
    pool,
    processor,
    set_on_dropped,
    subscriber,
    thread,
)
from penstock.tck import Limits, Status, render, verify_processor, verify_publisher, verify_subscriber_blackbox
from penstock.tck.outcome import Report
from tests.operators.proof import proofs_beside

ENDLESS = 10**9
SOMETHING: ContextVar[int] = ContextVar("something")
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


class Begun:
    """Be a publisher that begins a published run with its first subscriber."""

    def __init__(self, stream: Stream[int]) -> None:
        self.published = stream.publish()

    def subscribe(self, subscriber: Any, /) -> None:
        self.published.subscribe(subscriber)
        self.published.connect()


def handed_over(count: int | None) -> Stream[int]:
    subject: Stream[int] = Stream.subject(kept=1000)
    for number in range(500 if count is None else count):
        subject.emit(number)  # type: ignore[attr-defined]
    if count is not None:
        subject.complete()  # type: ignore[attr-defined]
    return subject


@dataclass(frozen=True)
class Subject:
    """Hold one publisher under test and what it is able to do."""

    make: Callable[[int | None], Any]
    able: dict[str, Any] = field(default_factory=dict)


def lost_after(count: int) -> Stream[int]:
    def some() -> Iterator[int]:
        yield from range(count)
        raise ValueError("lost")

    return Stream.defer(some) if count else Stream.error(ValueError("lost"))


def on(build: Callable[[Stream[int]], Stream[Any]], **able: Any) -> Subject:
    """Put an operator over numbers, and over numbers that fail."""
    able = {"failing": lambda count: build(lost_after(count)), **able}
    return Subject(lambda count: build(numbers(count)), able)


def ticking() -> Subject:
    clock = VirtualClock()
    return Subject(
        lambda count: Stream.interval(1.0, clock=clock).take(ENDLESS if count is None else count),
        {"settle": lambda: clock.advance(100), "unicast": False},
    )


PUBLISHERS: dict[str, list[Subject]] = {
    "all": [Subject(lambda count: Stream.range(3).all(bool), {"max_elements": 1, "min_elements": 1})],
    "any": [Subject(lambda count: Stream.range(3).any(bool), {"max_elements": 1, "min_elements": 1})],
    "average": [Subject(lambda count: Stream.range(3).average(), {"max_elements": 1, "min_elements": 1})],
    "buffer": [on(lambda s: s.buffer(1))],
    "buffer_timeout": [on(lambda s: s.buffer_timeout(1, 60, clock=VirtualClock()))],
    "buffer_until": [on(lambda s: s.buffer_until(lambda n: True))],
    "buffer_while": [
        Subject(lambda count: Stream.range(3).buffer_while(lambda n: True), {"max_elements": 1, "min_elements": 1})
    ],
    "cache": [on(lambda s: s.take(400).cache(size=1000), max_elements=400)],
    "cast": [on(lambda s: s.cast(int))],
    "checked": [on(lambda s: s.checked())],
    "checkpoint": [on(lambda s: s.checkpoint("here")), on(lambda s: s.do_finally(bool).checkpoint("here"))],
    "log": [on(lambda s: s.log("kit")), on(lambda s: s.log("kit", level=100))],
    "metrics": [
        on(lambda s: s.metrics("kit", registry=Registry())),
        on(lambda s: s.do_finally(bool).metrics("kit", registry=Registry())),
    ],
    "observed": [
        on(lambda s: s.map(operator.neg).observed(Recorder())),
        on(lambda s: s.do_finally(bool).map(operator.neg).publish_on(inline(), prefetch=4).observed(Recorder())),
    ],
    "with_context": [
        on(lambda s: s.with_context({SOMETHING: 1})),
        on(lambda s: s.do_finally(bool).with_context({SOMETHING: 1})),
    ],
    "combine_latest": [
        on(lambda s: Stream.just(0).combine_latest(s)),
        on(lambda s: Stream.just(0).do_finally(bool).combine_latest(s)),
        on(lambda s: Stream.just(0).combine_latest(s.publish_on(thread()))),
    ],
    "concat": [on(lambda s: Stream.empty().concat(s)), on(lambda s: s.do_finally(bool).concat(Stream.empty()))],
    "concat_map": [on(lambda s: s.concat_map(Stream.just)), on(lambda s: Stream.just(0).concat_map(lambda _: s))],
    "conflate": [on(lambda s: s.take(400).map(lambda n: [n]).conflate(list, operator.add), max_elements=1)],
    "contains": [Subject(lambda count: Stream.range(3).contains(2), {"max_elements": 1, "min_elements": 1})],
    "count": [Subject(lambda count: Stream.range(3).count(), {"max_elements": 1, "min_elements": 1})],
    "create": [Subject(emitted, {"max_elements": 400})],
    "debounce": [on(lambda s: s.last().debounce(0, clock=VirtualClock()), max_elements=1)],
    "default_if_empty": [on(lambda s: s.default_if_empty(-1), min_elements=1)],
    "defer": [on(lambda s: Stream.defer(lambda: s))],
    "delay": [on(lambda s: s.delay(0, size=4)), on(lambda s: s.delay(0.0001, clock=SystemClock()))],
    "delay_subscription": [on(lambda s: s.delay_subscription(0))],
    "dematerialize": [on(lambda s: s.map(Next).dematerialize())],
    "distinct": [on(lambda s: s.distinct()), on(lambda s: s.distinct(size=2))],
    "do_finally": [on(lambda s: s.do_finally(bool))],
    "drop_repeats": [on(lambda s: s.drop_repeats())],
    "element_at": [Subject(lambda count: Stream.range(3).element_at(1), {"max_elements": 1, "min_elements": 1})],
    "empty": [Subject(lambda count: Stream.empty(), {"max_elements": 0})],
    "end_with": [
        Subject(lambda count: numbers(None if count is None else count - 1).end_with(-1), {"min_elements": 1})
    ],
    "enumerate": [on(lambda s: s.enumerate())],
    "error": [on(lambda s: Stream.error(ValueError("lost")).on_error_resume(lambda error: s))],
    "expand": [on(lambda s: s.expand(lambda n: [])), on(lambda s: s.expand(lambda n: [], concurrency=2))],
    "filter": [on(lambda s: s.filter(lambda n: True)), on(lambda s: s.do_finally(bool).filter(lambda n: True))],
    "first": [Subject(lambda count: Stream.range(3).first(), {"max_elements": 1, "min_elements": 1})],
    "flat_map": [on(lambda s: s.flat_map(lambda n: [n])), on(lambda s: s.flat_map(Stream.just, concurrency=3))],
    "flatten": [on(lambda s: s.buffer(1).flatten())],
    "for_each": [Subject(lambda count: Stream.range(3).for_each(bool), {"max_elements": 1, "min_elements": 1})],
    "from_async_iterable": [Subject(lambda count: Stream.from_async_iterable(Ticks(count)), {"asynchronous": True})],
    "from_awaitable": [
        Subject(lambda count: Stream.from_awaitable(lambda: same(1)), {"max_elements": 1, "min_elements": 1})
    ],
    "from_callable": [Subject(lambda count: Stream.from_callable(lambda: 1), {"max_elements": 1, "min_elements": 1})],
    "from_iterable": [Subject(lambda count: Stream.from_iterable(range(ENDLESS if count is None else count)))],
    "from_publisher": [on(lambda s: Stream.from_publisher(AnyPublisher(s)))],
    "generate": [Subject(lambda count: Stream.generate(0, lambda n: (n, n + 1) if n != count else None))],
    "group_by": [
        on(lambda s: s.group_by(lambda n: n % 3).flat_map(lambda group: group, concurrency=3)),
        on(lambda s: s.group_by(lambda n: n % 3, size=2).flat_map(lambda group: group.map(str), concurrency=3)),
    ],
    "ignore_elements": [Subject(lambda count: Stream.range(3).ignore_elements(), {"max_elements": 0})],
    "interleave": [
        on(lambda s: s.interleave(Stream.empty())),
        on(lambda s: s.do_finally(bool).interleave(Stream.empty(), count=2, prefetch=3)),
    ],
    "interval": [],
    "is_empty": [Subject(lambda count: Stream.range(3).is_empty(), {"max_elements": 1, "min_elements": 1})],
    "join": [
        on(lambda s: s.join(Stream.just(0), lambda n: 0)),
        on(lambda s: s.do_finally(bool).join(Stream.just(0), lambda n: 0, prefetch=3)),
    ],
    "just": [Subject(lambda count: Stream.just(*range(count or 0)), {"max_elements": 100})],
    "keep_alive": [on(lambda s: s.keep_alive(60, -1, clock=VirtualClock()))],
    "last": [Subject(lambda count: Stream.range(3).last(), {"max_elements": 1, "min_elements": 1})],
    "limit_rate": [on(lambda s: s.limit_rate(4)), on(lambda s: s.limit_rate(1))],
    "map": [on(lambda s: s.map(operator.neg)), on(lambda s: s.do_finally(bool).map(operator.neg))],
    "map_async": [
        on(lambda s: s.map_async(same, concurrency=4)),
        on(lambda s: s.map_async(same, concurrency=4, ordered=False)),
        on(lambda s: s.map_async(same, concurrency=4, key=lambda n: n % 2)),
    ],
    "map_batches": [on(lambda s: s.map_batches(list, 3)), on(lambda s: s.do_finally(bool).map_batches(list, 3))],
    "map_error": [on(lambda s: s.map_error(lambda error: error))],
    "materialize": [
        Subject(lambda count: numbers(None if count is None else count - 1).materialize(), {"min_elements": 1}),
        Subject(
            lambda count: numbers(None if count is None else count - 1).do_finally(bool).materialize(),
            {"min_elements": 1},
        ),
    ],
    "max": [Subject(lambda count: Stream.range(3).max(), {"max_elements": 1, "min_elements": 1})],
    "merge": [on(lambda s: s.merge(Stream.empty())), on(lambda s: s.do_finally(bool).merge(Stream.empty()))],
    "merge_sorted": [
        on(lambda s: s.merge_sorted(Stream.empty())),
        on(lambda s: s.do_finally(bool).merge_sorted(Stream.empty(), prefetch=3)),
    ],
    "min": [Subject(lambda count: Stream.range(3).min(), {"max_elements": 1, "min_elements": 1})],
    "never": [on(lambda s: Stream.never().merge(s).take(ENDLESS), finite=False)],
    "of_type": [on(lambda s: s.of_type(int))],
    "on_backpressure_buffer": [on(lambda s: s.take(400).on_backpressure_buffer(1000), max_elements=400)],
    "on_backpressure_drop": [Subject(lambda count: Stream.range(3).on_backpressure_drop(), {"max_elements": 0})],
    "on_backpressure_error": [
        on(lambda s: s.take(400).on_backpressure_error().on_backpressure_buffer(1000), max_elements=400)
    ],
    "on_backpressure_latest": [on(lambda s: s.take(400).on_backpressure_latest(), max_elements=1)],
    "on_error_complete": [on(lambda s: s.on_error_complete(when=KeyError))],
    "on_error_resume": [on(lambda s: s.on_error_resume(lambda error: [], when=KeyError))],
    "on_error_return": [on(lambda s: s.on_error_return(-1, when=KeyError))],
    "pairwise": [on(lambda s: s.start_with(-1).pairwise())],
    "parallel": [
        on(lambda s, e=e: s.parallel(2, lambda rail: rail.map(operator.neg), executor=e, prefetch=4))
        for e in (None, inline(), thread(), pool(2))
    ],
    "partition": [
        on(lambda s: s.partition(lambda n: True)[0]),
        on(lambda s: s.partition(lambda n: False)[1]),
    ],
    "publish": [Subject(lambda count: Begun(numbers(count)))],
    "publish_on": [on(lambda s, e=e: s.publish_on(e, prefetch=4)) for e in (inline(), thread(), pool(2), loop())],
    "race": [on(lambda s: s.race(Stream.never())), on(lambda s: Stream.never().race(s))],
    "range": [Subject(numbers)],
    "reduce": [Subject(lambda count: Stream.range(3).reduce(max), {"max_elements": 1, "min_elements": 1})],
    "repeat": [
        on(lambda s: s.repeat(1)),
        on(lambda s: s.do_finally(bool).repeat(while_=lambda: False)),
    ],
    "replay": [on(lambda s: s.replay(1000, size=1000))],
    "retry": [on(lambda s: s.retry(2))],
    "sample": [on(lambda s: s.last().sample(60, clock=VirtualClock()), max_elements=1)],
    "scan": [on(lambda s: s.scan(operator.add, 0))],
    "sequence_equal": [
        Subject(lambda count: Stream.range(3).sequence_equal(Stream.range(3)), {"max_elements": 1, "min_elements": 1}),
        Subject(
            lambda count: Stream.range(3).do_finally(bool).sequence_equal(Stream.range(3)),
            {"max_elements": 1, "min_elements": 1},
        ),
    ],
    "share": [on(lambda s: s.share())],
    "single": [Subject(lambda count: Stream.just(1).single(), {"max_elements": 1, "min_elements": 1})],
    "skip": [on(lambda s: Stream.just(-1).concat(s).skip(1))],
    "skip_last": [on(lambda s: s.end_with(-1).skip_last(1))],
    "skip_until": [on(lambda s: s.skip_until(Stream.just(0)))],
    "skip_while": [on(lambda s: s.start_with(-1).skip_while(lambda n: n < 0))],
    "sliding": [on(lambda s: s.sliding(1)), on(lambda s: s.start_with(-1).sliding(2))],
    "split_when": [on(lambda s: s.split_when(lambda a, b: True))],
    "starmap": [on(lambda s: s.enumerate().starmap(operator.add))],
    "start_with": [
        Subject(lambda count: numbers(None if count is None else count - 1).start_with(-1), {"min_elements": 1}),
        Subject(
            lambda count: numbers(None if count is None else count - 1).do_finally(bool).start_with(-1),
            {"min_elements": 1},
        ),
    ],
    "stateful_map": [on(lambda s: s.stateful_map(lambda total, n: (total + n, total), int))],
    "subject": [Subject(handed_over, {"max_elements": 400})],
    "subscribe_on": [on(lambda s, e=e: s.subscribe_on(e)) for e in (inline(), thread(), pool(2), loop())],
    "sum": [Subject(lambda count: Stream.range(3).sum(), {"max_elements": 1, "min_elements": 1})],
    "switch_if_empty": [
        on(lambda s: Stream.empty().switch_if_empty(s)),
        on(lambda s: Stream.empty().do_finally(bool).switch_if_empty(s)),
    ],
    "switch_map": [on(lambda s: Stream.just(0).switch_map(lambda _: s))],
    "take": [on(lambda s: s.take(ENDLESS)), on(lambda s: s.do_finally(bool).take(ENDLESS))],
    "take_last": [Subject(lambda count: Stream.range(count or 0).take_last(1000), {"max_elements": 400})],
    "take_until": [on(lambda s: s.take_until(Stream.never()))],
    "take_while": [on(lambda s: s.take_while(lambda n: True))],
    "tap": [on(lambda s: s.tap(bool)), on(lambda s: s.tap(bool, on_request=bool))],
    "throttle": [on(lambda s: s.throttle(10**6)), on(lambda s: s.throttle(2, 0.0001))],
    "throttle_first": [on(lambda s: s.throttle_first(0)), on(lambda s: s.do_finally(bool).throttle_first(0))],
    "time_interval": [on(lambda s: s.time_interval(clock=VirtualClock()))],
    "timeout": [on(lambda s: s.timeout(1, clock=VirtualClock()))],
    "timer": [Subject(lambda count: Stream.timer(0), {"max_elements": 1, "min_elements": 1})],
    "timestamp": [on(lambda s: s.timestamp(clock=VirtualClock()))],
    "to_dict": [Subject(lambda count: Stream.range(3).to_dict(str), {"max_elements": 1, "min_elements": 1})],
    "to_list": [Subject(lambda count: Stream.range(3).to_list(), {"max_elements": 1, "min_elements": 1})],
    "to_set": [Subject(lambda count: Stream.range(3).to_set(), {"max_elements": 1, "min_elements": 1})],
    "using": [
        on(lambda s: Stream.using(object, lambda _: s, bool)),
        on(lambda s: Stream.using(object, lambda _: s.do_finally(bool), bool)),
    ],
    "window": [
        on(lambda s: s.window(3).flat_map(lambda window: window, concurrency=1)),
        on(lambda s: s.window(1, size=1000).map(lambda _: 0), max_elements=400),
        on(lambda s: s.window(seconds=60, clock=VirtualClock()).flat_map(lambda window: window, concurrency=1)),
        on(lambda s: s.window(until=Stream.never()).flat_map(lambda window: window, concurrency=1)),
    ],
    "with_latest_from": [
        on(lambda s: s.with_latest_from(Stream.just(0))),
        on(lambda s: s.do_finally(bool).with_latest_from(Stream.just(0))),
    ],
    "zip": [on(lambda s: s.zip(s)), on(lambda s: s.zip(s.publish_on(thread())))],
}


def second(pair: Any) -> Any:
    return pair[1]


def first(pair: Any) -> Any:
    return pair[0]


# Each operator in a use that hands on the elements it gets, one by one.
FLOWS: dict[str, list[Callable[[Stream[Any]], Stream[Any]]]] = {
    "buffer": [lambda s: s.buffer(1).flatten(), lambda s: s.checked().buffer(1).map(first)],
    "buffer_timeout": [lambda s: s.buffer_timeout(1, 60, clock=VirtualClock()).map(first)],
    "buffer_until": [lambda s: s.buffer_until(lambda n: True).map(first)],
    "cache": [lambda s: s.cache()],
    "cast": [lambda s: s.cast(int)],
    "checked": [lambda s: s.checked(), lambda s: s.checked().map(lambda n: n)],
    "checkpoint": [lambda s: s.checkpoint("here")],
    "combine_latest": [lambda s: Stream.just(0).combine_latest(s, prefetch=2).map(second)],
    "concat": [lambda s: s.concat(Stream.empty()), lambda s: Stream.empty().concat(s)],
    "concat_map": [
        lambda s: s.concat_map(lambda n: [n]),
        lambda s: s.concat_map(Stream.just),
        lambda s: s.concat_map(lambda n: Stream.just(n).do_finally(bool)),
    ],
    "delay": [lambda s: s.delay(0, size=4)],
    "delay_subscription": [lambda s: s.delay_subscription(0)],
    "dematerialize": [lambda s: s.map(Next).dematerialize()],
    "distinct": [lambda s: s.distinct()],
    "do_finally": [lambda s: s.do_finally(bool)],
    "drop_repeats": [lambda s: s.drop_repeats()],
    "end_with": [lambda s: s.end_with()],
    "enumerate": [lambda s: s.enumerate().map(second)],
    "expand": [lambda s: s.expand(lambda n: []), lambda s: s.expand(lambda n: Stream.empty(), concurrency=2)],
    "filter": [lambda s: s.filter(lambda n: True)],
    "flat_map": [lambda s: s.flat_map(lambda n: [n]), lambda s: s.flat_map(Stream.just, concurrency=1, prefetch=2)],
    "flatten": [lambda s: s.map(lambda n: [n]).flatten()],
    "group_by": [lambda s: s.group_by(lambda n: 0).flat_map(lambda group: group, concurrency=1)],
    "interleave": [lambda s: s.interleave(Stream.empty(), prefetch=2)],
    "join": [lambda s: s.join(Stream.just(0), lambda n: 0, prefetch=2).map(first)],
    "keep_alive": [lambda s: s.keep_alive(60, -1, clock=VirtualClock())],
    "limit_rate": [lambda s: s.limit_rate(4)],
    "log": [lambda s: s.log("kit")],
    "map": [lambda s: s.map(lambda n: n), flow(lambda s: s.map(lambda n: n)) | flow(lambda s: s.tap(bool))],
    "map_async": [lambda s: s.map_async(same, concurrency=2)],
    "map_batches": [lambda s: s.map_batches(list, 1)],
    "map_error": [lambda s: s.map_error(lambda error: error)],
    "merge": [lambda s: s.merge(Stream.empty(), prefetch=2)],
    "merge_sorted": [lambda s: s.merge_sorted(Stream.empty(), prefetch=2)],
    "metrics": [lambda s: s.metrics("kit", registry=Registry())],
    "observed": [lambda s: s.map(lambda n: n).observed(Recorder())],
    "of_type": [lambda s: s.of_type(int)],
    "on_backpressure_buffer": [lambda s: s.on_backpressure_buffer(100_000)],
    "on_backpressure_error": [lambda s: s.on_backpressure_error().on_backpressure_buffer(100_000)],
    "on_error_complete": [lambda s: s.on_error_complete(when=KeyError)],
    "on_error_resume": [lambda s: s.on_error_resume(lambda error: [], when=KeyError)],
    "on_error_return": [lambda s: s.on_error_return(-1, when=KeyError)],
    "pairwise": [lambda s: s.start_with(-1).pairwise().map(second)],
    "parallel": [lambda s: s.parallel(2, lambda rail: rail.map(lambda n: n), executor=inline(), prefetch=4)],
    "partition": [lambda s: s.partition(lambda n: True, size=4)[0]],
    "publish_on": [lambda s, e=e: s.publish_on(e, prefetch=4) for e in (inline(), thread(), pool(2), loop())],
    "race": [lambda s: s.race(Stream.never()), lambda s: Stream.never().race(s)],
    "repeat": [lambda s: s.repeat(1)],
    "replay": [lambda s: s.replay(1, size=4)],
    "retry": [lambda s: s.retry(0)],
    "scan": [lambda s: s.scan(lambda _, n: n, 0)],
    "share": [lambda s: s.share(size=4)],
    "skip": [lambda s: s.skip(0)],
    "skip_last": [lambda s: s.skip_last(0)],
    "skip_until": [lambda s: s.skip_until(Stream.just(0))],
    "skip_while": [lambda s: s.skip_while(lambda n: False)],
    "sliding": [lambda s: s.sliding(1).map(first)],
    "starmap": [lambda s: s.map(lambda n: (n, 0)).starmap(operator.add)],
    "start_with": [lambda s: s.start_with()],
    "stateful_map": [lambda s: s.stateful_map(lambda state, n: (state, n), int)],
    "subscribe_on": [lambda s, e=e: s.subscribe_on(e) for e in (inline(), thread())],
    "switch_if_empty": [lambda s: s.switch_if_empty(Stream.empty()), lambda s: Stream.empty().switch_if_empty(s)],
    "take": [lambda s: s.take(ENDLESS)],
    "take_until": [lambda s: s.take_until(Stream.never())],
    "take_while": [lambda s: s.take_while(lambda n: True)],
    "tap": [lambda s: s.tap(bool), lambda s: s.tap(bool, on_request=bool)],
    "throttle": [lambda s: s.throttle(10**6)],
    "throttle_first": [lambda s: s.throttle_first(0)],
    "time_interval": [lambda s: s.time_interval(clock=VirtualClock()).map(second)],
    "timeout": [lambda s: s.timeout(60, clock=VirtualClock())],
    "timestamp": [lambda s: s.timestamp(clock=VirtualClock()).map(second)],
    "window": [lambda s: s.window(1).flat_map(lambda window: window, concurrency=1)],
    "with_context": [lambda s: s.with_context({SOMETHING: 1})],
    "with_latest_from": [lambda s: s.with_latest_from(Stream.just(0)).map(first)],
    "zip": [lambda s: s.zip(Stream.range(ENDLESS), prefetch=2).map(first)],
}  # fmt: skip
# What these give is not what they get: one result, a result late, some elements only, or an element for an end.
CHANGES = {
    "all", "any", "average", "buffer_while", "conflate", "contains", "count", "debounce", "default_if_empty",
    "element_at", "first", "for_each", "ignore_elements", "is_empty", "last", "materialize", "max", "min",
    "on_backpressure_drop", "on_backpressure_latest", "reduce", "sample", "sequence_equal", "single", "split_when",
    "sum", "switch_map", "take_last", "to_dict", "to_list", "to_set",
}  # fmt: skip
# These stand at the beginning of a chain, or, like publish, have a run of their own: none of them is a Flow.
SOURCES = {
    "create", "defer", "empty", "error", "from_async_iterable", "from_awaitable", "from_callable", "from_iterable",
    "from_publisher", "generate", "interval", "just", "never", "publish", "range", "subject", "timer", "using",
}  # fmt: skip
# They may hold elements, and deliver those before they pass a failure on.
HOLDING = {
    "cache", "combine_latest", "delay", "expand", "flat_map", "group_by", "interleave", "join", "map_async", "merge",
    "merge_sorted", "on_backpressure_buffer", "on_backpressure_error", "parallel", "partition", "publish_on", "replay",
    "share", "window", "zip",
}  # fmt: skip

for _name, _proof in proofs_beside(PUBLISHERS).items():
    PUBLISHERS[_name] = [
        Subject(lambda count, use=_proof.use: use(numbers(None)).take(ENDLESS if count is None else count))
    ]
    if _proof.passes is None:
        CHANGES.add(_name)
    else:
        FLOWS[_name] = [_proof.passes]

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
    set_on_dropped(lambda _: None)  # of two streams that fail one is not told; its frames know the subscriber
    able = {"failing": lambda: Stream.error(ValueError("lost")), **subject.able}
    try:
        assert_kept(verify_publisher(subject.make, limits=LIMITS, **able))
    finally:
        set_on_dropped(None)


def test_a_clock_that_ticks_keeps_the_rules() -> None:
    subject = ticking()
    assert_kept(verify_publisher(subject.make, limits=LIMITS, max_elements=10, settle=subject.able["settle"]))


def test_a_stream_over_an_iterable_closes_it_and_never_runs_ahead() -> None:
    assert_kept(
        verify_publisher(
            numbers, over=lambda items: Stream.from_iterable(items).map(lambda n: n), closes=True, limits=LIMITS
        )
    )


def test_no_operator_is_missing_among_the_flows() -> None:
    assert FLOWS.keys() | CHANGES | SOURCES == PUBLISHERS.keys()


@pytest.mark.parametrize(
    ("name", "make"),
    [pytest.param(name, make, id=f"{name}-{index}") for name, some in FLOWS.items() for index, make in enumerate(some)],
)
def test_a_processor_keeps_the_rules(name: str, make: Any) -> None:
    """Failures are sent through the operator, before and behind elements."""
    whole = make if isinstance(make, Flow) else flow(make)
    report = verify_processor(lambda: processor(whole), delays_errors=name in HOLDING, limits=LIMITS)
    assert_kept(report)


@pytest.mark.parametrize("name", SINKS)
def test_a_subscriber_keeps_the_rules(name: str) -> None:
    report = verify_subscriber_blackbox(
        lambda: subscriber(SINKS[name]), stop=lambda receiver: receiver.cancel(), limits=LIMITS
    )
    assert_kept(report)


def test_an_erased_subscriber_keeps_the_rules() -> None:
    assert_kept(verify_subscriber_blackbox(lambda: AnySubscriber(subscriber(Sink.count())), limits=LIMITS))
