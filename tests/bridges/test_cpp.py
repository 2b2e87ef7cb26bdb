"""cpp: dropping a subscription cancels, zero asks for nothing, and signals wait for subscribe to return."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from penstock import ProtocolError, Stream, thread
from penstock.bridges.cpp import CppSubscription, ElementCount, from_cpp, to_cpp
from penstock.tck import Limits, render, verify_publisher
from penstock.testing import ManualPublisher, Probe, Tracked
from tests.engine.parts import noop
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LIMITS = Limits(elements=20, timeout=5.0, quiet=0.02)
LOST = LookupError("lost")


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Leave everything to the counting of references."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Taker:
    """Be a subscriber of the C++ dialect, which records what it is told."""

    def __init__(self, on_next: Callable[[Any], object] = lambda _: None) -> None:
        self.signals: list[object] = []
        self.changed = threading.Condition()
        self._on_next = on_next

    def _record(self, signal: object) -> None:
        with self.changed:
            self.signals.append(signal)
            self.changed.notify_all()

    def on_next(self, element: Any, /) -> None:
        self._record(element)
        self._on_next(element)

    def on_error(self, error: Exception, /) -> None:
        self._record(error)

    def on_complete(self) -> None:
        self._record("complete")

    def wait_for(self, count: int) -> list[object]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.signals) >= count, PATIENCE)
        return self.signals


FORMS: dict[str, Callable[[Iterable[Any]], Stream[Any]]] = {
    "sync": Stream.from_iterable,
    "signals": lambda items: Stream.from_iterable(items).do_finally(noop),
    "thread": lambda items: Stream.from_iterable(items).publish_on(thread(), prefetch=4),
    "subscribed elsewhere": lambda items: Stream.from_iterable(items).subscribe_on(thread()),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


@pytest.mark.parametrize("form", [FORMS["sync"], FORMS["signals"], FORMS["thread"]], ids=["sync", "signals", "thread"])
def test_what_is_offered_keeps_every_rule_of_the_cpp_text(
    form: Callable[[Iterable[Any]], Stream[Any]], dropped: list[Any]
) -> None:
    def make(count: int | None) -> Any:
        return to_cpp(form(range(10**6 if count is None else count)))

    report = verify_publisher(
        make,
        failing=lambda *_: to_cpp(form(Tracked([], LOST))),
        over=lambda items: to_cpp(form(items)),
        dialect="cpp",
        limits=LIMITS,
    )
    assert report.ok, render(report)
    dropped.clear()  # what a subscriber of the kit raised


@each_form
def test_dropping_the_last_reference_cancels_without_the_collector(
    form: Callable[[Iterable[Any]], Stream[Any]], no_collector: None
) -> None:
    before = threading.enumerate()  # of other tests, such as those of a pool
    items = Tracked(range(100))
    taker = Taker()
    subscription = to_cpp(form(items)).subscribe(taker)
    subscription.request(1)
    assert taker.wait_for(1) == [0]
    gone = weakref.ref(taker)
    del taker
    assert items.open_runs == 1
    del subscription
    items.wait_until_closed()
    for each in threading.enumerate():
        if each.name.startswith("penstock") and each not in before:
            each.join(PATIENCE)
    assert gone() is None  # rule 3.12 of the C++ text


def test_nothing_refers_to_the_subscription_that_was_given_out(no_collector: None) -> None:
    subscription = to_cpp(Stream.range(10)).subscribe(Taker())
    subscription.request(3)
    assert gc.get_referrers(subscription) == []


def test_a_subscriber_that_keeps_its_own_subscription_is_dropped_with_it_by_the_collector() -> None:
    items = Tracked(range(100))
    taker: Any = Taker()
    taker.subscription = to_cpp(Stream.from_iterable(items)).subscribe(taker)
    taker.subscription.request(1)
    del taker
    gc.collect()
    items.wait_until_closed()  # on a thread of its own, so that no lock can be in the way


SIGNALLED_IN_C = """
import _thread, gc, operator, penstock
[*map(operator.call, (_thread.interrupt_main, gc.collect, gc.collect))]
print("lost")
"""


def test_what_the_collector_tells_does_not_swallow_an_interruption() -> None:
    # The list is made by C code, so that the first to look for signals would be what the collector calls.
    ended = subprocess.run([sys.executable, "-c", SIGNALLED_IN_C], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr.splitlines()[-1]) == ("", "KeyboardInterrupt")


def test_the_end_breaks_the_circle_of_a_subscriber_that_keeps_its_own_subscription(no_collector: None) -> None:
    taker: Any = Taker()
    taker.subscription = to_cpp(Stream.range(2)).subscribe(taker)
    taker.subscription.request(5)
    assert taker.signals == [0, 1, "complete"]
    assert repr(taker.subscription) == "<CppSubscription of nothing>"
    gone = weakref.ref(taker)
    del taker
    assert gone() is None


def test_a_collector_that_strikes_while_the_run_holds_its_lock_does_not_stop_it() -> None:
    """The subscription is dropped by a collection in the middle of a run's own work, on the very same thread."""
    done = threading.Event()

    class Circle:
        def __init__(self, subscription: CppSubscription) -> None:
            self.subscription = subscription
            self.me = self

    class Lock:
        """Be the lock of a run, which is held when the collector comes."""

        def __init__(self) -> None:
            self.lock = threading.Lock()

        def request(self, n: int, /) -> None:
            pass

        def cancel(self) -> None:
            with self.lock:
                done.set()

    run = Lock()

    class Upstream:
        def subscribe(self, subscriber: Any, /) -> None:
            subscriber.on_subscribe(run)

    Circle(to_cpp(Upstream()).subscribe(Taker()))
    with run.lock:
        gc.collect()
        assert not done.is_set()
    assert done.wait(PATIENCE)


