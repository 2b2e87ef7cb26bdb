"""The kit fails publishers that break a rule on threads of their own, and never hangs with them."""

from __future__ import annotations

import queue
import threading

import pytest

from penstock.tck.environment import Environment
from penstock.tck.outcome import Limits, Status
from penstock.tck.publisher.verify import verify_publisher
from tests.tck.publisher.correct_publishers import (
    ScheduledPublisher,
    ScheduledRun,
    Scheduler,
    SyncPublisher,
    SyncRun,
    ThreadPublisher,
    ThreadRun,
    numbers,
)

QUICK = Limits(elements=100, timeout=0.3, quiet=0.03)


class ThreadedBy(ThreadPublisher):
    run = ThreadRun

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")
        self.run(self, subscriber)


class SignalsDuringOnSubscribe(ThreadRun):
    """Starts to send on its thread as soon as it is asked, on_subscribe still running on another."""

    def __init__(self, publisher, subscriber):
        self.publisher = publisher
        self.changed = threading.Condition()
        self.demand = 0
        self.refused = None
        self.over = False
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n):
        super().request(n)
        with self.changed:
            subscriber, self.subscriber = self.subscriber, None
        if subscriber is not None:
            threading.Thread(target=self.serve, args=(_Subscribed(subscriber),), daemon=True).start()


class _Subscribed:
    def __init__(self, subscriber):
        self.on_next, self.on_error, self.on_complete = subscriber.on_next, subscriber.on_error, subscriber.on_complete

    def on_subscribe(self, subscription):
        pass


class IgnoresCancel(ThreadRun):
    def cancel(self):
        pass


class IgnoresDemand(ThreadRun):
    def wait(self):
        return not self.over


class SharesTheWork(SyncRun):
    """Sends every element from a thread of its own and waits for none."""

    def send(self, element):
        threading.Thread(target=super().send, args=(element,), daemon=True).start()


# A thread that is stopped by the kit ends by SystemExit, which pytest, unlike threading, reports.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("run", "rule"),
    [(SignalsDuringOnSubscribe, "1.3"), (IgnoresCancel, "3.12"), (IgnoresDemand, "1.1")],
)
def test_fails_a_thread_that_breaks_a_rule(run, rule):
    def make(n):
        made = ThreadedBy(numbers(n))
        made.run = run
        return made

    report = verify_publisher(make, limits=QUICK)
    assert rule in {outcome.rule for outcome in report.failed}


def test_fails_elements_sent_from_many_threads_at_once():
    def make(n):
        made = SyncPublisher(numbers(n))
        made.run = SharesTheWork
        return made

    report = verify_publisher(make, limits=QUICK, max_elements=50)
    assert report.outcome("publisher.signals_are_serial").status is Status.FAILED


def test_fails_demand_that_is_overwritten():
    class Overwrites(ScheduledRun):
        def add(self, n):
            self.demand = n

    scheduler = Scheduler()

    def make(n):
        made = ScheduledPublisher(numbers(n), scheduler)
        made.run = Overwrites
        return made

    report = verify_publisher(make, limits=Limits(elements=100), settle=scheduler.run_dry)
    outcome = report.outcome("publisher.requests_add_up")
    assert outcome.status is Status.FAILED
    assert outcome.detail == "77 elements were requested in all, 66 came"
    # a thousand requests are no more than many requests that do not add up
    assert {failed.rule for failed in report.failed} == {"3.8", "3.17"}


def test_is_not_hung_by_a_subject_that_never_returns():
    gate = threading.Event()

    class Hangs(SyncPublisher):
        def subscribe(self, subscriber):
            gate.wait()

    try:
        report = verify_publisher(lambda n: Hangs(numbers(n)), limits=Limits(timeout=0.01, quiet=0.01))
    finally:
        gate.set()
    assert report.outcome("publisher.demand_never_exceeded").status is Status.FAILED
    assert report.outcome("publisher.demand_never_exceeded").detail == "the subject did not return within 0.01 s"


def test_is_not_hung_by_a_subject_that_sends_without_end():
    class Floods(SyncRun):
        def step(self):
            self.subscriber.on_next(1)
            return True

    def make(n):
        made = SyncPublisher(numbers(n))
        made.run = Floods
        return made

    report = verify_publisher(make, limits=QUICK)
    assert "1.1" in {outcome.rule for outcome in report.failed}


def test_is_not_hung_by_a_scheduler_that_never_runs_dry():
    gate = threading.Event()
    try:
        report = verify_publisher(
            lambda n: SyncPublisher(numbers(n)), settle=gate.wait, limits=Limits(timeout=0.05, quiet=0.01)
        )
    finally:
        gate.set()
    assert not report.ok


def test_cancels_a_subscription_that_comes_when_the_trial_is_over():
    environment = Environment(QUICK)
    late, calls = environment.probe(), []

    class Late:
        def request(self, n):
            calls.append("request")

        def cancel(self):
            calls.append("cancel")

    environment.close()
    late.on_subscribe(Late())
    assert calls == ["cancel"]


class Mailbox:
    """Sends as the example of the JVM text does: a batch between two looks into its mailbox."""

    batch = 1024

    def __init__(self, count):
        self.source = numbers(count)

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")
        MailboxRun(self.source, subscriber, self.batch)


class MailboxRun:
    def __init__(self, source, subscriber, batch):
        self.letters = queue.SimpleQueue()
        self.batch = batch
        self.over = False
        threading.Thread(target=self.serve, args=(iter(source), [subscriber]), name="mailbox", daemon=True).start()

    def request(self, n):
        if not self.over:
            self.letters.put(n)

    def cancel(self):
        if not self.over:
            self.letters.put("cancel")

    def serve(self, elements, subscribers):
        try:
            subscribers[0].on_subscribe(self)
            end = self.send(elements, subscribers[0].on_next)
            self.over = True
            if end is not None:
                end(subscribers.pop())
        except Exception:  # the subscriber raised (rule 2.13)
            self.over = True

    def send(self, elements, on_next):
        demand, done = 0, object()
        ahead = next(elements, done)
        while True:
            if ahead is done:
                return lambda subscriber: subscriber.on_complete()
            letter = 0 if demand and self.letters.empty() else self.letters.get()
            if letter == "cancel":
                return None
            if letter < 0 or (letter == 0 and not demand):
                return lambda subscriber: subscriber.on_error(ValueError("rule 3.9: a request must be positive"))
            demand += letter
            for _ in range(min(demand, self.batch)):
                demand, element = demand - 1, ahead
                ahead = next(elements, done)
                on_next(element)
                if ahead is done:
                    break


@pytest.mark.parametrize("elements", [50, 500])
def test_passes_a_publisher_that_looks_for_a_cancel_between_batches(elements):
    report = verify_publisher(Mailbox, asynchronous=True, limits=Limits(elements=elements))
    assert report.failed == ()


class LetsGoLater(ThreadRun):
    """Lets go of a cancelled subscriber when its thread looks again, which is when the kit has long been at rest."""

    def wait(self):
        going_on = super().wait()
        if not going_on:
            self.looks_again.wait(0.5)
        return going_on

    looks_again = threading.Event()  # never set


def test_passes_a_publisher_that_lets_go_of_its_subscriber_later():
    def make(n):
        made = ThreadedBy(numbers(n))
        made.run = LetsGoLater
        return made

    report = verify_publisher(make, limits=Limits(elements=50, quiet=0.01))
    assert report.outcome("publisher.cancelled_subscriber_is_released").status is Status.PASSED
