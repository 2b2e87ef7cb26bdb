"""The monitor passes everything on and names the rule that either side breaks."""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import pytest

from penstock.errors import ProtocolError
from penstock.spec.rules.every import RULES
from penstock.tck.monitor import monitor
from penstock.tck.outcome import Limits
from penstock.tck.publisher.verify import verify_publisher
from tests.tck.publisher.correct_publishers import FailsAfter, SyncPublisher, ThreadPublisher, numbers


class Recorder:
    """A subscriber that keeps its signals; `on` holds what to do inside which signal."""

    def __init__(self, **on):
        self.signals = []
        self.on = on
        self.subscription = None

    def _do(self, name, *arguments):
        self.signals.append((name, *arguments))
        if name in self.on:
            self.on[name](self)

    def on_subscribe(self, subscription):
        self.subscription = subscription
        self._do("subscribe")

    def on_next(self, element):
        self._do("next", element)

    def on_error(self, error):
        self._do("error", error)

    def on_complete(self):
        self._do("complete")

    @property
    def error(self):
        return next((signal[1] for signal in self.signals if signal[0] == "error"), None)

    @property
    def names(self):
        return [signal[0] for signal in self.signals]


class ByHand:
    """A publisher that does nothing by itself: `signals` is the monitored joint, calls on it are kept."""

    def __init__(self):
        self.calls = []
        self.signals = None
        self.inside_request = lambda n: None

    def subscribe(self, subscriber):
        self.signals = subscriber

    def request(self, n):
        self.calls.append(n)
        self.inside_request(n)

    def cancel(self):
        self.calls.append("cancel")


def join(**on):
    """Return a publisher by hand, its subscriber, and the breaches seen between them, already subscribed."""
    publisher, subscriber, breaches = ByHand(), Recorder(**on), []
    monitor(publisher, breaches.append).subscribe(subscriber)
    publisher.signals.on_subscribe(publisher)
    return publisher, subscriber, breaches


def texts(breaches):
    return [str(breach) for breach in breaches]


QUIETLY = Limits(elements=200, quiet=0.01)


def test_a_monitored_publisher_passes_the_kit():
    report = verify_publisher(
        lambda n: monitor(SyncPublisher(numbers(n))),
        failing=lambda k: monitor(SyncPublisher(FailsAfter(k))),
        over=lambda source: monitor(SyncPublisher(source)),
        closes=True,
        limits=QUIETLY,
    )
    assert report.failed == ()


def test_a_monitored_publisher_with_threads_passes_the_kit():
    report = verify_publisher(
        lambda n: monitor(ThreadPublisher(numbers(n))),
        failing=lambda k: monitor(ThreadPublisher(FailsAfter(k))),
        asynchronous=True,
        limits=QUIETLY,
    )
    assert report.failed == ()


def test_passes_a_legal_stream_on():
    publisher, subscriber, breaches = join()
    subscriber.subscription.request(2)
    publisher.signals.on_next(1)
    publisher.signals.on_next(2)
    publisher.signals.on_complete()
    assert subscriber.signals == [("subscribe",), ("next", 1), ("next", 2), ("complete",)]
    assert publisher.calls == [2]
    assert breaches == []


def test_refuses_none_as_subscriber():
    with pytest.raises(TypeError, match=r"^subscribe: subscriber must not be None$"):
        monitor(ByHand()).subscribe(None)


# what the publisher breaks


def cut_off_by(publisher, subscriber, breaches, text):
    """Say whether the publisher was cut off and the subscriber told why, once."""
    assert texts(breaches) == [text]
    assert str(subscriber.error) == text
    assert isinstance(subscriber.error, ProtocolError)
    assert subscriber.names.count("error") == 1
    assert publisher.calls[-1:] == ["cancel"]


def test_sees_more_elements_than_were_requested():
    publisher, subscriber, breaches = join()
    subscriber.subscription.request(1)
    for element in (1, 2, 3):
        publisher.signals.on_next(element)
    cut_off_by(publisher, subscriber, breaches[:1], "rule 1.1: publisher sent 2 elements, 1 were requested")
    assert subscriber.names == ["subscribe", "next", "error"]


