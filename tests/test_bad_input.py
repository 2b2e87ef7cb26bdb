"""bad input: whatever is wrong is refused or signalled with the exact message, and nothing is lost or left open."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from penstock import (
    AnyPublisher,
    EmitResult,
    Next,
    Overflow,
    OverflowedError,
    Recorder,
    Resumption,
    Slow,
    Stream,
    VirtualClock,
    flow,
    inline,
    processor,
    subscriber,
    thread,
)
from penstock.engine.weaving.segment import no_element
from penstock.testing import Probe, subscribed
from tests.engine.parts import Items, ended, noop
from tests.engine.runs.test_drain import RUNS
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

NOTHING: Any = None
ASYNC = "from_async_iterable: items must be an asynchronous iterable, "
WRAP = "; wrap an iterable in Stream.from_iterable"
FROM = Stream.range(3)
CLOCK = VirtualClock()
HALF = Fraction(1, 2)
DURATION = "interval: seconds must be seconds or a timedelta, got "
INT = "; int() makes one of it"
AWAITS = "; map_async awaits one"
TOGETHER = "flat_map: prefetch must be given together with concurrency, got 0"


async def same(n: int) -> int:
    return n


async def nothing(_: int) -> None:
    return None


class Seven:
    """Be a whole number of another make."""

    def __index__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "seven"


class Called:
    """Be called, and awaited."""

    async def __call__(self, n: int) -> int:
        return 2 * n


class Doubling(Called):
    """Have that from elsewhere."""

    def __repr__(self) -> str:
        return "doubling"


# Arguments, refused at the call.

REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: Stream.from_iterable(5), TypeError, "from_iterable: items must be an iterable, got 5"),
    (lambda: Stream.from_async_iterable([]), TypeError, ASYNC + "got []; use from_iterable"),
    (lambda: Stream.from_publisher(5), TypeError, "from_publisher: publisher must have subscribe(subscriber), got 5"),
    (lambda: Stream.range(NOTHING), TypeError, "range: start must be a number, got None"),
    (lambda: Stream.range(1, 5, NOTHING), TypeError, "range: step must be a number, got None"),
    (lambda: Stream.range(int), TypeError, "range: start must be a number, got <class 'int'>"),
    (lambda: Stream.range(1j), TypeError, "range: start must be a number, got 1j"),
    (lambda: Stream.range(1, 5, 0), ValueError, "range: step must not be zero, got 0"),
    (lambda: Stream.range(5, step=0), ValueError, "range: step must not be zero, got 0"),
    (lambda: FROM.with_context(NOTHING), TypeError, "with_context: values must be a Mapping, got None"),
    (lambda: VirtualClock(NOTHING), TypeError, "VirtualClock: start must be seconds, got None"),
    (lambda: VirtualClock(float("nan")), ValueError, "VirtualClock: start must be finite, got nan"),
    (lambda: Stream.just(1, NOTHING), TypeError, "just: None is not an element (rule 2.13)"),
    (lambda: Stream.error("lost"), TypeError, "error: error must be an Exception, got 'lost'"),
    (lambda: Stream.error(SystemExit()), TypeError, "error: error must be an Exception, got SystemExit()"),
    (lambda: Stream.defer(5), TypeError, "defer: make must be callable, got 5"),
    (lambda: Stream.generate(0, 5), TypeError, "generate: step must be callable, got 5"),
    (lambda: Stream.create(5), TypeError, "create: attach must be callable, got 5"),
    (lambda: Stream.create(noop, size=0), ValueError, "create: size must be >= 1, got 0"),
    (lambda: Stream.create(noop, size="3"), TypeError, "create: size must be a whole number, got '3'"),
    (lambda: Stream.create(noop, size=Seven()), TypeError, "create: size must be a whole number, got seven" + INT),
    (lambda: Stream.create(noop, overflow="drop"), TypeError, "create: overflow must be an Overflow, got 'drop'"),
    (lambda: Stream.interval(0), ValueError, "interval: seconds must be > 0 and finite, got 0"),
    (lambda: Stream.interval(float("inf")), ValueError, "interval: seconds must be > 0 and finite, got inf"),
    (lambda: Stream.interval(float("nan")), ValueError, "interval: seconds must be > 0 and finite, got nan"),
    (lambda: Stream.interval("1"), TypeError, "interval: seconds must be seconds or a timedelta, got '1'"),
    (lambda: Stream.interval(10**400), ValueError, f"interval: seconds must be > 0 and finite, got {10**400}"),
    (lambda: Stream.interval(HALF), TypeError, DURATION + "Fraction(1, 2); float() makes seconds of it"),
    (lambda: Stream.interval(1, size=0), ValueError, "interval: size must be >= 1, got 0"),
    (lambda: Stream.range(3).end_with(create=5), TypeError, "end_with: create must be functions in a list, got 5"),
    (lambda: Stream.range(3).start_with(create=list), TypeError,
     "start_with: create must be functions in a list, got <class 'list'>"),
    (lambda: Stream.range(3).start_with(create=[5]), TypeError, "start_with: create must be callable, got 5"),
    (lambda: Resumption.of(5), TypeError, "Resumption.of: stream must be a Stream, got 5"),
    (lambda: Stream.range(3).map(5), TypeError, "map: fn must be callable, got 5"),
    (lambda: Stream.range(3).filter(NOTHING), TypeError, "filter: predicate must be callable, got None"),
    (lambda: Stream.range(3).flat_map(5), TypeError, "flat_map: fn must be callable, got 5"),
    (lambda: Stream.range(3).flat_map(5, concurrency=1), TypeError, "flat_map: fn must be callable, got 5"),
    (lambda: Stream.range(3).flat_map(str, concurrency=0), ValueError, "flat_map: concurrency must be >= 1, got 0"),
    (lambda: FROM.flat_map(str, concurrency=1, prefetch=0), ValueError, "flat_map: prefetch must be >= 1, got 0"),
    (lambda: Stream.range(3).map_async(5), TypeError, "map_async: fn must be callable, got 5"),
    (lambda: FROM.map_async(same, concurrency=0), ValueError, "map_async: concurrency must be >= 1, got 0"),
    (lambda: FROM.map_async(same, concurrency=[]), TypeError, "map_async: concurrency must be a whole number, got []"),
    (lambda: Stream.range(3).map_async(same, key=5), TypeError, "map_async: key must be callable, got 5"),
    (lambda: Stream.range(3).tap(5), TypeError, "tap: on_next must be callable, got 5"),
    (lambda: Stream.range(3).tap(on_error=5), TypeError, "tap: on_error must be callable, got 5"),
    (lambda: Stream.range(3).tap(on_cancel=5), TypeError, "tap: on_cancel must be callable, got 5"),
    (lambda: Stream.range(3).scan(5, 0), TypeError, "scan: fn must be callable, got 5"),
    (lambda: Stream.range(3).stateful_map(5, int), TypeError, "stateful_map: fn must be callable, got 5"),
    (lambda: Stream.range(3).stateful_map(noop, 0), TypeError, "stateful_map: create must be callable, got 0"),
    (lambda: Stream.range(3).take(-1), ValueError, "take: count must be >= 0, got -1"),
    (lambda: Stream.range(3).take("3"), TypeError, "take: count must be a whole number, got '3'"),
    (lambda: Stream.range(3).take(True), TypeError, "take: count must be a whole number, got True"),
    (lambda: Stream.range(3).take(1.0), TypeError, "take: count must be a whole number, got 1.0"),
    (lambda: Stream.range(3).take_while(5), TypeError, "take_while: predicate must be callable, got 5"),
    (lambda: Stream.range(3).skip(-1), ValueError, "skip: count must be >= 0, got -1"),
    (lambda: Stream.range(3).skip(NOTHING), TypeError, "skip: count must be a whole number, got None"),
    (lambda: Stream.range(3).drop_repeats(5), TypeError, "drop_repeats: key must be callable, got 5"),
    (lambda: Stream.range(3).buffer(0), ValueError, "buffer: count must be >= 1, got 0"),
    (lambda: Stream.range(3).buffer(-2), ValueError, "buffer: count must be >= 1, got -2"),
    (lambda: Stream.range(3).starmap(5), TypeError, "starmap: fn must be callable, got 5"),
    (lambda: Stream.range(3).of_type(5), TypeError, "of_type: kind must be a type, got 5"),
    (lambda: Stream.range(3).cast("int"), TypeError, "cast: kind must be a type, got 'int'"),
    (lambda: Stream.range(3).distinct(5), TypeError, "distinct: key must be callable, got 5"),
    (lambda: Stream.range(3).distinct(size=0), ValueError, "distinct: size must be >= 1, got 0"),
    (lambda: Stream.range(3).take_last(-1), ValueError, "take_last: count must be >= 0, got -1"),
    (lambda: Stream.range(3).skip_while(5), TypeError, "skip_while: predicate must be callable, got 5"),
    (lambda: Stream.range(3).skip_last("1"), TypeError, "skip_last: count must be a whole number, got '1'"),
    (lambda: Stream.range(3).element_at(-1), ValueError, "element_at: index must be >= 0, got -1"),
    (lambda: FROM.element_at(1, NOTHING), TypeError, "element_at: None is not an element (rule 2.13)"),
    (lambda: FROM.first(default=NOTHING), TypeError, "first: None is not an element (rule 2.13)"),
    (lambda: FROM.last(default=NOTHING), TypeError, "last: None is not an element (rule 2.13)"),
    (lambda: FROM.single(NOTHING), TypeError, "single: None is not an element (rule 2.13)"),
    (lambda: FROM.start_with(1, NOTHING), TypeError, "start_with: None is not an element (rule 2.13)"),
    (lambda: FROM.end_with(NOTHING), TypeError, "end_with: None is not an element (rule 2.13)"),
    (lambda: FROM.default_if_empty(NOTHING), TypeError, "default_if_empty: None is not an element (rule 2.13)"),
    (lambda: FROM.default_if_empty(), ValueError, "default_if_empty: items must be one element or more, got none"),
    (lambda: FROM.contains(NOTHING), TypeError, "contains: None is not an element (rule 2.13)"),
    (lambda: Stream.range(3).buffer(2, 0), ValueError, "buffer: step must be >= 1, got 0"),
    (lambda: Stream.range(3).buffer_until(5), TypeError, "buffer_until: predicate must be callable, got 5"),
    (lambda: Stream.range(3).buffer_until(bool, size=0), ValueError, "buffer_until: size must be >= 1, got 0"),
    (lambda: Stream.range(3).buffer_while(5), TypeError, "buffer_while: predicate must be callable, got 5"),
    (lambda: Stream.range(3).buffer_while(bool, size=0), ValueError, "buffer_while: size must be >= 1, got 0"),
    (lambda: Stream.range(3).split_when(5), TypeError, "split_when: predicate must be callable, got 5"),
    (lambda: Stream.range(3).split_when(max, size=0), ValueError, "split_when: size must be >= 1, got 0"),
    (lambda: Stream.range(3).sliding(0), ValueError, "sliding: count must be >= 1, got 0"),
    (lambda: Stream.range(3).sliding(2, 0), ValueError, "sliding: step must be >= 1, got 0"),
    (lambda: Stream.range(3).sum(NOTHING), TypeError, "sum: None is not an element (rule 2.13)"),
    (lambda: Stream.range(3).min(5), TypeError, "min: key must be callable, got 5"),
    (lambda: Stream.range(3).max(5), TypeError, "max: key must be callable, got 5"),
    (lambda: Stream.range(3).all(5), TypeError, "all: predicate must be callable, got 5"),
    (lambda: Stream.range(3).any(5), TypeError, "any: predicate must be callable, got 5"),
    (lambda: Stream.range(3).for_each(5), TypeError, "for_each: fn must be callable, got 5"),
    (lambda: Stream.range(3).to_dict(5), TypeError, "to_dict: key must be callable, got 5"),
    (lambda: Stream.range(3).to_dict(str, 5), TypeError, "to_dict: value must be callable, got 5"),
    (lambda: Stream.range(3).map_batches(5), TypeError, "map_batches: fn must be callable, got 5"),
    (lambda: Stream.range(3).map_batches(list, 0), ValueError, "map_batches: size must be >= 1, got 0"),
    (lambda: FROM.merge([1]), TypeError, "merge: each stream must be a Publisher, got [1]" + WRAP),
    (lambda: FROM.concat(5), TypeError, "concat: each stream must be a Publisher, got 5" + WRAP),
    (lambda: FROM.zip("ab"), TypeError, "zip: each stream must be a Publisher, got 'ab'" + WRAP),
    (lambda: Stream.range(3).merge(Stream.empty(), prefetch=0), ValueError, "merge: prefetch must be >= 1, got 0"),
    (lambda: Stream.range(3).zip(Stream.empty(), prefetch=-1), ValueError, "zip: prefetch must be >= 1, got -1"),
    (lambda: Stream.range(3).on_error_resume(5), TypeError, "on_error_resume: fn must be callable, got 5"),
    (lambda: Stream.range(3).retry(-1), ValueError, "retry: times must be >= 0, got -1"),
    (lambda: Stream.range(3).retry("3"), TypeError, "retry: times must be a whole number, got '3'"),
    (lambda: Stream.range(3).retry(backoff=-1), ValueError, "retry: backoff must be >= 0 and finite, got -1"),
    (lambda: Stream.range(3).do_finally(5), TypeError, "do_finally: fn must be callable, got 5"),
    (
        lambda: Stream.range(3).publish_on(5),
        TypeError,
        "publish_on: executor must be an Executor, got 5; thread(), pool(size), loop() and inline() make one",
    ),
    (lambda: Stream.range(3).publish_on(inline(), prefetch=0), ValueError, "publish_on: prefetch must be >= 1, got 0"),
    (lambda: Stream.range(3).subscribe_on(thread), TypeError, "subscribe_on: executor must be an Executor, got "),
    (lambda: Stream.range(3).timeout(0), ValueError, "timeout: seconds must be > 0 and finite, got 0"),
    (lambda: Stream.range(3).timeout(NOTHING), TypeError, "timeout: seconds must be seconds or a timedelta, got None"),
    (lambda: Stream.range(3).debounce(-1), ValueError, "debounce: seconds must be >= 0 and finite, got -1"),
    (lambda: Stream.timer(-1), ValueError, "timer: seconds must be >= 0 and finite, got -1"),
    (lambda: Stream.range(3).delay(-1), ValueError, "delay: seconds must be >= 0 and finite, got -1"),
    (lambda: Stream.range(3).delay(1, size=0), ValueError, "delay: size must be >= 1, got 0"),
    (lambda: FROM.delay_subscription(-1), ValueError, "delay_subscription: seconds must be >= 0 and finite, got -1"),
    (lambda: Stream.range(3).throttle(0), ValueError, "throttle: count must be >= 1, got 0"),
    (lambda: Stream.range(3).throttle(1, per=0), ValueError, "throttle: per must be > 0 and finite, got 0"),
    (lambda: FROM.throttle_first(-1), ValueError, "throttle_first: seconds must be >= 0 and finite, got -1"),
    (lambda: FROM.sample("1"), TypeError, "sample: every must be seconds, a timedelta or a Publisher, got '1'"),
    (lambda: FROM.keep_alive(0, 1), ValueError, "keep_alive: seconds must be > 0 and finite, got 0"),
    (lambda: FROM.keep_alive(1, NOTHING), TypeError, "keep_alive: None is not an element (rule 2.13)"),
    (lambda: Stream.range(3).timestamp(clock=5), TypeError, "timestamp: clock must be a Clock, got 5"),
    (lambda: Stream.range(3).time_interval(clock=5), TypeError, "time_interval: clock must be a Clock, got 5"),
    (lambda: Stream.range(3).buffer_timeout(0, 1), ValueError, "buffer_timeout: count must be >= 1, got 0"),
    (lambda: FROM.buffer_timeout(1, 0), ValueError, "buffer_timeout: seconds must be > 0 and finite, got 0"),
    (lambda: FROM.on_backpressure_buffer(0), ValueError, "on_backpressure_buffer: size must be >= 1, got 0"),
    (lambda: FROM.on_backpressure_drop(5), TypeError, "on_backpressure_drop: on_drop must be callable, got 5"),
    (lambda: Stream.range(3).conflate(5, max), TypeError, "conflate: seed must be callable, got 5"),
    (lambda: Stream.range(3).conflate(str, 5), TypeError, "conflate: fn must be callable, got 5"),
    (lambda: Stream.range(3).limit_rate(0), ValueError, "limit_rate: high must be >= 1, got 0"),
    (lambda: Stream.range(3).limit_rate(3, 3), ValueError, "limit_rate: low must be < 3, which is high, got 3"),
    (lambda: Stream.range(3).window(0), ValueError, "window: count must be >= 1, got 0"),
    (lambda: Stream.range(3).window(seconds=0), ValueError, "window: seconds must be > 0 and finite, got 0"),
    (lambda: Stream.range(3).group_by(5), TypeError, "group_by: key must be callable, got 5"),
    (lambda: Stream.range(3).group_by(str, groups=0), ValueError, "group_by: groups must be >= 1, got 0"),
    (lambda: Stream.range(3).group_by(str, size=0), ValueError, "group_by: size must be >= 1, got 0"),
    (lambda: Stream.range(3).share(size=0), ValueError, "share: size must be >= 1, got 0"),
    (lambda: Stream.range(3).share(slow="wait"), TypeError, "share: slow must be a Slow, got 'wait'"),
    (lambda: Stream.range(3).replay(0), ValueError, "replay: count must be >= 1, got 0"),
    (lambda: Stream.range(3).replay(1, size=0), ValueError, "replay: size must be >= 1, got 0"),
    (lambda: Stream.range(3).replay(1, slow=NOTHING), TypeError, "replay: slow must be a Slow, got None"),
    (lambda: Stream.range(3).reduce(5), TypeError, "reduce: fn must be callable, got 5"),
    (lambda: Stream.from_callable(5), TypeError, "from_callable: fn must be callable, got 5"),
    (lambda: Stream.using(5, list, bool), TypeError, "using: open must be callable, got 5"),
    (lambda: Stream.subject(size=0), ValueError, "subject: size must be >= 1, got 0"),
    (lambda: FROM.flat_map(str, prefetch=0), TypeError, TOGETHER),
    (lambda: FROM.concat_map(5), TypeError, "concat_map: fn must be callable, got 5"),
    (lambda: FROM.switch_map(5), TypeError, "switch_map: fn must be callable, got 5"),
    (lambda: FROM.expand(str, size=0), ValueError, "expand: size must be >= 1, got 0"),
    (lambda: FROM.combine_latest(5), TypeError, "combine_latest: each stream must be a Publisher, got 5" + WRAP),
    (lambda: FROM.with_latest_from(5), TypeError, "with_latest_from: each stream must be a Publisher, got 5" + WRAP),
    (lambda: FROM.race([1]), TypeError, "race: each stream must be a Publisher, got [1]" + WRAP),
    (lambda: FROM.switch_if_empty([1]), TypeError, "switch_if_empty: each stream must be a Publisher, got [1]" + WRAP),
    (lambda: FROM.take_until(5), TypeError, "take_until: each stream must be a Publisher, got 5" + WRAP),
    (lambda: FROM.skip_until(5), TypeError, "skip_until: each stream must be a Publisher, got 5" + WRAP),
    (lambda: FROM.merge_sorted(FROM, key=5), TypeError, "merge_sorted: key must be callable, got 5"),
    (lambda: FROM.interleave(FROM, count=0), ValueError, "interleave: count must be >= 1, got 0"),
    (lambda: FROM.sequence_equal(FROM, 5), TypeError, "sequence_equal: equal must be callable, got 5"),
    (lambda: FROM.join(FROM, 5), TypeError, "join: key must be callable, got 5"),
    (lambda: FROM.join(FROM, str, size=0), ValueError, "join: size must be >= 1, got 0"),
    (lambda: FROM.partition(5), TypeError, "partition: predicate must be callable, got 5"),
    (lambda: FROM.parallel(0, list), TypeError, "parallel: flow must return a stream made from its argument, got []"),
    (lambda: FROM.on_error_return(NOTHING), TypeError, "on_error_return: None is not an element (rule 2.13)"),
    (lambda: FROM.map_error(5), TypeError, "map_error: fn must be callable, got 5"),
    (lambda: FROM.repeat(-1), ValueError, "repeat: times must be >= 0, got -1"),
    (lambda: FROM.retry(jitter=2), ValueError, "retry: jitter must be between 0 and 1, got 2"),
    (lambda: FROM.publish(size=0), ValueError, "publish: size must be >= 1, got 0"),
    (lambda: FROM.cache(size=0), ValueError, "cache: size must be >= 1, got 0"),
    (lambda: FROM.observed(Recorder(), clock=5), TypeError, "observe: clock must be a Clock, got 5"),
    (lambda: FROM.map(Doubling()), TypeError, "map: fn must not be a coroutine function, got doubling" + AWAITS),
    (lambda: CLOCK.advance("1"), TypeError, "advance: seconds must be seconds or a timedelta, got '1'"),
    (lambda: flow(5), TypeError, "flow: fn must be a function from Stream to Stream, got 5"),
    (lambda: processor(5), TypeError, "processor: flow must be a Flow, got 5"),
    (lambda: subscriber(5), TypeError, "subscriber: sink must be a Sink, got 5"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_a_wrong_argument_is_refused(call: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        call()
    assert type(refusal.value) is kind
    assert str(refusal.value) == message or (message.endswith("got ") and str(refusal.value).startswith(message))


# Subscribers.

PUBLISHERS: dict[str, Callable[[], Any]] = {
    "stream": lambda: Stream.range(3),
    "processor": lambda: processor(flow(lambda stream: stream.map(str))),
    "any publisher": lambda: AnyPublisher(Stream.range(3)),
}


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_subscriber_is_needed(name: str) -> None:
    with pytest.raises(TypeError, match=r"^rule 1\.9: subscribe\(None\): "):
        PUBLISHERS[name]().subscribe(None)


def test_what_is_no_subscriber_is_refused() -> None:
    message = r"^rule 1\.9: subscribe\(5\): a subscriber has on_subscribe, on_next, on_error and on_complete$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).subscribe(5)  # type: ignore[arg-type]


# Requests.

REQUESTS: dict[Any, str] = {
    0: "ValueError('rule 3.9: request(0): a request must be positive')",
    -1: "ValueError('rule 3.9: request(-1): a request must be positive')",
    -(2**70): f"ValueError('rule 3.9: request({-(2**70)}): a request must be positive')",
    "3": """TypeError("rule 3.9: request('3'): a request must be a whole number, got str")""",
    True: "TypeError('rule 3.9: request(True): a request must be a whole number, got bool')",
    1.5: "TypeError('rule 3.9: request(1.5): a request must be a whole number, got float')",
    Fraction(1, 2): "TypeError('rule 3.9: request(Fraction(1, 2)): a request must be a whole number, got Fraction')",
    None: "TypeError('rule 3.9: request(None): a request must be a whole number, got NoneType')",
}


@pytest.mark.parametrize("n", REQUESTS, ids=repr)
@pytest.mark.parametrize("name", RUNS)
def test_an_illegal_request_fails_the_stream(name: str, n: Any) -> None:
    ends: list[Exception] = []
    probe: Probe[Any] = Probe(on_signal=lambda signal: ends.append(signal.error) if probe.error else None)
    RUNS[name]().subscribe(probe)
    probe.request(2)
    probe.wait_for(2)
    assert probe.subscription is not None
    probe.subscription.request(n)
    probe.wait_for_end()
    assert [repr(error) for error in ends] == [REQUESTS[n]]
    assert len(probe.elements) == 2
    assert probe.breaches == []
    probe.subscription.request(n)
    probe.subscription.request(5)
    probe.cancel()
    assert len(ends) == 1


@pytest.mark.parametrize("name", RUNS)
def test_a_whole_number_of_another_make_is_legal(name: str) -> None:
    probe = subscribed(RUNS[name]())
    probe.requested = 7
    assert probe._subscription("request") is probe.subscription
    probe.subscription.request(Seven())  # type: ignore[union-attr, arg-type]
    probe.wait_for(7)
    probe.cancel()
    assert len(probe.elements) == 7


# None is not an element, wherever it comes from.

NO_ELEMENT = repr(no_element())
NONES: dict[str, Callable[[], Stream[Any]]] = {
    "from_iterable": lambda: Stream.from_iterable([0, NOTHING]),
    "from_async_iterable": lambda: Stream.from_async_iterable(Items(1)).concat(Stream.from_iterable([NOTHING])),
    "generate": lambda: Stream.generate(0, lambda n: (NOTHING, n)),
    "defer": lambda: Stream.defer(lambda: [NOTHING]),
    "map": lambda: Stream.range(3).map(noop),
    "map behind a joint": lambda: Stream.range(3).do_finally(noop).map(noop),
    "map over an asynchronous source": lambda: Stream.from_async_iterable(Items(3)).map(noop),
    "flat_map": lambda: Stream.range(3).flat_map(lambda _: [NOTHING]),
    "flat_map of publishers": lambda: Stream.range(3).flat_map(lambda _: [NOTHING], concurrency=1),
    "flatten": lambda: Stream.just([1, NOTHING]).flatten(),
    "starmap": lambda: Stream.just((1,)).starmap(noop),
    "map_batches": lambda: Stream.range(3).map_batches(lambda _: [NOTHING]),
    "dematerialize": lambda: Stream.just(Next(NOTHING)).dematerialize(),
    "scan": lambda: Stream.range(3).scan(noop, 0),
    "stateful_map": lambda: Stream.range(3).stateful_map(lambda state, _: (state, NOTHING), int),
    "reduce": lambda: Stream.range(3).reduce(noop),
    "reduce from nothing": lambda: Stream.empty().reduce(noop, NOTHING),
    "on_error_resume": lambda: Stream.error(KeyError("lost")).on_error_resume(lambda _: [NOTHING]),
    "concat": lambda: Stream.range(2).concat(Stream.from_iterable([NOTHING])),
    "merge": lambda: Stream.range(2).do_finally(noop).merge(Stream.from_iterable([NOTHING])),
    "from_callable": lambda: Stream.from_callable(noop),
    "from_awaitable": lambda: Stream.from_awaitable(lambda: nothing(0)),
    "using": lambda: Stream.using(object, lambda _: [NOTHING], noop),
    "concat_map": lambda: Stream.range(3).concat_map(lambda _: [NOTHING]),
    "switch_map": lambda: Stream.range(3).switch_map(lambda _: [NOTHING]),
    "expand": lambda: Stream.range(3).expand(lambda _: [NOTHING]),
    "expand of publishers": lambda: Stream.range(3).expand(lambda _: [NOTHING], concurrency=1),
    "combine_latest": lambda: Stream.range(2).combine_latest(Stream.from_iterable([NOTHING])),
    "merge_sorted": lambda: Stream.range(2).merge_sorted(Stream.from_iterable([NOTHING])),
    "interleave": lambda: Stream.range(2).do_finally(noop).interleave(Stream.from_iterable([NOTHING])),
    "join": lambda: Stream.range(2).join(Stream.from_iterable([NOTHING]), str),
    "parallel": lambda: Stream.range(2).parallel(2, lambda rail: rail.map(noop)),
    "on_error_return": lambda: Stream.error(KeyError("lost")).on_error_return(fn=noop),
    "zip": lambda: Stream.range(2).zip(Stream.from_iterable([NOTHING])),
}


@pytest.mark.parametrize("name", NONES)
def test_none_is_not_an_element(name: str) -> None:
    probe = ended(NONES[name]())
    assert repr(probe.error) == NO_ELEMENT
    assert None not in probe.elements
    with pytest.raises(TypeError) as failure:
        list(NONES[name]())
    assert repr(failure.value) == NO_ELEMENT


def test_an_emitter_refuses_none() -> None:
    refusals: list[str] = []

    def attach(emitter: Any) -> None:
        for call in (lambda: emitter.emit(None), lambda: emitter.fail(None), lambda: emitter.fail("lost")):
            try:
                call()
            except TypeError as error:
                refusals.append(str(error))
        emitter.complete()

    assert list(Stream.create(attach)) == []
    assert refusals == [
        "emit: None is not an element (rule 2.13)",
        "fail: error must be an Exception, got None",
        "fail: error must be an Exception, got 'lost'",
    ]


# Sources that cannot be slowed.


def test_an_emitter_says_what_became_of_an_element() -> None:
    emitters: list[Any] = []
    stream: Stream[int] = Stream.create(emitters.append, size=1)
    probe = subscribed(stream)
    assert emitters[0].emit(1) is EmitResult.OK
    assert emitters[0].emit(2) is EmitResult.OVERFLOW
    probe.cancel()
    assert emitters[0].emit(3) is EmitResult.CANCELLED
    subscribed(stream)
    emitters[1].complete()
    assert emitters[1].emit(4) is EmitResult.TERMINATED


@pytest.mark.parametrize("operator", ["create", "interval"])
def test_a_source_that_outruns_its_bound_fails(operator: str) -> None:
    clock = VirtualClock()
    emitters: list[Any] = []
    stream: Stream[int] = (
        Stream.create(emitters.append, overflow=Overflow.ERROR, size=2)
        if operator == "create"
        else Stream.interval(1.0, overflow=Overflow.ERROR, size=2, clock=clock)
    )
    probe = subscribed(stream)
    for n in range(3):
        if operator == "create":
            emitters[0].emit(n)
        clock.advance(1.0)
    probe.request(5)
    assert probe.elements == [0, 1]
    assert type(probe.error) is OverflowedError
    assert str(probe.error) == f"{operator}: 2 elements wait and another came; no subscriber asks for them"
    clock.advance(10.0)
    assert clock.pending == 0


@pytest.mark.parametrize("operator", ["share", "replay"])
def test_a_subscriber_that_falls_behind_fails(operator: str) -> None:
    source = Stream.range(10)
    stream = source.share(size=2, slow=Slow.ERROR) if operator == "share" else source.replay(1, size=2)
    upstream = Stream.defer(lambda: stream)
    slow = subscribed(upstream)
    fast = subscribed(upstream, 10)
    assert len(fast.elements) == 10 - (0 if fast.elements[0] == 0 else fast.elements[0])
    slow.request(10)
    assert type(slow.error) is OverflowedError
    assert str(slow.error) == f"{operator}: this subscriber is 2 elements behind the fastest one"