def test_leaving_a_with_block_cancels() -> None:
    items = Tracked(range(100))
    with to_cpp(Stream.from_iterable(items)).subscribe(Taker()) as subscription:
        subscription.request(2)
        assert items.open_runs == 1
    assert items.open_runs == 0
    subscription.request(1)  # rule 3.6
    subscription.cancel()
    assert items.taken == 2


def test_a_subscription_made_without_a_stream_does_nothing() -> None:
    subscription = CppSubscription()
    for count in (0, 1, -1, ElementCount.unbounded()):
        subscription.request(count)
    subscription.cancel()
    assert repr(subscription) == "<CppSubscription of nothing>"


def test_a_subscription_is_moved_and_never_copied() -> None:
    items = Tracked(range(100))
    taker = Taker()
    first = to_cpp(Stream.from_iterable(items)).subscribe(taker)
    second = first.move()
    assert (repr(first), repr(second)) == ("<CppSubscription of nothing>", "<CppSubscription>")
    first.request(5)
    first.cancel()
    del first
    assert (taker.signals, items.open_runs) == ([], 0)
    second.request(1)
    assert (taker.signals, items.open_runs) == ([0], 1)
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(
            TypeError, match=r"^CppSubscription: a subscription has one owner and cannot be copied; use move\(\)$"
        ):
            way(second)
    del second
    assert items.open_runs == 0


def test_zero_asks_for_nothing_and_counts_add_up() -> None:
    taker = Taker()
    subscription = to_cpp(Stream.range(10)).subscribe(taker)
    for count in (0, ElementCount(), ElementCount(2), 1):
        subscription.request(count)
    assert taker.signals == [0, 1, 2]
    subscription.request(ElementCount.unbounded())
    assert taker.signals == [*range(10), "complete"]


