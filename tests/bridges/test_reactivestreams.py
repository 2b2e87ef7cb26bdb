"""penstock.bridges.reactivestreams: the flag of `on_next`, breaches by rule, small requests, and rsocket-py itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from reactivestreams.publisher import Publisher
from reactivestreams.subscriber import DefaultSubscriber, Subscriber
from reactivestreams.subscription import Subscription

from penstock import Dropped, Sink, Stream, subscriber
from penstock.bridges.reactivestreams import (
    MOST_REQUESTED,
    from_publisher,
    from_subscriber,
    to_publisher,
    to_subscriber,
)
from penstock.errors import ProtocolError
from penstock.tck import Limits, render, verify_subscriber_blackbox
from penstock.testing import ManualPublisher, PlannedBreach, Probe, Tracked
from tests.bridges.waiting import until
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


class Manual(Publisher, Subscription):
    """Be a publisher of theirs, driven by hand, which does what it is told, allowed or not."""

    def __init__(self, on_subscribe: Callable[[Manual], None] | None = None) -> None:
        self.requests: list[int] = []
        self.cancelled = False
        self.subscriber: Subscriber = DefaultSubscriber()
        self._on_subscribe = on_subscribe

    def subscribe(self, subscriber: Subscriber) -> None:
        self.subscriber = subscriber
        if self._on_subscribe is None:
            subscriber.on_subscribe(self)
        else:
            self._on_subscribe(self)

    def request(self, n: int) -> None:
        self.requests.append(n)

    def cancel(self) -> None:
        self.cancelled = True


def entering(upstream: Manual, request: int = 0, initial: int = 0) -> Probe[Any]:
    probe: Probe[Any] = Probe(request)
    from_publisher(upstream, initial).subscribe(probe)
    return probe


# In.


def test_an_element_that_is_complete_is_an_element_and_an_end() -> None:
    upstream = Manual()
    probe = entering(upstream, 5)
    upstream.subscriber.on_next(1)
    upstream.subscriber.on_next(2, is_complete=True)
    assert (probe.elements, probe.completed, probe.breaches) == ([1, 2], True, [])
    upstream.subscriber.on_next(3)
    upstream.subscriber.on_complete()
    assert probe.elements == [1, 2]
    assert not upstream.cancelled


def test_an_element_that_is_complete_and_was_not_asked_for_breaks_rule_1_1(dropped: list[Dropped]) -> None:
    upstream = Manual()
    probe = entering(upstream, 1)
    upstream.subscriber.on_next(1)
    upstream.subscriber.on_next(2, is_complete=True)
    assert probe.elements == [1]
    assert isinstance(probe.error, ProtocolError)
    assert probe.error.rule == "1.1"
    assert upstream.cancelled
    assert [(each.what, each.element) for each in dropped] == [
        ("rule 1.1: the publisher sent an element that was not requested", 2)
    ]
    dropped.clear()


def test_what_is_asked_for_goes_there() -> None:
    upstream = Manual()
    probe = entering(upstream, 2)
    assert upstream.requests == [2]
    probe.request(3)
    assert upstream.requests == [2, 3]
    probe.cancel()
    assert upstream.cancelled


def test_a_demand_beyond_31_bits_goes_there_in_pieces() -> None:
    upstream = Manual()
    probe = entering(upstream)
    probe.request()
    assert upstream.requests == [MOST_REQUESTED]
    for number in range(10):
        upstream.subscriber.on_next(number)
    assert upstream.requests == [MOST_REQUESTED]
    entrance = upstream.subscriber
    entrance._arrived = entrance._asked - 1  # type: ignore[attr-defined]  two thousand million elements later
    upstream.subscriber.on_next(10)
    assert upstream.requests == [MOST_REQUESTED, MOST_REQUESTED]
    assert len(probe.elements) == 11


def test_what_a_publisher_sends_unasked_waits_here_and_is_not_asked_for_again() -> None:
    upstream = Manual()
    probe = entering(upstream, initial=3)
    for number in range(3):
        upstream.subscriber.on_next(number)
    assert probe.elements == []
    probe.request(2)
    assert (probe.elements, upstream.requests) == ([0, 1], [])
    probe.request(3)
    assert (probe.elements, upstream.requests) == ([0, 1, 2], [2])
    assert probe.breaches == []


def test_more_than_was_said_to_come_unasked_breaks_rule_1_1(dropped: list[Dropped]) -> None:
    upstream = Manual()
    probe = entering(upstream, initial=1)
    upstream.subscriber.on_next(0)
    upstream.subscriber.on_next(1)
    probe.request(5)
    assert probe.elements == [0]
    assert isinstance(probe.error, ProtocolError)
    dropped.clear()


def test_requests_wait_until_subscribe_has_returned() -> None:
    """rsocket-py sends its request for the stream at the end of subscribe: what was asked before would be lost."""
    seen: list[list[int]] = []

    def subscribing(upstream: Manual) -> None:
        upstream.subscriber.on_subscribe(upstream)
        seen.append(list(upstream.requests))

    upstream = Manual(subscribing)
    entering(upstream, 4)
    assert (seen, upstream.requests) == ([[]], [4])


@pytest.mark.parametrize(
    ("act", "kind", "text"),
    [
        (lambda it: it.on_next(None), TypeError, "rule 2.13"),
        (lambda it: it.on_error(None), TypeError, "rule 2.13"),
        (lambda it: it.on_error("text"), ProtocolError, "rule 1.4: the publisher failed with 'text'"),
        (lambda it: it.on_error(OSError("x")), OSError, "x"),
    ],
    ids=["None", "no error", "no exception", "an exception"],
)
def test_a_publisher_fails_or_breaks_a_rule(act: Any, kind: type[Exception], text: str) -> None:
    upstream = Manual()
    probe = entering(upstream, 2)
    with nullcontext() if kind is not TypeError else pytest.raises(TypeError, match=r"^rule 2\.13"):
        act(upstream.subscriber)
    assert isinstance(probe.error, kind)
    assert text in str(probe.error)


def test_an_element_before_on_subscribe_breaks_rule_1_9() -> None:
    probe = entering(Manual(lambda it: it.subscriber.on_next(1)), 2)
    assert isinstance(probe.error, ProtocolError)
    assert probe.error.rule == "1.9"


def test_a_second_subscription_is_cancelled() -> None:
    upstream, second = Manual(), Manual()
    probe = entering(upstream, 2)
    upstream.subscriber.on_subscribe(second)
    assert (upstream.cancelled, second.cancelled) == (False, True)
    upstream.subscriber.on_next(1)
    assert probe.elements == [1]


def test_a_subscription_that_comes_twice_fails_the_stream() -> None:
    upstream = Manual()
    probe = entering(upstream, 2)
    upstream.subscriber.on_subscribe(upstream)
    assert repr(probe.error) == "ProtocolError('rule 2.12: the publisher sent its subscription twice')"
    assert upstream.cancelled


def test_a_subscribe_that_raises_fails_the_stream() -> None:
    def fail(_: Manual) -> None:
        raise LookupError("no")

    assert isinstance(entering(Manual(fail), 1).error, LookupError)


def test_a_request_that_raises_fails_the_stream_by_rule_3_16() -> None:
    upstream = Manual()
    probe = entering(upstream)
    upstream.request = lambda n: 1 // 0  # type: ignore[method-assign]
    probe.request(1)
    assert isinstance(probe.error, ProtocolError)
    assert probe.error.rule == "3.16"
    assert isinstance(probe.error.__cause__, ZeroDivisionError)


def test_a_cancel_that_raises_is_reported_by_rule_3_15(dropped: list[Dropped]) -> None:
    upstream = Manual()
    probe = entering(upstream, 1)
    upstream.cancel = lambda: 1 // 0  # type: ignore[method-assign, return-value, assignment]
    probe.cancel()
    assert [each.what for each in dropped] == ["rule 3.15: the publisher's cancel raised"]
    dropped.clear()


def test_an_error_after_the_end_is_reported(dropped: list[Dropped]) -> None:
    upstream = Manual()
    probe = entering(upstream, 1)
    upstream.subscriber.on_complete()
    upstream.subscriber.on_error(OSError("late"))
    assert (probe.completed, probe.error) == (True, None)
    assert [each.what for each in dropped] == ["an error came after the end or the cancel"]
    dropped.clear()


# Out.


def test_a_subscriber_of_theirs_may_ask_inside_on_subscribe_and_is_told_the_end() -> None:
    heard: list[Any] = []
    theirs = DefaultSubscriber(
        on_subscribe=lambda subscription: subscription.request(5),
        on_next=lambda value, is_complete: heard.append((value, is_complete)),
        on_complete=lambda: heard.append("end"),
    )
    to_publisher(Stream.range(2)).subscribe(theirs)
    assert heard == [(0, False), (1, False), "end"]


def test_a_subscriber_of_theirs_gets_what_it_asks_for_until_it_cancels() -> None:
    upstream = Tracked(range(100))
    heard: list[int] = []
    theirs = DefaultSubscriber(on_next=lambda value, _: heard.append(value))
    to_publisher(Stream.from_iterable(upstream)).subscribe(theirs)
    assert heard == []
    assert theirs.subscription is not None
    theirs.subscription.request(2)
    assert heard == [0, 1]
    theirs.subscription.cancel()
    upstream.wait_until_closed()
    assert upstream.taken == 2


def test_a_subscriber_of_theirs_that_asks_for_nothing_is_told_rule_3_9() -> None:
    errors: list[Exception] = []
    theirs = DefaultSubscriber(on_error=errors.append, on_subscribe=lambda subscription: subscription.request(0))
    to_publisher(Stream.range(5)).subscribe(theirs)
    assert [str(error) for error in errors] == ["rule 3.9: request(0): a request must be positive"]


def test_a_subscriber_of_theirs_that_raises_cancels(dropped: list[Dropped]) -> None:
    upstream = Tracked(range(100))
    theirs = DefaultSubscriber(
        on_next=lambda value, _: 1 // 0, on_subscribe=lambda subscription: subscription.request(5)
    )
    to_publisher(Stream.from_iterable(upstream)).subscribe(theirs)
    upstream.wait_until_closed()
    [found] = dropped
    dropped.clear()
    assert isinstance(found.error, ZeroDivisionError)


def test_a_subscriber_of_theirs_keeps_the_rules_that_a_black_box_can_show() -> None:
    def make() -> Any:
        return from_subscriber(to_subscriber(subscriber(Sink.count())))

    report = verify_subscriber_blackbox(make, limits=Limits(timeout=2.0, quiet=0.02))
    assert report.ok, render(report)


def test_subscribers_cross_and_are_held_to_the_contract(dropped: list[Dropped]) -> None:
    total = subscriber(Sink.count())
    Stream.range(7).subscribe(from_subscriber(to_subscriber(total)))
    assert total.get() == 7
    manual = ManualPublisher[int](PlannedBreach.EXCEED_DEMAND)
    probe: Probe[int] = Probe(1)
    manual.subscribe(from_subscriber(to_subscriber(probe)))
    manual.next(1, 2)
    assert probe.elements == [1]
    assert isinstance(probe.error, ProtocolError)
    dropped.clear()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_publisher(5), "from_publisher: publisher must have subscribe(subscriber), got 5"),
        (lambda: from_publisher(to_publisher(Stream.just(1)), -1), "from_publisher: initial must be >= 0, got -1"),
        (lambda: to_publisher(5), "to_publisher: stream must have subscribe(subscriber), got 5"),  # type: ignore[arg-type]
        (lambda: from_subscriber(5), "from_subscriber: subscriber must have the four on_ methods, got 5"),
        (lambda: to_subscriber(5), "to_subscriber: subscriber must have the four on_ methods, got 5"),  # type: ignore[arg-type]
        (lambda: to_publisher(Stream.just(1)).subscribe(None), "rule 1.9: subscribe(None): a subscriber is needed"),
    ],
)
def test_bad_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert str(caught.value) == message


def test_without_the_library_the_extra_is_named() -> None:
    script = "import sys; sys.modules['reactivestreams'] = None; import penstock.bridges.reactivestreams"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: penstock.bridges.reactivestreams needs the package `reactivestreams`" in found.stderr
    assert "pip install 'penstock[reactivestreams]'" in found.stderr


# With rsocket-py: a Stream answers its requests, and what it receives is a Stream.


def test_rsocket_py_serves_a_stream_and_gives_one_back() -> None:
    from rsocket.helpers import single_transport_provider
    from rsocket.payload import Payload
    from rsocket.request_handler import BaseRequestHandler
    from rsocket.rsocket_client import RSocketClient
    from rsocket.rsocket_server import RSocketServer
    from rsocket.transports.tcp import TransportTCP

    numbers = Tracked(range(1, 1000))

    class Handler(BaseRequestHandler):
        async def request_stream(self, payload: Payload) -> Publisher:
            return to_publisher(Stream.from_iterable(numbers).map(lambda n: Payload(str(n).encode())))

    async def main() -> tuple[list[int], int]:
        servers: list[RSocketServer] = []
        listening = await asyncio.start_server(
            lambda *both: servers.append(RSocketServer(TransportTCP(*both), handler_factory=Handler)), "127.0.0.1", 0
        )
        connected = await asyncio.open_connection("127.0.0.1", listening.sockets[0].getsockname()[1])
        async with RSocketClient(single_transport_provider(TransportTCP(*connected))) as client:
            theirs = client.request_stream(Payload(b"numbers")).initial_request_n(5)
            stream = from_publisher(theirs, initial=5).map(lambda payload: int(payload.data))
            found = [number async for number in stream.take(20)]
            await until(lambda: not numbers.open_runs)  # the cancel is on its way
        for each in servers:
            await each.close()
        listening.close()
        await listening.wait_closed()
        return found, numbers.taken

    found, taken = asyncio.run(asyncio.wait_for(main(), 30))
    assert found == list(range(1, 21))
    assert taken < 300
