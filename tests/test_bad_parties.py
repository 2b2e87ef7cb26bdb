"""bad parties: sources and subscribers that raise, and publishers that break rules; all is told, nothing is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from penstock import (
    PenstockError,
    ProtocolError,
    Recorder,
    Registry,
    Sink,
    Stream,
    Subscriber,
    Subscription,
    flow,
    inline,
    observe,
    processor,
    set_on_dropped,
    subscriber,
)
from penstock.errors import InterruptionError
from penstock.testing import ManualPublisher, PlannedBreach, Probe, subscribed
from tests.engine.parts import FORMS, Items, Plain, ended
from tests.engine.runs.test_drain import RUNS
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


# Sources that raise.


@pytest.mark.parametrize("where", ["iter", "next"])
@pytest.mark.parametrize("form", FORMS)
def test_a_source_that_raises(form: str, where: str) -> None:
    items = Items(2, **{where: LookupError(where)})
    probe = ended(FORMS[form](items))
    assert repr(probe.error) == f"LookupError({where!r})"
    assert [note.partition(",")[0] for note in probe.error.__notes__] == ["in the source"]  # type: ignore[union-attr]
    assert probe.elements == ([] if where == "iter" else [0, 1])
    assert items.closed == items.opened


@pytest.mark.parametrize("way", ["completion", "cancel", "error"])
@pytest.mark.parametrize("form", FORMS)
def test_a_source_that_fails_to_close(form: str, way: str, dropped: list[Any]) -> None:
    fails = {"next": LookupError("first")} if way == "error" else {}
    items = Items(20, close=OSError("stuck"), **fails)
    probe = subscribed(FORMS[form](items), 1)
    probe.wait_for(1)
    if way == "cancel":
        probe.cancel()
        assert items.was_closed.wait(PATIENCE)
        expected: list[Any] = [("the source failed to close", "OSError('stuck')")]
    else:
        probe.request(50)
        probe.wait_for_end()
        assert repr(probe.error) == ("OSError('stuck')" if way == "completion" else "LookupError('first')")
        expected = [] if way == "completion" else [("the source failed to close", "OSError('stuck')")]
    join_loops()
    assert [(entry.what, repr(entry.error)) for entry in dropped] == expected
    dropped.clear()
    assert items.closed == 1


def left_in_a_block(stream: Stream[int]) -> int:
    with stream.open() as elements:
        return next(iter(elements))


async def left_in_an_async_block(stream: Stream[int]) -> int:
    async with stream.open() as elements:
        return await anext(aiter(elements))


async def first_awaited(stream: Stream[int]) -> int:
    return await stream.first()


LEFT: dict[str, Callable[[Stream[int]], int]] = {
    "take": lambda stream: sum(stream.take(1)),
    "take_while": lambda stream: sum(stream.take_while(lambda n: n < 1)),
    "take, before what follows": lambda stream: sum(stream.take(1).end_with(0)),
    "take, of several for each": lambda stream: sum(stream.flat_map(lambda n: [n, n]).take(1)),
    "first": lambda stream: stream.first().get(),
    "a loop": lambda stream: next(iter(stream)),
    "a block": left_in_a_block,
    "an async block": lambda stream: asyncio.run(left_in_an_async_block(stream)),
    "await": lambda stream: asyncio.run(first_awaited(stream)),
}


@pytest.mark.parametrize("seen", [False, True], ids=["unseen", "seen"])
@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("form", FORMS)
def test_a_source_that_fails_to_close_where_it_is_left(form: str, how: str, seen: bool, dropped: list[Any]) -> None:
    items = Items(close=OSError("stuck"))
    with observe(Recorder()) if seen else nullcontext():
        assert LEFT[how](FORMS[form](items)) == 0
    assert items.was_closed.wait(PATIENCE)
    join_loops()
    assert [(entry.what, repr(entry.error)) for entry in dropped] == [
        ("the source failed to close", "OSError('stuck')")
    ]
    dropped.clear()
    assert items.closed == 1


def fails_inside(elements: Iterator[int]) -> None:
    for n in elements:
        raise LookupError(f"inside, at {n}")


@pytest.mark.parametrize("form", FORMS)
def test_a_source_that_fails_to_close_replaces_no_error_of_a_block(form: str, dropped: list[Any]) -> None:
    items = Items(close=OSError("stuck"))
    with pytest.raises(LookupError, match=r"^inside, at 0$"), FORMS[form](items).open() as elements:
        fails_inside(elements)
    join_loops()
    assert [repr(entry.error) for entry in dropped] == ["OSError('stuck')"]
    dropped.clear()


@pytest.mark.parametrize("form", FORMS)
def test_a_source_that_fails_to_close_replaces_no_cancel(form: str, dropped: list[Any]) -> None:
    items = Items(close=OSError("stuck"))

    async def main() -> None:
        async with asyncio.timeout(None) as limit, FORMS[form](items).open() as elements:
            async for _ in elements:
                limit.reschedule(0)
                await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert [repr(entry.error) for entry in dropped] == ["OSError('stuck')"]
    dropped.clear()


def join_loops() -> None:
    for each in threading.enumerate():
        if each.name == "penstock-loop":
            each.join(PATIENCE)


# Subscribers that raise.


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_complete", "on_error"])
@pytest.mark.parametrize("name", RUNS)
def test_a_subscriber_that_raises_is_cancelled_and_reported(name: str, signal: str, dropped: list[Any]) -> None:
    over: list[str] = []
    stream = RUNS[name]()
    if signal == "on_error":
        stream = stream.map(lambda n: 1 // 0)

    class Raises(Plain):
        pass

    def fail(*_: object) -> None:
        over.append(signal)
        raise ArithmeticError(signal)

    subscriber = Raises(1_000)
    setattr(subscriber, signal, fail)
    stream.subscribe(subscriber)
    wait_for(lambda: dropped)
    assert over == [signal]
    assert [(entry.what, repr(entry.error)) for entry in dropped] == [
        (f"rule 2.13: the subscriber raised in {signal}", f"ArithmeticError({signal!r})")
    ]
    dropped.clear()


PASSING: dict[str, Callable[[Stream[Any]], Stream[Any]]] = {
    "nothing": lambda stream: stream,
    "subscribe_on": lambda stream: stream.subscribe_on(inline()),
    "with_context": lambda stream: stream.with_context({}),
    "observed": lambda stream: stream.observed(Recorder()),
    "checked": lambda stream: stream.checked(),
    "metrics": lambda stream: stream.metrics("numbers", registry=Registry()),
}
"""What passes a subscription on to the subscriber."""


@pytest.mark.parametrize("made", ["iterated", "deferred", "foreign"])
@pytest.mark.parametrize("name", PASSING)
def test_a_subscriber_that_is_interrupted_gets_no_second_subscription(name: str, made: str) -> None:
    subscriptions: list[object] = []

    class Interrupted(Plain):
        def on_subscribe(self, subscription: Any, /) -> None:
            subscriptions.append(subscription)
            raise KeyboardInterrupt

    sources = {
        "iterated": lambda: Stream.range(3),
        "deferred": lambda: Stream.defer(lambda: iter([1])),
        "foreign": lambda: Stream.from_publisher(ManualPublisher()),
    }
    with pytest.raises(KeyboardInterrupt):
        PASSING[name](sources[made]()).subscribe(Interrupted())
    assert len(subscriptions) == 1


def wait_for(reached: Callable[[], object]) -> None:
    stop = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not reached():
        assert time.monotonic() < stop
        pause.wait(0.001)


@pytest.mark.parametrize("form", FORMS)
def test_its_source_is_closed(form: str, dropped: list[Any]) -> None:
    items = Items()
    subscriber = Plain(5, lambda _: 1 // 0)
    FORMS[form](items).subscribe(subscriber)
    assert items.was_closed.wait(PATIENCE)
    join_loops()
    assert subscriber.signals == [0]
    assert items.closed == len(dropped) == 1
    dropped.clear()


def test_a_hook_that_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    before = set_on_dropped(lambda _: 1 // 0)  # type: ignore[arg-type, return-value]
    try:
        Stream.range(3).subscribe(Plain(1, lambda _: [].pop()))
    finally:
        set_on_dropped(before)
    assert [record.message for record in caplog.records] == [
        "on_dropped hook failed: ZeroDivisionError('integer division or modulo by zero')"
    ]


# Subscribing twice.


@pytest.mark.parametrize("name", RUNS)
def test_one_subscriber_at_two_streams_keeps_the_first(name: str) -> None:
    probe = subscribed(RUNS[name](), 1)
    probe.wait_for(1)
    RUNS[name]().subscribe(probe)
    wait_for(lambda: probe.breaches)
    probe.request(5)
    assert len(probe.wait_for(6)) == 6
    probe.cancel()
    assert probe.breaches == ["rule 2.12: on_subscribe was signalled twice"]


@pytest.mark.parametrize("make", [lambda: processor(flow(lambda stream: stream)), lambda: subscriber(Sink.count())])
def test_a_second_upstream_is_cancelled(make: Callable[[], Any]) -> None:
    first, second = ManualPublisher[int](), ManualPublisher[int]()
    target = make()
    first.subscribe(target)
    second.subscribe(target)
    assert (first.cancelled, second.cancelled) == (False, True)
    first.complete()


def test_a_second_subscriber_of_a_processor_is_told() -> None:
    target = processor(flow(lambda stream: stream.map(str)))
    subscribed(target)
    probe = subscribed(target)
    assert type(probe.error) is PenstockError
    assert str(probe.error) == "rule 1.11: this processor serves one subscriber; put share() behind it for more"


# Publishers of another make that break the rules.


def broken(breach: PlannedBreach, request: int = 2) -> tuple[ManualPublisher[Any], Probe[Any]]:
    upstream: ManualPublisher[Any] = ManualPublisher(breach)
    return upstream, subscribed(Stream.from_publisher(upstream).map(lambda n: n), request)


def test_more_than_was_asked_for_fails_by_rule_1_1(dropped: list[Any]) -> None:
    upstream, probe = broken(PlannedBreach.EXCEED_DEMAND)
    upstream.next(0, 1, 2)
    assert probe.elements == [0, 1]
    assert type(probe.error) is ProtocolError
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    assert upstream.cancelled
    assert [(entry.what, entry.element) for entry in dropped] == [
        ("rule 1.1: the publisher sent an element that was not requested", 2)
    ]
    dropped.clear()


@pytest.mark.parametrize(
    ("breach", "send", "message"),
    [
        (
            PlannedBreach.NONE_ELEMENT,
            lambda each: each.next(None),
            "rule 2.13: on_next(None): None is not allowed here",
        ),
        (PlannedBreach.NONE_ERROR, lambda each: each.fail(None), "rule 2.13: on_error(None): None is not allowed here"),
    ],
)
def test_none_is_refused_and_ends_the_stream(breach: PlannedBreach, send: Callable[[Any], None], message: str) -> None:
    upstream, probe = broken(breach)
    with pytest.raises(TypeError) as refusal:
        send(upstream)
    assert str(refusal.value) == str(probe.error) == message


def test_no_subscription_is_refused_and_ends_the_stream() -> None:
    _, probe = broken(PlannedBreach.NONE_SUBSCRIPTION, 0)
    assert repr(probe.error) == "TypeError('rule 2.13: on_subscribe(None): None is not allowed here')"


def test_an_error_that_is_none_is_made_one() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream), 1)
    upstream.subscriptions[0].subscriber.on_error("lost")  # type: ignore[arg-type]
    assert type(probe.error) is ProtocolError
    assert str(probe.error) == "rule 1.4: the publisher failed with 'lost', which is not an exception"


def test_a_request_that_raises_fails_by_rule_3_16() -> None:
    upstream, probe = broken(PlannedBreach.RAISE_IN_REQUEST)
    assert type(probe.error) is ProtocolError
    assert str(probe.error).startswith("rule 3.16: the publisher's request raised RuntimeError(")
    assert upstream.cancelled


def test_a_request_that_is_interrupted_ends_the_stream() -> None:
    class Interrupted:
        def request(self, n: int, /) -> None:
            raise KeyboardInterrupt

        def cancel(self) -> None:
            cancelled.append(True)

    class Given:
        def subscribe(self, subscriber: Subscriber[int], /) -> None:
            subscriber.on_subscribe(Interrupted())

    cancelled: list[bool] = []
    probe: Probe[int] = Probe()
    Stream.from_publisher(Given()).subscribe(probe)
    with pytest.raises(KeyboardInterrupt):
        probe.request(1)
    assert type(probe.error) is InterruptionError
    assert cancelled == [True]


def test_a_subscriber_that_is_interrupted_in_on_subscribe_leaves_no_upstream_open() -> None:
    class Interrupted(Probe[int]):
        def on_subscribe(self, subscription: Subscription, /) -> None:
            raise KeyboardInterrupt

    upstream: ManualPublisher[int] = ManualPublisher()
    with pytest.raises(KeyboardInterrupt):
        Stream.from_publisher(upstream).subscribe(Interrupted())
    assert upstream.cancelled


def test_a_cancel_that_raises_is_reported(dropped: list[Any]) -> None:
    _, probe = broken(PlannedBreach.RAISE_IN_CANCEL)
    probe.cancel()
    assert [entry.what for entry in dropped] == ["rule 3.15: the publisher's cancel raised"]
    dropped.clear()


def test_a_subscribe_that_raises_fails_the_stream() -> None:
    _, probe = broken(PlannedBreach.RAISE_IN_SUBSCRIBE, 0)
    assert repr(probe.error) == "RuntimeError('ManualPublisher: subscribe raises')"
    assert probe.breaches == []


def test_a_second_subscription_is_cancelled() -> None:
    upstream, probe = broken(PlannedBreach.SUBSCRIBE_TWICE)
    assert upstream.surplus[0].cancelled
    upstream.next(0)
    assert probe.elements == [0]


def test_signals_after_the_end_are_ignored_or_reported(dropped: list[Any]) -> None:
    upstream, probe = broken(PlannedBreach.SIGNAL_AFTER_END)
    upstream.complete()
    upstream.next(5)
    upstream.complete()
    upstream.fail(KeyError("late"))
    assert probe.completed
    assert len(probe.signals) == 1
    assert [(entry.what, repr(entry.error)) for entry in dropped] == [
        ("an error came after the end or the cancel", "KeyError('late')")
    ]
    dropped.clear()


def test_signals_after_a_cancel_are_ignored() -> None:
    upstream, probe = broken(PlannedBreach.IGNORE_CANCEL)
    probe.cancel()
    upstream.next(0, 1)
    upstream.complete()
    assert probe.signals == []


@pytest.mark.parametrize("breach", [PlannedBreach.EXCEED_DEMAND, PlannedBreach.NONE_ELEMENT])
def test_flat_map_holds_its_publishers_to_the_contract_too(breach: PlannedBreach, dropped: list[Any]) -> None:
    upstream: ManualPublisher[Any] = ManualPublisher(breach)
    probe = subscribed(Stream.just(1).flat_map(lambda _: upstream, concurrency=1, prefetch=2), 1)
    if breach is PlannedBreach.EXCEED_DEMAND:
        upstream.next(0, 1, 2, 3)
        probe.request(5)
        assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    else:
        with pytest.raises(TypeError, match=r"^rule 2\.13: on_next\(None\): None is not allowed here$"):
            upstream.next(None)
        assert str(probe.error) == "rule 2.13: on_next(None): None is not allowed here"
    assert upstream.cancelled
    dropped.clear()