@pytest.mark.parametrize(
    ("count", "kind", "message"),
    [
        (-1, ValueError, "rule 3.9: request(-1): a request must be positive"),
        (False, TypeError, "rule 3.9: request(False): a request must be a whole number, got bool"),
        (0.0, TypeError, "rule 3.9: request(0.0): a request must be a whole number, got float"),
        ("1", TypeError, "rule 3.9: request('1'): a request must be a whole number, got str"),
    ],
)
def test_a_count_that_cpp_cannot_express_fails_the_stream_and_never_raises(
    count: Any, kind: type[Exception], message: str
) -> None:
    for form in (FORMS["sync"], FORMS["subscribed elsewhere"]):
        taker = Taker()
        subscription = to_cpp(form(range(10))).subscribe(taker)
        subscription.request(count)
        (error,) = taker.wait_for(1)
        assert (type(error), str(error)) == (kind, message)


def test_demand_and_cancel_that_come_before_another_thread_has_subscribed_are_kept() -> None:
    waits: list[Any] = []

    class Late:
        def subscribe(self, subscriber: Any, /) -> None:
            waits.append(subscriber)

    upstream: ManualPublisher[int] = ManualPublisher()
    subscription = to_cpp(Late()).subscribe(Taker())
    subscription.request(2)
    subscription.request(3)
    upstream.subscribe(waits[0])
    assert upstream.requests == [5]
    cancelled: ManualPublisher[int] = ManualPublisher()
    subscription = to_cpp(Late()).subscribe(Taker())
    del subscription
    cancelled.subscribe(waits[1])
    assert cancelled.subscriptions[0].cancelled


def test_subscriptions_go_on_when_the_publisher_is_dropped(no_collector: None) -> None:
    publisher = to_cpp(Stream.range(5))
    gone = weakref.ref(publisher)
    taker = Taker()
    subscription = publisher.subscribe(taker)
    del publisher
    assert gone() is None
    subscription.request(9)
    assert taker.signals == [0, 1, 2, 3, 4, "complete"]


@pytest.mark.parametrize("subscriber", [None, 3, Taker, object()])
def test_what_is_no_subscriber_is_refused(subscriber: Any) -> None:
    message = f"rule 1.9: subscribe({subscriber!r}): a C++ subscriber has on_next, on_error, on_complete"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        to_cpp(Stream.range(3)).subscribe(subscriber)


