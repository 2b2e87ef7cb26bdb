"""drain: signals are serial and the stack is flat, whoever requests and cancels, from wherever, and no lock is held."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Overflow, Slow, Stream, VirtualClock, inline, pool, thread
from penstock.testing import Probe, subscribed
from tests.engine.parts import FORMS, Items, Plain, ended, noop, started
from tests.engine.stress import all_at_once, restless
from tests.engine.watch import PATIENCE

CLOCK = VirtualClock()


def echo(emitter: Any) -> None:
    for n in range(300):
        emitter.emit(n)
    emitter.complete()


async def same(n: int) -> int:
    return n


def first(pair: tuple[Any, ...]) -> Any:
    return pair[0]


def second(pair: tuple[Any, ...]) -> Any:
    return pair[1]


def numbered(stream: Stream[Any]) -> Stream[int]:
    return stream.enumerate().map(first)


def handed_over() -> Stream[Any]:
    subject: Any = Stream.subject(kept=300)
    for n in range(300):
        subject.emit(n)
    subject.complete()
    return subject  # type: ignore[no-any-return]


# Every kind of subscription that the library hands out, over three hundred elements.
RUNS: dict[str, Callable[[], Stream[Any]]] = {
    "iterated": lambda: Stream.range(300).map(lambda n: n),
    "fed": lambda: Stream.range(300).do_finally(noop).map(lambda n: n),
    "relay": lambda: Stream.range(300).do_finally(noop),
    "asynchronous": lambda: Stream.from_async_iterable(Items(300)).map(lambda n: n),
    "boundary": lambda: Stream.range(300).publish_on(thread(), prefetch=16),
    "pool": lambda: Stream.range(300).publish_on(pool(2), prefetch=16),
    "inline": lambda: Stream.range(300).publish_on(inline(), prefetch=16),
    "subscribe_on": lambda: Stream.range(300).subscribe_on(thread()),
    "merge": lambda: Stream.range(150).do_finally(noop).merge(Stream.range(150, 300)),
    "zip": lambda: Stream.range(300).do_finally(noop).zip(Stream.range(300)).map(lambda pair: pair[0]),
    "concat": lambda: Stream.range(150).do_finally(noop).concat(Stream.range(150, 300)),
    "flat_map": lambda: Stream.range(30).flat_map(lambda n: range(10 * n, 10 * n + 10), concurrency=2),
    "map_async": lambda: Stream.range(300).map_async(same, concurrency=8),
    "create": lambda: Stream.create(echo, size=300),
    "share": lambda: Stream.range(300).share(slow=Slow.WAIT),
    "replay": lambda: Stream.range(300).replay(1),
    "retry": lambda: Stream.range(300).retry(1),
    "timeout": lambda: Stream.range(300).timeout(60.0, clock=CLOCK),
    "delay": lambda: Stream.range(300).delay(0.0, size=16),
    "throttle": lambda: Stream.range(300).throttle(10**6, clock=CLOCK),
    "keep_alive": lambda: Stream.range(300).keep_alive(60.0, -1, clock=CLOCK),
    "buffer_timeout": lambda: Stream.range(300).buffer_timeout(7, 60.0, clock=CLOCK).flatten(),
    "limit_rate": lambda: Stream.range(300).limit_rate(16),
    "on_backpressure_buffer": lambda: Stream.range(300).on_backpressure_buffer(300),
    "group_by": lambda: Stream.range(300).group_by(lambda _: 0, size=16).flat_map(lambda group: group, concurrency=1),
    "window": lambda: Stream.range(300).window(7, size=16).flat_map(lambda window: window, concurrency=1),
    "from_publisher": lambda: Stream.from_publisher(Stream.range(300)),
    "defer": lambda: Stream.defer(lambda: Stream.range(300)),
    "on_error_resume": lambda: Stream.error(KeyError("lost")).on_error_resume(lambda _: range(300)),
    "on_error_return": lambda: Stream.range(299).concat(Stream.error(KeyError("lost"))).on_error_return(299),
    "repeat": lambda: numbered(Stream.range(150).do_finally(noop).repeat(2)),
    "using": lambda: Stream.using(object, lambda _: range(300), noop),
    "concat_map": lambda: Stream.range(30).concat_map(lambda n: range(10 * n, 10 * n + 10)),
    "switch_map": lambda: Stream.just(0).switch_map(lambda _: Stream.range(300)),
    "expand": lambda: Stream.just(0).expand(lambda n: Stream.just(n + 1) if n < 299 else [], concurrency=2),
    "combine_latest": lambda: Stream.just(0).do_finally(noop).combine_latest(Stream.range(300)).map(second),
    "with_latest_from": lambda: Stream.range(300).do_finally(noop).with_latest_from(Stream.just(0)).map(first),
    "race": lambda: Stream.never().race(Stream.range(300).publish_on(thread())),
    "switch_if_empty": lambda: Stream.empty().do_finally(noop).switch_if_empty(Stream.range(300)),
    "take_until": lambda: Stream.range(300).take_until(Stream.never()),
    "skip_until": lambda: Stream.range(300).skip_until(Stream.just(0)),
    "merge_sorted": lambda: Stream.range(0, 300, 2).do_finally(noop).merge_sorted(Stream.range(1, 300, 2)),
    "interleave": lambda: Stream.range(0, 300, 2).do_finally(noop).interleave(Stream.range(1, 300, 2)),
    "join": lambda: Stream.range(300).do_finally(noop).join(Stream.just(0), lambda _: 0).map(first),
    "partition": lambda: Stream.range(300).partition(lambda _: True)[0],
    "parallel": lambda: Stream.range(300).parallel(3, lambda rail: rail.map(lambda n: n), prefetch=16),
    "cache": lambda: Stream.range(300).cache(),
    "subject": lambda: handed_over(),
    "checked": lambda: Stream.range(300).checked(),
}
each_run = pytest.mark.parametrize("name", RUNS)


@each_run
def test_demand_from_many_threads_is_neither_lost_nor_exceeded(name: str) -> None:
    probe = subscribed(RUNS[name]())
    with restless():
        all_at_once(*[lambda: [probe.request(1) for _ in range(40)] for _ in range(4)])
        assert len(set(probe.wait_for(160))) == 160
    assert not probe.ended
    probe.request(1_000)
    assert sorted(probe.wait_for_end()) == list(range(300))
    assert probe.breaches == []


@each_run
def test_a_cancel_at_any_moment_ends_it(name: str) -> None:
    chance = random.Random(name)
    for _ in range(8):
        probe: Probe[Any] = Probe(chance.randrange(3))
        stop = chance.randrange(120)

        def ask(probe: Probe[Any] = probe) -> None:
            for _ in range(100):
                probe.request(1)

        def cancel(probe: Probe[Any] = probe, stop: int = stop) -> None:
            for _ in range(stop):
                pass
            probe.cancel()

        with restless():
            RUNS[name]().subscribe(probe)
            all_at_once(ask, cancel, cancel)
        seen = len(probe.signals)
        probe.request(50)
        assert probe.breaches == []
        assert not probe.completed or len(probe.elements) == 300
        assert len(probe.signals) - seen <= 1  # one may have been on its way from another thread


@each_run
def test_requests_and_a_cancel_from_inside_on_next(name: str) -> None:
    def one_more(signal: Any) -> None:
        if len(probe.elements) == 100:
            probe.cancel()
        elif not probe.ended:
            probe.request(1)

    probe: Probe[Any] = Probe(1, on_signal=one_more)
    RUNS[name]().subscribe(probe)
    probe.wait_until(lambda: probe.cancelled, "the cancel")
    probe.request(5)
    assert len(probe.elements) == 100
    assert not probe.ended
    assert probe.breaches == []


@each_run
def test_a_cancel_inside_on_subscribe_is_final(name: str) -> None:
    probe: Probe[Any] = Probe(on_subscribe=lambda subscription: (subscription.request(5), subscription.cancel()))
    RUNS[name]().subscribe(probe)
    probe.wait_until(lambda: probe.subscription is not None, "on_subscribe")
    assert probe.signals == []


@each_run
def test_no_signal_comes_before_on_subscribe_has_returned(name: str) -> None:
    events: list[str] = []

    def on_subscribe(subscription: Any) -> None:
        events.append("in")
        subscription.request(3)
        events.append("out")

    probe: Probe[Any] = Probe(on_subscribe=on_subscribe, on_signal=lambda _: events.append("signal"))
    probe.requested = 3
    RUNS[name]().subscribe(probe)
    probe.wait_for(3)
    assert events[:5] == ["in", "out", "signal", "signal", "signal"]
    probe.cancel()


@each_run
def test_no_lock_is_held_while_the_subscribers_code_runs(name: str) -> None:
    """Each signal calls back from another thread and waits for it; a lock would never let it through."""

    def from_elsewhere(_: Any) -> None:
        asking = started(lambda: (probe.request(1), probe.request(1)))
        asking.join(PATIENCE)
        stuck.append(asking.is_alive())

    stuck: list[bool] = []
    probe: Probe[Any] = Probe(2, on_signal=from_elsewhere)
    RUNS[name]().subscribe(probe)
    assert len(probe.wait_for_end()) == 300
    assert not any(stuck)
    assert probe.breaches == []


@each_run
def test_a_cancel_from_elsewhere_while_an_element_is_handled_returns_at_once(name: str) -> None:
    def cancel_elsewhere(_: Any) -> None:
        cancelling = started(probe.cancel)
        cancelling.join(PATIENCE)
        stuck.append(cancelling.is_alive())

    stuck: list[bool] = []
    probe: Probe[Any] = Probe(10, on_signal=cancel_elsewhere)
    RUNS[name]().subscribe(probe)
    probe.wait_for(1)
    probe.wait_until(lambda: probe.cancelled, "the cancel")
    assert stuck in ([], [False])


@pytest.mark.parametrize("form", FORMS)
def test_functions_may_wait_for_another_thread_that_asks(form: str) -> None:
    def ask_elsewhere(n: int) -> int:
        asking = started(lambda: probe.request(1))
        asking.join(PATIENCE)
        assert not asking.is_alive()
        return n

    probe: Probe[int] = Probe(1)
    FORMS[form](Items(20)).map(ask_elsewhere).subscribe(probe)
    assert len(probe.wait_for_end()) == 20


def test_two_threads_never_drain_at_once() -> None:
    inside = threading.Semaphore(1)
    overlaps: list[int] = []

    def alone(n: int) -> int:
        if not inside.acquire(blocking=False):
            overlaps.append(n)
            return n
        inside.release()
        return n

    probe: Probe[int] = Probe()
    Stream.range(4_000).map(alone).subscribe(probe)
    with restless():
        all_at_once(*[lambda: [probe.request(7) for _ in range(100)] for _ in range(4)])
    assert probe.elements == list(range(2_800))
    assert overlaps == []
    assert probe.breaches == []


@pytest.mark.parametrize("demands", [[1], [2, 3, 5], [2**62, 2**62, 2**62], [2**63 - 1, 1], [2**70]])
def test_demand_adds_up_and_never_overflows(demands: list[int]) -> None:
    for make in RUNS.values():
        probe = subscribed(make())
        for n in demands:
            probe.request(n)
        wanted = min(sum(demands), 300)
        probe.wait_for(wanted)
        assert probe.breaches == []
        if wanted < 300:
            probe.cancel()
        else:
            probe.wait_for_end()


# KeyboardInterrupt and its like.


class Interrupted(BaseException):
    """Stand for KeyboardInterrupt, which pytest would take for itself."""


def interrupt(_: object = None) -> Any:
    raise Interrupted


HERE: dict[str, Callable[[Stream[Any]], Stream[Any]]] = {
    "iterated": lambda stream: stream,
    "fed": lambda stream: stream.do_finally(noop).map(lambda n: n),
    "relays": lambda stream: stream.do_finally(noop).timeout(60.0, clock=CLOCK).on_error_resume(lambda _: ()),
    "inline": lambda stream: stream.publish_on(inline()).publish_on(inline()).publish_on(inline()),
    "merge": lambda stream: stream.do_finally(noop).merge(Stream.range(3)),
    "zip": lambda stream: stream.do_finally(noop).zip(Stream.range(3)),
    "concat": lambda stream: stream.do_finally(noop).concat(Stream.range(3)),
    "flat_map": lambda stream: stream.flat_map(lambda n: (n,), concurrency=1),
    "share": lambda stream: stream.share(),
    "retry": lambda stream: stream.retry(),
    "defer": lambda stream: Stream.defer(lambda: stream),
    "from_publisher": Stream.from_publisher,
    "subscribe_on": lambda stream: stream.subscribe_on(inline()),
}


@pytest.mark.parametrize("where", ["on_next", "function", "on_subscribe"])
@pytest.mark.parametrize("name", HERE)
def test_an_interrupt_passes_and_leaves_nothing_open(name: str, where: str) -> None:
    pending = CLOCK.pending
    items = Items()
    finished: list[str] = []
    stream = Stream.from_iterable(items).do_finally(lambda: finished.append("over"))
    if where == "function":
        stream = stream.map(interrupt)
    subscriber = Plain(5, interrupt if where == "on_next" else noop)
    if where == "on_subscribe":
        subscriber.on_subscribe = interrupt  # type: ignore[method-assign]
    with pytest.raises(Interrupted):
        HERE[name](stream).subscribe(subscriber)
    assert items.opened == items.closed
    assert finished == ["over"] or where == "on_subscribe"
    told = [repr(signal) for signal in subscriber.signals if not isinstance(signal, int | tuple)]
    assert told == (["InterruptionError('the stream was interrupted by Interrupted()')"] if where == "function" else [])
    assert CLOCK.pending == pending
    assert ended(HERE[name](Stream.range(3))).completed  # and nothing is stuck on this thread


def test_an_interrupt_in_a_loop_closes_the_source() -> None:
    for name, make in HERE.items():
        items = Items()
        with pytest.raises(Interrupted):  # noqa: PT012
            for _ in make(Stream.from_iterable(items)):
                interrupt()
        assert items.opened == items.closed == 1, name


def test_a_cancel_that_is_interrupted_still_reaches_the_source() -> None:
    items = Items()
    probe = subscribed(Stream.from_iterable(items).publish_on(inline(), prefetch=2).do_finally(interrupt), 1)
    with pytest.raises(Interrupted):
        probe.cancel()
    assert items.closed == 1


@pytest.mark.parametrize("policy", Overflow)
def test_elements_that_come_while_others_are_handled_are_not_lost(policy: Overflow) -> None:
    """Three were asked for, two wait: a third that comes while the first is handled was asked for as well."""
    emitters: list[Any] = []
    probe: Probe[str] = Probe(on_signal=lambda signal: emitters[0].emit("c") if signal.element == "a" else None)
    Stream.create(emitters.append, overflow=policy, size=2).subscribe(probe)
    if policy in {Overflow.BUFFER, Overflow.ERROR}:
        emitters[0].emit("a"), emitters[0].emit("b")
        probe.request(3)
    else:
        probe.request(3)
        emitters[0].emit("a"), emitters[0].emit("b")
    assert sorted(probe.elements) == ["a", "b", "c"]
    probe.cancel()
