"""depth: a thousand operators subscribe, run, fail and are cancelled on a flat stack."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Flow, Recorder, Stream, VirtualClock, flow, inline, pool, thread
from penstock.testing import ManualPublisher, Probe, subscribed
from tests.engine.parts import Items, Plain, ended, in_thread, noop
from tests.engine.watch import PATIENCE

HOW_MANY = 1_000
FLAT = 500
"""No signal may come deeper in the stack than this, wherever it comes from."""

Step = Callable[[Stream[Any]], Stream[Any]]
CLOCK = VirtualClock()


def same(n: Any) -> Any:
    return n


STAGES: dict[str, Step] = {
    "map": lambda stream: stream.map(same),
    "filter": lambda stream: stream.filter(lambda _: True),
    "take": lambda stream: stream.take(10),
    "flat_map": lambda stream: stream.flat_map(lambda n: (n,)),
    "scan": lambda stream: stream.scan(lambda _, n: n, 0),
    "stateful_map": lambda stream: stream.stateful_map(lambda _, n: (n, n), int),
    "drop_repeats": lambda stream: stream.drop_repeats(),
    "buffer and flatten": lambda stream: stream.buffer(2).flatten(),
    "flat_map and take": lambda stream: stream.flat_map(lambda n: (n,)).take(10),
    "take and flat_map": lambda stream: stream.take(10).flat_map(lambda n: (n,)),
    "enumerate and map": lambda stream: stream.enumerate().map(lambda pair: pair[1]),
    "to_list and flatten": lambda stream: stream.to_list().flatten(),
}
JOINTS: dict[str, Step] = {
    "on_error_resume": lambda stream: stream.on_error_resume(Stream.error),
    "do_finally": lambda stream: stream.do_finally(noop),
    "publish_on": lambda stream: stream.publish_on(inline(), prefetch=2),
    "timeout": lambda stream: stream.timeout(60.0, clock=CLOCK),
    "throttle": lambda stream: stream.throttle(9, 60.0, clock=CLOCK),
    "keep_alive": lambda stream: stream.keep_alive(60.0, -1, clock=CLOCK),
    "limit_rate": lambda stream: stream.limit_rate(2),
    "buffer_timeout and flatten": lambda stream: stream.buffer_timeout(1, 60.0, clock=CLOCK).flatten(),
    "on_backpressure_buffer": lambda stream: stream.on_backpressure_buffer(9),
    "group_by and flat_map": lambda stream: stream.group_by(lambda _: 0, clock=CLOCK).flat_map(same, concurrency=1),
    "window and flat_map": lambda stream: stream.window(2, clock=CLOCK).flat_map(same, concurrency=1),
    "tap": lambda stream: stream.tap(on_request=noop, on_cancel=noop),
    "flat_map": lambda stream: stream.flat_map(lambda n: Stream.just(n), concurrency=1),
    "on_error_return": lambda stream: stream.on_error_return(-1, when=KeyError),
    "on_error_complete": lambda stream: stream.on_error_complete(when=KeyError),
    "map_error": lambda stream: stream.map_error(same),
    "concat_map": lambda stream: stream.concat_map(lambda n: Stream.just(n)),
    "expand": lambda stream: stream.expand(lambda _: Stream.empty(), concurrency=1),
    "parallel": lambda stream: stream.parallel(1, lambda rail: rail.map(same), executor=inline(), prefetch=2),
    "do_finally and map": lambda stream: stream.do_finally(noop).map(same),
    "publish_on and buffer": lambda stream: stream.publish_on(inline(), prefetch=4).buffer(1).flatten(),
    "timeout and flat_map": lambda stream: stream.timeout(60.0, clock=CLOCK).flat_map(lambda n: (n,)),
}
NESTED: dict[str, Step] = {
    "merge": lambda stream: stream.merge(Stream.empty(), prefetch=1).map(same),
    "concat": lambda stream: stream.concat(Stream.empty()).map(same),
    "retry": lambda stream: stream.retry(0),
    "zip": lambda stream: stream.zip(Stream.range(9), prefetch=1).map(lambda pair: pair[0]),
    "share": lambda stream: stream.share(),
    "defer": lambda stream: Stream.defer(lambda: stream),
    "from_publisher": Stream.from_publisher,
    "subscribe_on": lambda stream: stream.subscribe_on(inline()),
    "combine_latest": lambda stream: Stream.just(0).combine_latest(stream, prefetch=1).map(lambda pair: pair[1]),
    "with_latest_from": lambda stream: stream.with_latest_from(Stream.just(0)).map(lambda pair: pair[0]),
    "race": lambda stream: Stream.never().race(stream.map(same)).map(same),
    "switch_if_empty": lambda stream: stream.switch_if_empty(Stream.just(9)),
    "take_until": lambda stream: stream.take_until(Stream.never()),
    "skip_until": lambda stream: stream.skip_until(Stream.just(0)),
    "merge_sorted": lambda stream: stream.merge_sorted(Stream.empty(), prefetch=1),
    "interleave": lambda stream: stream.interleave(Stream.empty(), prefetch=1),
    "join": lambda stream: stream.join(Stream.just(0), lambda _: 0, prefetch=1).map(lambda pair: pair[0]),
    "partition": lambda stream: stream.partition(lambda _: True)[0],
    "cache": lambda stream: stream.cache(),
    "repeat": lambda stream: stream.repeat(1),
    "using": lambda stream: Stream.using(object, lambda _: stream, noop),
    "switch_map": lambda stream: Stream.just(0).switch_map(lambda _: stream),
    "checked": lambda stream: stream.checked(),
    "retry behind joints": lambda stream: stream.do_finally(noop).timeout(60.0, clock=CLOCK).map(same).retry(0),
}
ALL = {
    **{f"stage: {name}": step for name, step in STAGES.items()},
    **{f"joint: {name}": step for name, step in JOINTS.items()},
    **{f"nested: {name}": step for name, step in NESTED.items()},
}
SLOWER = {"nested: checked": 200, "nested: retry behind joints": 250}
each = pytest.mark.parametrize("name", ALL)


def high(name: str, stream: Stream[Any]) -> Stream[Any]:
    """Put a thousand steps on a stream; half as many where a step is two."""
    for _ in range(SLOWER.get(name, HOW_MANY // (2 if " and " in name else 1))):
        stream = ALL[name](stream)
    return stream


def depth() -> int:
    frame: Any = sys._getframe()
    found = 0
    while frame is not None:
        frame, found = frame.f_back, found + 1
    return found


def test_the_recursion_limit_is_the_usual_one() -> None:
    assert sys.getrecursionlimit() == 1000


@each
def test_runs_and_completes(name: str) -> None:
    here = depth()
    depths: list[int] = []
    subscriber = Plain(2, lambda _: depths.append(depth() - here))
    high(name, Stream.range(3)).subscribe(subscriber)
    assert subscriber.subscription is not None
    subscriber.subscription.request(5)
    assert subscriber.signals == [0, 1, 2, "complete"]
    assert max(depths) < FLAT


@each
def test_fails(name: str) -> None:
    probe = ended(high(name, Stream.just(1, 0).map(lambda n: 6 // n)))
    assert repr(probe.error) == "ZeroDivisionError('integer division or modulo by zero')"


@each
def test_is_cancelled(name: str) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    here = depth()
    depths: list[int] = []
    stream = Stream.from_publisher(upstream).tap(on_cancel=lambda: depths.append(depth() - here))
    probe: Probe[Any] = Probe(1)
    high(name, stream).subscribe(probe)
    upstream.next(0)
    assert probe.elements == ([] if "buffer and" in name or "to_list" in name else [0])
    probe.cancel()
    assert upstream.cancelled
    assert max(depths) < FLAT


@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith("stage")])
def test_is_cancelled_before_the_first_request(name: str) -> None:
    cancelled: list[str] = []
    probe: Probe[Any] = Probe()
    high(name, Stream.never().tap(on_cancel=lambda: cancelled.append("cancel"))).subscribe(probe)
    probe.cancel()
    opened = "switch_map" not in name  # which makes a stream of an element, and nothing is read unasked
    assert cancelled == ["cancel"] * opened
    assert probe.signals == []


@each
def test_is_iterated_on_a_small_stack(name: str) -> None:
    stream = high(name, Stream.range(3))

    def run() -> None:
        assert list(stream) == [0, 1, 2]

    # Nothing as deep as the stream is freed there, so the collector waits too: Python 3.13 frees nested values, tuples
    # of tuples as well, by up to 10,000 calls inside each other, for which it needs a larger stack itself.
    gc.disable()
    try:
        in_thread(run, stack=256 * 1024)
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "name", [f"stage: {name}" for name in ("map", "take", "flat_map and take", "buffer and flatten")]
)
def test_runs_over_an_asynchronous_source(name: str) -> None:
    assert ended(high(name, Stream.from_async_iterable(Items(3)))).elements == [0, 1, 2]


@pytest.mark.parametrize("executor", [thread(), pool(2)], ids=["thread", "pool"])
def test_a_hundred_boundaries(executor: Any) -> None:
    stream: Stream[int] = Stream.range(500)
    for _ in range(100):
        stream = stream.publish_on(executor, prefetch=4)
    assert list(stream) == list(range(500))


async def later(n: int) -> int:
    return n


def test_hundreds_of_asynchronous_functions() -> None:
    here = depth()
    depths: list[int] = []

    def asked(items: Items) -> Stream[int]:
        stream = Stream.from_iterable(items).tap(on_request=lambda _: depths.append(depth() - here))
        for _ in range(300):  # of which each reads ahead
            stream = stream.map_async(later, concurrency=1)
        return stream

    probe = ended(asked(Items(3, next=LookupError("no more"))))
    assert probe.elements == [0, 1, 2]
    assert repr(probe.error) == "LookupError('no more')"
    endless = Items()
    probe = subscribed(asked(endless), 1)
    probe.wait_for(1)
    probe.cancel()
    assert endless.was_closed.wait(PATIENCE)
    assert max(depths) < FLAT


def test_watched_two_hundred_times_over() -> None:
    here = depth()
    depths: list[int] = []
    stream = Stream.range(3).tap(on_request=lambda _: depths.append(depth() - here))
    for _ in range(200):
        stream = stream.observed(Recorder())
    assert ended(stream).elements == [0, 1, 2]
    assert max(depths) < FLAT


def test_a_thousand_retries() -> None:
    attempts = iter(range(1_200))

    def attempt() -> Stream[int]:
        number = next(attempts)
        return Stream.just(number) if number == 1_100 else Stream.error(KeyError(number))

    assert ended(Stream.defer(attempt).retry()).elements == [1_100]


def test_a_thousand_streams_one_after_the_other() -> None:
    stream: Stream[int] = Stream.empty().do_finally(noop)
    assert ended(stream.concat(*[Stream.just(n).do_finally(noop) for n in range(1_000)])).elements == list(range(1_000))


def test_a_thousand_replacements() -> None:
    def again(error: Exception) -> Stream[str]:
        number = int(str(error))
        if number == 1_000:
            return Stream.just("well")
        return Stream.error(ValueError(number + 1)).on_error_resume(again)

    assert ended(Stream.error(ValueError(0)).on_error_resume(again)).elements == ["well"]


def test_replacements_that_come_one_by_one() -> None:
    """Each is subscribed when the stack is empty, so only the height of the tower can tell that it is too high."""
    clock = VirtualClock()

    def again(number: int) -> Stream[int]:
        late = Stream.never().timeout(1.0, clock=clock)
        return late.on_error_resume(lambda _: Stream.range(3) if number == 400 else again(number + 1))

    probe: Probe[int] = Probe(5)
    again(0).subscribe(probe)
    clock.advance(500.0)
    assert probe.elements == [0, 1, 2]
    assert probe.completed


def test_demand_one_by_one_keeps_the_stack_flat() -> None:
    here = depth()
    depths: list[int] = []

    def one_more(_: Any) -> None:
        depths.append(depth() - here)
        assert subscriber.subscription is not None
        subscriber.subscription.request(1)

    subscriber = Plain(1, one_more)
    Stream.range(5_000).map(same).do_finally(noop).publish_on(inline()).merge(Stream.empty()).subscribe(subscriber)
    assert len(depths) == 5_000
    assert max(depths) < 100


def test_a_flow_of_a_thousand_steps() -> None:
    made: Flow[int, int] = flow(lambda stream: high("nested: retry", stream))
    assert ended(Stream.range(3) | made).elements == [0, 1, 2]


def test_loops_inside_loops_on_one_thread() -> None:
    """A function may iterate a stream of its own, which must not wait for the work it is part of."""

    def inner(n: int, levels: int) -> int:
        if not levels:
            return n
        stream: Stream[int] = Stream.just(n).publish_on(inline()).retry(0)
        return sum(stream.map(lambda m: inner(m, levels - 1)))

    assert inner(7, 15) == 7