def test_what_is_no_publisher_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^to_cpp: stream must be a Stream or another Publisher, got 3$"):
        to_cpp(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^from_cpp: publisher must have subscribe\(subscriber\), got 3$"):
        from_cpp(3)  # type: ignore[arg-type]


def test_a_subscriber_that_raises_is_cut_off_and_reported(dropped: list[Any]) -> None:
    def raises(_: object) -> None:
        raise ArithmeticError("taker")

    items = Tracked(range(10))
    subscription = to_cpp(Stream.from_iterable(items)).subscribe(Taker(raises))
    subscription.request(5)
    assert (items.taken, items.open_runs) == (1, 0)
    assert [(each.what, repr(each.error)) for each in dropped] == [
        ("rule 2.13: the subscriber raised in on_next", "ArithmeticError('taker')")
    ]
    dropped.clear()


# From the C++ dialect.


class Handle:
    """Be a subscription of another make, which records what is asked and when it is dropped."""

    def __init__(self, record: list[Any]) -> None:
        self.record = record

    def request(self, n: int, /) -> None:
        self.record.append(n)

    def cancel(self) -> None:
        self.record.append("cancel")

    def __del__(self) -> None:
        self.record.append("dropped")


class Foreign:
    """Be a publisher of the C++ dialect that sends what it is told."""

    def __init__(self, *before: Callable[[Any], None], returns: Callable[[list[Any]], Any] = Handle) -> None:
        self.record: list[Any] = []
        self.subscriber: Any = None
        self._before = before
        self._returns = returns

    def subscribe(self, subscriber: Any, /) -> Any:
        self.subscriber = subscriber
        for signal in self._before:
            signal(subscriber)
        return self._returns(self.record)


def test_demand_is_told_as_element_counts_and_the_subscription_lives_as_long_as_the_run() -> None:
    foreign = Foreign()
    probe: Probe[int] = Probe()
    from_cpp(foreign).subscribe(probe)
    probe.request(2)
    probe.request()
    assert foreign.record == [ElementCount(2), ElementCount.unbounded()]
    assert {type(n) for n in foreign.record} == {ElementCount}
    foreign.subscriber.on_next(1)
    foreign.subscriber.on_complete()
    assert (probe.elements, probe.completed, probe.breaches) == ([1], True, [])
    foreign.subscriber = None
    gc.collect()
    assert foreign.record[2:] == ["dropped"]


def test_cancel_reaches_the_subscription_and_lets_go_of_it() -> None:
    foreign = Foreign()
    probe: Probe[int] = Probe(1)
    from_cpp(foreign).subscribe(probe)
    probe.cancel()
    foreign.subscriber.on_next(1)  # rule 2.7 of the C++ text: it may not have heard of it
    assert foreign.record == [1, "cancel", "dropped"]
    assert probe.signals == []


def test_a_consumer_that_forgets_its_subscription_loses_nothing() -> None:
    """The run is kept by its source, and so is the subscription that must not be dropped meanwhile."""
    taken: list[int] = []
    done = threading.Event()

    class Forgetful:
        def on_subscribe(self, subscription: Any, /) -> None:
            subscription.request(2**63 - 1)

        def on_next(self, element: int, /) -> None:
            taken.append(element)

        def on_error(self, error: Exception, /) -> None:
            raise error

        def on_complete(self) -> None:
            done.set()

    from_cpp(to_cpp(Stream.range(2000).publish_on(thread(), prefetch=1))).subscribe(Forgetful())
    gc.collect()
    assert done.wait(PATIENCE)
    assert taken == list(range(2000))


@pytest.mark.parametrize("error", [None, LOST])
def test_an_end_that_comes_before_subscribe_returns_waits_for_it(error: Exception | None) -> None:
    foreign = Foreign(lambda taker: taker.on_complete() if error is None else taker.on_error(error))
    probe: Probe[int] = Probe()
    from_cpp(foreign).subscribe(probe)
    assert (probe.ended, probe.error, probe.breaches) == (True, error, [])


@pytest.mark.parametrize("asked", [0, 3])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_elements_that_overtake_subscribe_were_not_requested_and_none_is_held(
    elsewhere: bool, asked: int, dropped: list[Any]
) -> None:
    alive: list[Any] = []

    class Element:
        pass

    def send(taker: Any) -> None:
        for _ in range(1000):
            element = Element()
            alive.append(weakref.ref(element))
            taker.on_next(element)
        del element
        assert sum(each() is not None for each in alive) <= 1  # the one that was reported as dropped
        taker.on_complete()

    def from_another_thread(taker: Any) -> None:
        sender = threading.Thread(target=send, args=[taker])
        sender.start()
        sender.join(PATIENCE)

    foreign = Foreign(from_another_thread if elsewhere else send)
    probe: Probe[Any] = Probe(asked)  # which asks inside on_subscribe, too late for what came before it
    from_cpp(foreign).subscribe(probe)
    assert (probe.elements, probe.breaches) == ([], [])
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    assert foreign.record == ["cancel", "dropped"]
    dropped.clear()


def test_the_names_of_the_text_are_understood_in_both_directions() -> None:
    """A binding to C++ shows the names as they are written there."""

    class Ticket:
        def __init__(self, taker: Any) -> None:
            self.taker = taker
            self.left = [1, 2]

        def Request(self, count: ElementCount, /) -> None:
            assert type(count) is ElementCount
            for _ in range(min(count, len(self.left))):
                self.taker.OnNext(self.left.pop(0))
            if not self.left:
                self.taker.OnComplete()

        def Cancel(self) -> None:
            self.left.clear()

    class Press:
        def Subscribe(self, subscriber: Any, /) -> Ticket:
            return Ticket(subscriber)

    class Pascal:
        def __init__(self) -> None:
            self.signals: list[object] = []

        def OnNext(self, element: object, /) -> None:
            self.signals.append(element)

        def OnError(self, error: Exception, /) -> None:
            self.signals.append(error)

        def OnComplete(self) -> None:
            self.signals.append("complete")

    assert list(from_cpp(Press())) == [1, 2]  # type: ignore[arg-type, var-annotated]
    taker: Any = Pascal()
    subscription = to_cpp(Stream.range(2)).Subscribe(taker)
    subscription.Request(ElementCount(5))
    assert taker.signals == [0, 1, "complete"]
    subscription.Cancel()


BREACHES: dict[str, tuple[Foreign, str]] = {
    "an element before subscribe returns": (
        Foreign(lambda taker: taker.on_next(1)),
        "rule 1.1: the publisher sent an element that was not requested",
    ),
    "no subscription": (
        Foreign(returns=lambda _: None),
        "rule 1.9: subscribe returned None, which is not a subscription",
    ),
    "something else": (Foreign(returns=lambda _: 3), "rule 1.9: subscribe returned 3, which is not a subscription"),
}


@pytest.mark.parametrize(("foreign", "message"), BREACHES.values(), ids=BREACHES.keys())
def test_a_publisher_that_subscribes_wrongly_is_told_of_by_rule(
    foreign: Foreign, message: str, dropped: list[Any]
) -> None:
    probe: Probe[int] = Probe()
    from_cpp(foreign).subscribe(probe)
    assert (type(probe.error), str(probe.error)) == (ProtocolError, message)
    assert probe.breaches == []
    dropped.clear()


def test_what_a_publisher_does_against_the_contract_later_ends_its_own_stream_only(dropped: list[Any]) -> None:
    foreign, other = Foreign(), Foreign()
    probe: Probe[int] = Probe(1)
    bystander: Probe[int] = Probe(1)
    from_cpp(foreign).subscribe(probe)
    from_cpp(other).subscribe(bystander)
    foreign.subscriber.on_next(1)
    foreign.subscriber.on_next(2)
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    foreign.subscriber.on_error(LOST)
    foreign.subscriber.on_complete()
    assert [each.what for each in dropped] == [
        "rule 1.1: the publisher sent an element that was not requested",
        "an error came after the end or the cancel",
    ]
    assert foreign.record[:2] == [1, "cancel"]
    other.subscriber.on_next(1)
    other.subscriber.on_complete()
    assert (bystander.elements, bystander.completed) == ([1], True)
    dropped.clear()


def test_a_subscription_that_raises_is_told_of_by_rule(dropped: list[Any]) -> None:
    class Raising:
        def __init__(self, _: object) -> None:
            pass

        def request(self, n: int, /) -> None:
            raise RuntimeError("request")

        def cancel(self) -> None:
            raise RuntimeError("cancel")

    probe: Probe[int] = Probe(1)
    from_cpp(Foreign(returns=Raising)).subscribe(probe)
    assert str(probe.error) == "rule 3.16: the publisher's request raised RuntimeError('request')"
    assert [each.what for each in dropped] == ["rule 3.15: the publisher's cancel raised"]
    dropped.clear()


def test_a_publisher_of_the_jvm_text_is_taken_as_it_is() -> None:
    probe: Probe[int] = Probe(2)
    from_cpp(Stream.range(3)).subscribe(probe)  # type: ignore[arg-type]
    assert (probe.elements, probe.ended) == ([0, 1], False)
    probe.cancel()


def test_a_publisher_that_raises_in_subscribe_fails_the_stream() -> None:
    def raises(_: object) -> None:
        raise LOST

    probe: Probe[int] = Probe(1)
    from_cpp(Foreign(raises)).subscribe(probe)
    assert (probe.error, probe.breaches) == (LOST, [])
