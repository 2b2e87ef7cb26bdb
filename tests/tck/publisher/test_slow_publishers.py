"""A publisher may be as slow as it likes: patience is counted from its last signal, and `Limits` bounds every trial."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from penstock import Overflow, Stream
from penstock.tck.outcome import Limits
from penstock.tck.publisher.verify import verify_publisher
from tests.tck.publisher.broken_publishers_demand import ThreadsOf
from tests.tck.publisher.correct_publishers import SyncPublisher, SyncRun, ThreadRun, numbers

PATIENT = Limits(elements=5, timeout=2, quiet=0.002)


class SleepsFirst(SyncRun):
    """Takes longer for an element than quiet lasts."""

    def send(self, element):
        time.sleep(0.02)
        super().send(element)


class SleepsOnAThread(ThreadRun):
    def serve(self, subscriber):
        super().serve(_Sleeping(subscriber))


class _Sleeping:
    def __init__(self, subscriber):
        self.subscriber = subscriber
        self.on_subscribe, self.on_error, self.on_complete = (
            subscriber.on_subscribe,
            subscriber.on_error,
            subscriber.on_complete,
        )

    def on_next(self, element):
        time.sleep(0.02)
        self.subscriber.on_next(element)


class StartsLate(ThreadRun):
    def serve(self, subscriber):
        time.sleep(0.03)
        super().serve(subscriber)


@pytest.mark.slow
@pytest.mark.parametrize("run", [SleepsFirst, SleepsOnAThread, StartsLate])
def test_passes(run):
    def make(n):
        made = SyncPublisher(numbers(n)) if issubclass(run, SyncRun) else ThreadsOf(numbers(n))
        setattr(made, "run" if issubclass(run, SyncRun) else "serving", run)
        return made

    assert verify_publisher(make, limits=PATIENT).failed == ()


@pytest.mark.slow
def test_an_interval_passes():
    report = verify_publisher(
        lambda n: Stream.interval(0.003, overflow=Overflow.BUFFER, size=4000).take(10**9 if n is None else n),
        limits=Limits(elements=20),
    )
    assert report.failed == ()


def test_no_trial_waits_for_more_elements_than_the_limits_allow():
    most = []

    class Counts(SyncRun):
        sent = 0

        def send(self, element):
            self.sent += 1
            most.append(self.sent)
            super().send(element)

    def make(n):
        made = SyncPublisher(itertools.count() if n is None else range(n))
        made.run = Counts
        return made

    assert verify_publisher(make, limits=Limits(elements=7), settle=lambda: None).failed == ()
    assert max(most) <= 8  # one trial asks once more, to see the end


def test_a_subject_that_goes_on_for_ever_is_given_up():
    """It sends what was asked for, again and again, though it has been cancelled."""
    stopped = threading.Event()

    class GoesOn(SyncRun):
        def cancel(self):
            pass

        def complete(self):
            pass

        def step(self):
            if stopped.is_set():
                return False
            self.subscriber.on_next(1)
            return True

    def make(n):
        made = SyncPublisher(numbers(n))
        made.run = GoesOn
        return made

    try:
        report = verify_publisher(make, limits=Limits(elements=5, timeout=0.1, quiet=0.01))
    finally:
        stopped.set()
    assert "1.1" in {outcome.rule for outcome in report.failed}