def test_sees_signals_that_overlap_and_reports_them_after_the_one_that_runs():
    entered, leave = threading.Event(), threading.Event()

    def stay(subscriber):
        entered.set()
        leave.wait(10)

    publisher, subscriber, breaches = join(next=stay)
    subscriber.subscription.request(5)
    sender = threading.Thread(target=publisher.signals.on_next, args=(1,))
    sender.start()
    assert entered.wait(10)
    publisher.signals.on_next(2)
    assert subscriber.names == ["subscribe", "next"]
    leave.set()
    sender.join(10)
    text = "rule 1.3: publisher called on_next while on_next ran on another thread"
    cut_off_by(publisher, subscriber, breaches, text)
    assert subscriber.names == ["subscribe", "next", "error"]


@pytest.mark.parametrize("end", ["on_complete", "on_error"])
def test_sees_a_signal_after_the_end(end):
    publisher, subscriber, breaches = join()
    subscriber.subscription.request(5)
    getattr(publisher.signals, end)(*([OSError()] if end == "on_error" else []))
    publisher.signals.on_next(1)
    assert texts(breaches) == [f"rule 1.7: publisher called on_next after {end}"]
    assert len(subscriber.signals) == 2


def test_sees_a_signal_before_on_subscribe():
    publisher, subscriber, breaches = ByHand(), Recorder(), []
    monitor(publisher, breaches.append).subscribe(subscriber)
    publisher.signals.on_next(1)
    publisher.signals.on_subscribe(publisher)
    cut_off_by(publisher, subscriber, breaches, "rule 1.9: publisher called on_next before on_subscribe")
    assert subscriber.names == ["subscribe", "error"]


def test_sees_subscribe_raise():
    class Raising:
        def subscribe(self, subscriber):
            raise OSError("no")

    subscriber, breaches = Recorder(), []
    monitor(Raising(), breaches.append).subscribe(subscriber)
    assert texts(breaches) == ["rule 1.9: publisher raised OSError('no') in subscribe"]
    assert subscriber.names == ["subscribe", "error"]
    assert isinstance(subscriber.error.__cause__, OSError)


def test_sees_a_second_on_subscribe_and_cancels_it():
    publisher, subscriber, breaches = join()
    second = ByHand()
    publisher.signals.on_subscribe(second)
    cut_off_by(publisher, subscriber, breaches, "rule 2.12: publisher called on_subscribe a second time")
    assert second.calls == ["cancel"]


@pytest.mark.parametrize("signal", ["on_next", "on_error"])
def test_sees_none_sent(signal):
    publisher, subscriber, breaches = join()
    subscriber.subscription.request(1)
    getattr(publisher.signals, signal)(None)
    cut_off_by(publisher, subscriber, breaches, f"rule 2.13: publisher called {signal} with None")


def test_sees_none_as_subscription():
    publisher, subscriber, breaches = ByHand(), Recorder(), []
    monitor(publisher, breaches.append).subscribe(subscriber)
    publisher.signals.on_subscribe(None)
    assert texts(breaches) == ["rule 2.13: publisher called on_subscribe with None"]
    assert subscriber.names == ["subscribe", "error"]


def test_sees_one_subscription_given_to_two_subscribers():
    publisher, _, breaches = join()
    other = Recorder()
    monitor(publisher, breaches.append).subscribe(other)
    publisher.signals.on_subscribe(publisher)
    assert texts(breaches) == ["rule 3.1: publisher gave one subscription to two subscribers"]
    assert str(other.error) == texts(breaches)[0]
    assert publisher.calls == []


def test_a_subscription_may_be_reused_when_it_is_over():
    publisher, subscriber, breaches = join()
    subscriber.subscription.cancel()
    monitor(publisher, breaches.append).subscribe(Recorder())
    publisher.signals.on_subscribe(publisher)
    assert breaches == []


