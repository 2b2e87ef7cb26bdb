"""leaks: threads, tasks, iterators and subscribers are counted before and after every kind of run and every exit."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from penstock import (
    Recorder,
    Sink,
    Slow,
    Stream,
    Subscription,
    SystemClock,
    flow,
    inline,
    loop,
    pool,
    processor,
    subscriber,
    thread,
)
from tests.engine.parts import FORMS, Items, noop
from tests.engine.watch import PATIENCE, dropped, forgotten, left_alive, no_thread_is_left

__all__ = ["dropped", "forgotten", "no_thread_is_left"]


SOMETHING: ContextVar[int] = ContextVar("something")
QUIET = logging.getLogger("penstock.leaks")
QUIET.setLevel(logging.INFO)
QUIET.addFilter(lambda _: False)  # pytest keeps what it sees in a log, elements included


async def same(n: Any) -> Any:
    await asyncio.sleep(0)
    return n


def both_sides(stream: Stream[Any]) -> Stream[Any]:
    some, others = stream.partition(lambda n: id(n) % 64 > 31)
    return some.merge(others, prefetch=4)


# Each puts one kind of joint, boundary or source over an upstream.
RUNS: dict[str, Callable[[Stream[Any]], Stream[Any]]] = {
    "nothing": lambda stream: stream,
    "stages": lambda stream: stream.map(lambda n: n).filter(lambda _: True).buffer(1).flatten(),
    "stages that hold": lambda stream: stream.start_with(0).skip_last(2).sliding(2).map_batches(list, 3),
    "materialize": lambda stream: stream.materialize(),
    "materialize and back": lambda stream: stream.do_finally(noop).materialize().dematerialize(),
    "do_finally": lambda stream: stream.do_finally(noop),
    "tap": lambda stream: stream.tap(noop, on_request=noop),
    "on_error_resume": lambda stream: stream.on_error_resume(Stream.error),
    "timeout": lambda stream: stream.timeout(3600.0, clock=SystemClock()),
    "debounce": lambda stream: stream.debounce(0.0, clock=SystemClock()),
    "delay": lambda stream: stream.delay(0.0, size=4, clock=SystemClock()),
    "delay_subscription": lambda stream: stream.delay_subscription(0.0, clock=SystemClock()),
    "throttle": lambda stream: stream.throttle(100, 0.001, clock=SystemClock()),
    "keep_alive": lambda stream: stream.keep_alive(3600.0, 0, clock=SystemClock()),
    "buffer_timeout": lambda stream: stream.buffer_timeout(3, 3600.0, clock=SystemClock()),
    "limit_rate": lambda stream: stream.limit_rate(3),
    "on_backpressure_buffer": lambda stream: stream.on_backpressure_buffer(100),
    "on_backpressure_drop": lambda stream: stream.on_backpressure_drop(),
    "on_backpressure_latest": lambda stream: stream.on_backpressure_latest(),
    "conflate": lambda stream: stream.conflate(lambda n: [n], lambda some, n: [*some, n]),
    "group_by": lambda stream: stream.group_by(lambda n: id(n) % 64 > 31, size=8).flat_map(
        lambda group: group, concurrency=2, prefetch=2
    ),
    "group_by on threads": lambda stream: stream.group_by(lambda n: id(n) % 64 > 31, size=8).flat_map(
        lambda group: group.publish_on(thread(), prefetch=2), concurrency=2, prefetch=2
    ),
    "window": lambda stream: stream.window(4, size=8).flat_map(lambda window: window, concurrency=1),
    "window of time": lambda stream: stream.window(seconds=3600.0, clock=SystemClock()).flat_map(
        lambda window: window, concurrency=1
    ),
    "window until": lambda stream: stream.window(until=Stream.never()).flat_map(lambda window: window, concurrency=1),
    "publish_on inline": lambda stream: stream.publish_on(inline(), prefetch=4),
    "publish_on thread": lambda stream: stream.publish_on(thread(), prefetch=4),
    "publish_on pool": lambda stream: stream.publish_on(pool(2), prefetch=4),
    "publish_on loop": lambda stream: stream.publish_on(loop(), prefetch=4),
    "stages behind a thread": lambda stream: stream.publish_on(thread(), prefetch=4).map(lambda n: n),
    "two threads": lambda stream: stream.publish_on(thread(), prefetch=4).publish_on(thread(), prefetch=4),
    "subscribe_on thread": lambda stream: stream.subscribe_on(thread()),
    "subscribe_on loop": lambda stream: stream.subscribe_on(loop()),
    "both": lambda stream: stream.subscribe_on(thread()).publish_on(thread(), prefetch=4),
    "map_async": lambda stream: stream.map_async(same, concurrency=3),
    "map_async unordered": lambda stream: stream.map_async(same, concurrency=3, ordered=False, key=lambda n: n),
    "flat_map": lambda stream: stream.flat_map(lambda n: Stream.just(n), concurrency=2),
    "flat_map on a thread": lambda stream: stream.flat_map(
        lambda n: Stream.just(n).publish_on(thread()), concurrency=2
    ),
    "flat_map on a loop": lambda stream: stream.flat_map(lambda _: Stream.from_async_iterable(Items(1)), concurrency=2),
    "merge": lambda stream: stream.do_finally(noop).merge(Stream.empty()),
    "merge with a thread": lambda stream: stream.merge(Stream.never().publish_on(thread())).take(3),
    "concat": lambda stream: stream.do_finally(noop).concat(Stream.empty()),
    "zip": lambda stream: stream.do_finally(noop).zip(Stream.range(1_000), prefetch=2),
    "zip with a thread": lambda stream: stream.zip(Stream.range(1_000).publish_on(thread()), prefetch=2),
    "share": lambda stream: stream.share(size=4),
    "replay": lambda stream: stream.replay(2, size=4, slow=Slow.DROP),
    "cache": lambda stream: stream.cache(),
    "partition": lambda stream: stream.partition(lambda n: True)[0],
    "both sides of a partition": lambda stream: both_sides(stream),
    "parallel": lambda stream: stream.parallel(2, lambda rail: rail.map(lambda n: n), prefetch=4),
    "parallel on threads": lambda stream: stream.parallel(
        2, lambda rail: rail.map(lambda n: n), executor=thread(), ordered=False, prefetch=4
    ),
    "on_error_return": lambda stream: stream.map_error(lambda error: error).on_error_return(0, when=KeyError),
    "on_error_complete": lambda stream: stream.on_error_complete(when=KeyError),
    "repeat": lambda stream: stream.do_finally(noop).repeat(1),
    "using": lambda stream: Stream.using(object, lambda _: stream, noop),
    "using signals": lambda stream: Stream.using(object, lambda _: stream.do_finally(noop), noop),
    "concat_map": lambda stream: stream.concat_map(lambda n: Stream.just(n).do_finally(noop)),
    "concat_map of one": lambda stream: Stream.just(0).concat_map(lambda _: stream),
    "switch_map": lambda stream: Stream.just(0).switch_map(lambda _: stream, prefetch=4),
    "expand": lambda stream: stream.expand(lambda n: Stream.empty(), concurrency=2),
    "combine_latest": lambda stream: Stream.just(0).do_finally(noop).combine_latest(stream, prefetch=4),
    "with_latest_from": lambda stream: stream.do_finally(noop).with_latest_from(Stream.just(0).concat(Stream.never())),
    "race": lambda stream: Stream.never().race(stream),
    "switch_if_empty": lambda stream: Stream.empty().do_finally(noop).switch_if_empty(stream),
    "take_until": lambda stream: stream.take_until(Stream.never()).skip_until(Stream.just(0)),
    "merge_sorted": lambda stream: stream.do_finally(noop).merge_sorted(Stream.empty(), key=id, prefetch=4),
    "interleave": lambda stream: stream.do_finally(noop).interleave(Stream.empty(), prefetch=4),
    "interleave with a thread": lambda stream: stream.interleave(Stream.never().publish_on(thread())).take(1),
    "join": lambda stream: stream.do_finally(noop).join(Stream.range(3), noop, prefetch=4),
    "retry": lambda stream: stream.retry(0),
    "defer": lambda stream: Stream.defer(lambda: stream),
    "from_publisher": Stream.from_publisher,
    "checked": lambda stream: stream.checked(),
    "checkpoint": lambda stream: stream.do_finally(noop).checkpoint("here"),
    "log": lambda stream: stream.log("leaks"),
    "metrics": lambda stream: stream.metrics("leaks"),
    "observed": lambda stream: stream.map(lambda n: n).do_finally(noop).map(lambda n: n).observed(Recorder()),
    "with_context": lambda stream: stream.with_context({SOMETHING: 1}),
    "thirty joints": lambda stream: thirty(stream),
}
WAYS = ("completion", "error", "cancel", "cancel at once", "take", "request(0)", "subscriber raises")


def thirty(stream: Stream[Any]) -> Stream[Any]:
    for _ in range(30):
        stream = stream.do_finally(noop)
    return stream


class Failing(Items):
    """Fail with an error of its own each time: one that is kept would keep all the frames it has passed."""

    def take(self, place: int) -> int | None:
        if place == self.count:
            raise LookupError("lost")
        return super().take(place)


def items_for(way: str) -> Items:
    return Failing(30) if way == "error" else Items(30)


class Watched:
    """Be a subscriber that can be watched as it is let go of; it tells what happens to an event alone."""

    def __init__(self, way: str, happened: threading.Event) -> None:
        self.way = way
        self.happened = happened
        self.count = 0
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = subscription
        if self.way == "cancel at once":
            subscription.request(1)
            subscription.cancel()
            self.happened.set()
        else:
            subscription.request(2 if self.way in {"cancel", "request(0)"} else 1_000)

    def on_next(self, element: Any, /) -> None:
        assert self.subscription is not None
        self.count += 1
        if self.way == "cancel" and self.count == 2:
            self.subscription.cancel()
            self.happened.set()
        elif self.way == "request(0)" and self.count == 2:
            self.subscription.request(0)
        elif self.way == "subscriber raises":
            self.happened.set()
            raise ArithmeticError("subscriber")

    def on_error(self, error: Exception, /) -> None:
        self.happened.set()

    def on_complete(self) -> None:
        self.happened.set()


def upstream(form: str, way: str, name: str) -> tuple[Items, Stream[Any]]:
    items = items_for(way)
    stream = RUNS[name](FORMS[form](items))
    return items, stream.take(3) if way == "take" else stream


def silent(name: str, way: str) -> bool:
    """Tell whether this run gives fewer than two elements before its end."""
    return name == "debounce" and way in {"cancel", "request(0)", "subscriber raises", "take"}


KEPT_FOR_LATER = {("partition", "error"), ("both sides of a partition", "error")}
CASES = [
    (name, form, way)
    for name in RUNS
    for form in ("sync", "async")
    for way in WAYS
    # replay and a side of a partition keep the error for those who come later, and the log keeps what a checked
    # subscriber raises
    if (name, way) not in {("replay", "error"), ("checked", "subscriber raises"), *KEPT_FOR_LATER}
]


@pytest.mark.parametrize(("name", "form", "way"), CASES)
@pytest.mark.usefixtures("forgotten")
def test_nothing_is_left_behind(name: str, form: str, way: str) -> None:
    """The subscriber dies although the subscription is kept (rule 3.13), threads end, the source is closed once."""
    before = set(threading.enumerate())
    items, stream = upstream(form, way, name)
    happened = threading.Event()
    watched = Watched(way, happened)
    stream.subscribe(watched)
    if silent(name, way):
        wait_for_end_of(items)
    assert happened.wait(PATIENCE) or silent(name, way)
    kept = watched.subscription
    gone = threading.Event()
    dead = weakref.ref(watched, lambda _: gone.set())
    if silent(name, way) and kept is not None:
        kept.cancel()
    del watched
    assert left_alive(before) == []
    if items.opened:
        wait_for_end_of(items)  # on a loop, perhaps, that others keep
    assert items.opened == items.closed
    assert died(dead) or gone.wait(PATIENCE), gc.get_referrers(dead())
    assert stream is not None
    if kept is not None:
        kept.request(5)
        kept.cancel()


def wait_for_end_of(items: Items) -> None:
    assert items.was_closed.wait(PATIENCE)


def died(dead: weakref.ref[Any]) -> bool:
    for generation in range(3):  # the young ones first: that is fast, and mostly enough
        if dead() is None:
            break
        gc.collect(generation)
    return dead() is None


@pytest.mark.parametrize(
    ("name", "way"),
    [
        (name, way)
        for name in RUNS
        for way in ("completion", "error", "cancel")
        if "thread" not in name
        and name != "debounce"
        and (name, way) not in {("cache", "completion"), *KEPT_FOR_LATER}  # a cache keeps them, and that is its job
    ],
)
@pytest.mark.usefixtures("forgotten")
def test_the_elements_are_let_go_of_too(name: str, way: str) -> None:
    class Element:
        pass

    alive: list[weakref.ref[Element]] = []

    def make(_: int) -> Element:
        element = Element()
        alive.append(weakref.ref(element))
        return element

    before = set(threading.enumerate())
    items = items_for(way)
    stream = RUNS[name](Stream.from_iterable(items).map(make))
    if name == "replay":
        stream = stream.take(0) if way == "completion" else stream
    happened = threading.Event()
    watched = Watched(way, happened)
    stream.subscribe(watched)
    assert happened.wait(PATIENCE)
    kept = watched.subscription
    del watched
    assert left_alive(before) == []
    limit = 2 if name == "replay" else 0
    for generation in (1, 2):
        if sum(each() is not None for each in alive) > limit:
            gc.collect(generation)
    assert sum(each() is not None for each in alive) <= limit
    assert kept is not None


@pytest.mark.parametrize("way", ["completion", "error", "cancel", "take"])
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.usefixtures("forgotten")
def test_no_task_is_left_on_a_running_loop(name: str, way: str) -> None:
    items, stream = upstream("async", way, name)

    async def main() -> None:
        before = asyncio.all_tasks()
        happened = threading.Event()
        watched = Watched("cancel" if way == "cancel" else "completion", happened)
        stream.subscribe(watched)
        turns = 0
        while not happened.is_set() and not (silent(name, way) and items.closed):
            await asyncio.sleep(0.0005)
            turns += 1
            assert turns < 20_000
        if silent(name, way) and watched.subscription is not None:
            watched.subscription.cancel()
        while asyncio.all_tasks() != before:
            await asyncio.sleep(0.0005)
            turns += 1
            assert turns < 20_000

    asyncio.run(main())
    assert not items.opened or items.was_closed.wait(PATIENCE)  # it may have run on a loop of our own
    assert items.opened == items.closed


@pytest.mark.parametrize("way", ["completion", "error", "cancel"])
def test_a_processor_and_a_receiver_let_go(way: str) -> None:
    items = items_for(way)
    middle = processor(flow(lambda stream: stream.publish_on(thread()).map(lambda n: n)))
    happened = threading.Event()
    watched = Watched(way, happened)
    Stream.from_iterable(items).subscribe(middle)
    middle.subscribe(watched)
    assert happened.wait(PATIENCE)
    dead = weakref.ref(watched)
    del watched
    assert items.was_closed.wait(PATIENCE)
    assert died(dead)

    items = Items(30)
    receiver = subscriber(Sink.for_each(noop))
    Stream.from_iterable(items).publish_on(thread()).subscribe(receiver)
    assert receiver.get(PATIENCE) == 30
    assert items.closed == 1


def test_many_late_subscribers_of_a_finished_replay_leave_nothing() -> None:
    stream = Stream.range(5).replay(2)
    assert list(stream) == [0, 1, 2, 3, 4]
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(300):
        assert list(stream) == [3, 4]
    gc.collect()
    assert len(gc.get_objects()) - before < 300


def test_twenty_runs_of_everything_leave_no_more_than_five() -> None:
    """What a run leaves behind would add up."""
    streams = [make(Stream.range(5)) for make in RUNS.values()]

    def run(times: int) -> int:
        before = set(threading.enumerate())
        for _ in range(times):
            for stream in streams:
                list(stream)
        assert left_alive(before) == []
        gc.collect()
        return len(gc.get_objects())

    objects = run(5)
    assert run(20) - objects < 20


def test_a_cancel_before_the_worker_gets_to_subscribe() -> None:
    gate = threading.Event()
    shared = pool(1)
    blocker = shared.worker()
    blocker.submit(lambda: gate.wait(PATIENCE))  # type: ignore[arg-type, return-value]
    items = Items()
    happened = threading.Event()
    watched = Watched("cancel at once", happened)
    Stream.from_iterable(items).subscribe_on(shared).subscribe(watched)
    assert not happened.is_set()
    gate.set()
    assert happened.wait(PATIENCE)
    assert items.opened == items.closed


@pytest.mark.usefixtures("forgotten")
def test_a_loop_that_is_closed_under_a_run_takes_it_along() -> None:
    items = Items()
    errors: list[Exception] = []

    class Last(Watched):
        def on_error(self, error: Exception, /) -> None:
            errors.append(error)

    async def main() -> None:
        async def slowly() -> Any:
            try:
                yield 1
                await asyncio.sleep(3600)
            finally:
                items.closed += 1

        Stream.from_async_iterable(slowly()).subscribe(Last("completion", threading.Event()))
        await asyncio.sleep(0.001)

    asyncio.run(main())
    assert items.closed == 1
    assert [repr(error) for error in errors] == ["CutOffError('the event loop ended before the stream did')"]