def test_sees_request_raise():
    publisher, subscriber, breaches = join()
    publisher.inside_request = lambda n: 1 // 0
    subscriber.subscription.request(3)
    text = "rule 3.16: publisher raised ZeroDivisionError('integer division or modulo by zero') in request(3)"
    cut_off_by(publisher, subscriber, breaches, text)


def test_sees_cancel_raise():
    class Raising(ByHand):
        def cancel(self):
            raise OSError("no")

    publisher, subscriber, breaches = Raising(), Recorder(), []
    monitor(publisher, breaches.append).subscribe(subscriber)
    publisher.signals.on_subscribe(publisher)
    subscriber.subscription.cancel()
    assert texts(breaches) == ["rule 3.15: publisher raised OSError('no') in cancel()"]
    assert subscriber.names == ["subscribe"]


# what the subscriber breaks


def test_sees_a_subscriber_subscribed_twice():
    publisher, subscriber, breaches = join()
    monitor(publisher, breaches.append).subscribe(subscriber)
    assert texts(breaches) == ["rule 1.10: subscriber was subscribed before"]


def test_sees_a_second_subscription_that_is_not_cancelled():
    _, subscriber, breaches = join()
    second = ByHand()
    monitor(second, breaches.append).subscribe(subscriber)
    second.signals.on_subscribe(second)
    assert texts(breaches) == [
        "rule 1.10: subscriber was subscribed before",
        "rule 2.5: subscriber kept a second subscription beside one in use",
    ]


def test_a_second_subscription_that_is_cancelled_is_as_it_should_be():
    def keep_the_first(subscriber):
        if subscriber.names.count("subscribe") == 2:
            subscriber.subscription.cancel()

    _, subscriber, breaches = join(subscribe=keep_the_first)
    second = ByHand()
    monitor(second, breaches.append).subscribe(subscriber)
    second.signals.on_subscribe(second)
    assert texts(breaches) == ["rule 1.10: subscriber was subscribed before"]
    assert second.calls == ["cancel"]


@pytest.mark.parametrize("end", ["complete", "error"])
@pytest.mark.parametrize("call", ["request(1)", "cancel()"])
def test_sees_a_call_inside_an_end_signal_and_stops_it(end, call):
    def do(subscriber):
        subscriber.subscription.request(1) if call == "request(1)" else subscriber.subscription.cancel()

    publisher, _, breaches = join(**{end: do})
    publisher.signals.on_complete() if end == "complete" else publisher.signals.on_error(OSError())
    assert texts(breaches) == [f"rule 2.3: subscriber called {call} inside on_{end}"]
    assert publisher.calls == []


def test_sees_a_request_after_the_end_and_stops_it():
    publisher, subscriber, breaches = join()
    publisher.signals.on_complete()
    subscriber.subscription.request(1)
    subscriber.subscription.cancel()
    assert texts(breaches) == ["rule 2.4: subscriber called request(1) after on_complete"]
    assert publisher.calls == []


def test_sees_requests_that_overlap():
    entered, leave = threading.Event(), threading.Event()

    def stay(n):
        if n == 1:
            entered.set()
            leave.wait(10)

    publisher, subscriber, breaches = join()
    publisher.inside_request = stay
    asking = threading.Thread(target=subscriber.subscription.request, args=(1,))
    asking.start()
    assert entered.wait(10)
    subscriber.subscription.request(2)
    leave.set()
    asking.join(10)
    assert texts(breaches) == ["rule 2.7: subscriber called request on two threads at once"]
    assert publisher.calls == [1, 2]


def test_a_request_caused_by_an_element_may_overlap():
    def ask_elsewhere(subscriber):
        asking = threading.Thread(target=subscriber.subscription.request, args=(1,))
        asking.start()
        asking.join(10)

    publisher, subscriber, breaches = join(next=ask_elsewhere)
    publisher.inside_request = lambda n: publisher.signals.on_next(n) if n == 2 else None
    subscriber.subscription.request(2)
    assert publisher.calls == [2, 1]
    assert breaches == []


def test_sees_a_signal_method_raise_and_lets_the_publisher_know():
    publisher, subscriber, breaches = join(next=lambda subscriber: 1 // 0)
    subscriber.subscription.request(2)
    with pytest.raises(ZeroDivisionError):
        publisher.signals.on_next(1)
    publisher.signals.on_next(2)
    assert [breach.rule for breach in breaches] == ["2.13"]
    assert publisher.calls == [2, "cancel"]
    assert subscriber.names == ["subscribe", "next"]


@pytest.mark.parametrize("n", [0, -1])
def test_sees_a_request_below_one_and_leaves_the_answer_to_the_publisher(n):
    publisher, subscriber, breaches = join()
    subscriber.subscription.request(n)
    assert texts(breaches) == [f"rule 3.9: subscriber called request({n}), a request must be positive"]
    assert publisher.calls == [n]


# where breaches go, and what is left behind


def test_logs_what_cannot_be_delivered_when_nobody_listens(caplog):
    publisher, subscriber = ByHand(), Recorder()
    monitor(publisher).subscribe(subscriber)
    publisher.signals.on_subscribe(publisher)
    publisher.signals.on_complete()
    with caplog.at_level(logging.ERROR, "penstock"):
        publisher.signals.on_complete()
    assert caplog.messages == ["rule 1.7: publisher called on_complete after on_complete"]
    assert subscriber.names == ["subscribe", "complete"]


def test_does_not_log_what_the_subscriber_was_told(caplog):
    publisher, subscriber = ByHand(), Recorder()
    monitor(publisher).subscribe(subscriber)
    publisher.signals.on_subscribe(publisher)
    publisher.signals.on_next(1)
    assert str(subscriber.error) == "rule 1.1: publisher sent 1 elements, 0 were requested"
    assert caplog.messages == []


def test_survives_a_listener_that_raises(caplog):
    publisher, subscriber = ByHand(), Recorder()
    monitor(publisher, lambda breach: 1 // 0).subscribe(subscriber)
    publisher.signals.on_subscribe(publisher)
    publisher.signals.on_next(1)
    assert subscriber.names == ["subscribe", "error"]
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("over", ["on_complete", "cancel"])
def test_lets_go_of_the_subscriber(over):
    publisher, subscriber, _ = join()
    subscription, gone = subscriber.subscription, weakref.ref(subscriber)
    publisher.signals.on_complete() if over == "on_complete" else subscription.cancel()
    del subscriber
    gc.collect()
    assert gone() is None
    assert subscription is publisher.signals


def test_keeps_no_subscription_alive():
    publisher, subscriber, _ = join()
    gone = weakref.ref(publisher)
    del publisher, subscriber
    gc.collect()
    assert gone() is None


SHOWN = {
    "monitor.demand_never_exceeded": test_sees_more_elements_than_were_requested,
    "monitor.signals_are_serial": test_sees_signals_that_overlap_and_reports_them_after_the_one_that_runs,
    "monitor.silent_after_end": test_sees_a_signal_after_the_end,
    "monitor.on_subscribe_comes_first": test_sees_a_signal_before_on_subscribe,
    "monitor.subscriber_is_fresh": test_sees_a_subscriber_subscribed_twice,
    "monitor.end_signals_call_nothing": test_sees_a_call_inside_an_end_signal_and_stops_it,
    "monitor.no_calls_after_end": test_sees_a_request_after_the_end_and_stops_it,
    "monitor.subscription_calls_are_serial": test_sees_requests_that_overlap,
    "monitor.on_subscribe_at_most_once": test_sees_a_second_on_subscribe_and_cancels_it,
    "monitor.signals_return_normally": test_sees_a_signal_method_raise_and_lets_the_publisher_know,
    "monitor.subscription_has_one_user": test_sees_one_subscription_given_to_two_subscribers,
    "monitor.requests_are_positive": test_sees_a_request_below_one_and_leaves_the_answer_to_the_publisher,
}


def test_everything_the_rules_expect_of_a_monitor_is_shown():
    assert set(SHOWN) == {test for rule in RULES for test in rule.tests if test.startswith("monitor.")}
