"""Correct publishers of every kind pass the kit whole; what does not apply says why."""

from __future__ import annotations

import itertools
import threading

import pytest

from penstock.spec.rules.every import Dialect, rules_of
from penstock.tck.outcome import Limits, Status
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.publisher.verify import verify_publisher
from tests.tck.publisher.correct_publishers import (
    CppPublisher,
    FailsAfter,
    PascalPublisher,
    ScheduledPublisher,
    Scheduler,
    SyncPublisher,
    SyncRun,
    ThreadPublisher,
    UnicastPublisher,
    numbers,
)

QUICK = Limits(elements=200, quiet=0.02)
SENDS_INSIDE_REQUEST = {
    "publisher.refusal_waits_its_turn": "it sends inside request, and requests must not overlap (rule 2.7)",
    "publisher.requests_race_emission": "it sends inside request, and requests must not overlap (rule 2.7)",
    "publisher.cancel_elsewhere_stops_the_stream": "it sends inside request, and calls must not overlap (rule 2.7)",
}
NOT_ASYNCHRONOUS = {"publisher.request_returns": "it does not claim to be asynchronous"} | SENDS_INSIDE_REQUEST
HAS_NO_REFUSAL = dict.fromkeys(
    ("publisher.refusal_waits_its_turn", "publisher.refusal_is_kept_apart"), "no request is refused by this text"
)
NO_THREADS = {
    "publisher.requests_race_emission": "what runs on the caller's own scheduler has no thread to race with",
    "publisher.cancel_elsewhere_stops_the_stream": "what runs on the caller's own scheduler has no other thread",
}
IS_ASYNCHRONOUS = {
    "publisher.elements_inside_request": "it is asynchronous",
    "publisher.end_inside_request": "it is asynchronous",
}
CLOSES_NOTHING = {"publisher.last_cancel_closes_the_source": "it does not claim to close its source"}
ONE_SUBSCRIBER = dict.fromkeys(
    (
        "publisher.several_subscribers_one_by_one",
        "publisher.several_subscribers_up_front",
        "publisher.what_one_left_is_not_the_next_ones",
    ),
    "it serves one subscriber only",
)


def inapplicable(report):
    return {outcome.test: outcome.detail for outcome in report.outcomes if outcome.status is Status.NOT_APPLICABLE}


def test_a_synchronous_publisher_passes_whole():
    report = verify_publisher(
        lambda n: SyncPublisher(numbers(n)),
        failing=lambda k: SyncPublisher(FailsAfter(k)),
        over=SyncPublisher,
        closes=True,
        limits=QUICK,
    )
    assert report.failed == ()
    assert inapplicable(report) == NOT_ASYNCHRONOUS


def test_a_publisher_with_threads_passes_whole_and_leaves_none_behind():
    before = set(threading.enumerate())
    report = verify_publisher(
        lambda n: ThreadPublisher(numbers(n)),
        failing=lambda: ThreadPublisher(FailsAfter(2)),
        over=ThreadPublisher,
        asynchronous=True,
        limits=QUICK,
    )
    assert report.failed == ()
    assert inapplicable(report) == IS_ASYNCHRONOUS | CLOSES_NOTHING
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before


class Incomparable:
    """An element that has no truth value when it is compared, as arrays have none."""

    def __eq__(self, other):
        raise ValueError("the truth value is ambiguous")

    __hash__ = None


ELEMENTS_COMPARED = (
    "publisher.several_subscribers_one_by_one",
    "publisher.several_subscribers_up_front",
    "publisher.elements_are_additional",
    "publisher.elements_inside_request",
)


class Afresh:
    """An iterable that makes new elements each time it is read."""

    def __init__(self, make, count):
        self.make, self.count = make, count

    def __iter__(self):
        return (self.make() for _ in numbers(self.count))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (object, "its elements differ from run to run"),
        (Incomparable, "its elements cannot be compared: ValueError('the truth value is ambiguous')"),
    ],
)
def test_elements_that_differ_or_cannot_be_compared_break_no_rule(make, why):
    report = verify_publisher(
        lambda n: SyncPublisher(Afresh(make, n)),
        failing=lambda k: SyncPublisher(FailsAfter(k)),
        over=SyncPublisher,
        closes=True,
        limits=QUICK,
    )
    assert report.failed == ()
    assert inapplicable(report) == NOT_ASYNCHRONOUS | dict.fromkeys(ELEMENTS_COMPARED, why)


def test_a_publisher_on_a_scheduler_passes_whole_without_waiting():
    scheduler = Scheduler()
    report = verify_publisher(
        lambda n: ScheduledPublisher(numbers(n), scheduler),
        failing=lambda k: ScheduledPublisher(FailsAfter(k), scheduler),
        over=lambda source: ScheduledPublisher(source, scheduler),
        closes=True,
        asynchronous=True,
        settle=scheduler.run_dry,
        limits=Limits(elements=200),
    )
    assert report.failed == ()
    assert inapplicable(report) == IS_ASYNCHRONOUS | NO_THREADS


def test_a_unicast_publisher_passes_whole():
    report = verify_publisher(
        lambda n: UnicastPublisher(numbers(n)),
        failing=lambda k: UnicastPublisher(FailsAfter(k)),
        unicast=True,
        limits=QUICK,
    )
    assert report.failed == ()
    assert inapplicable(report) == NOT_ASYNCHRONOUS | CLOSES_NOTHING | ONE_SUBSCRIBER


def test_a_publisher_that_never_ends_passes():
    report = verify_publisher(lambda n: SyncPublisher(itertools.count()), finite=False, limits=QUICK)
    assert report.failed == ()
    assert inapplicable(report)["publisher.completion_is_signalled"] == "it never ends"


def test_a_publisher_of_one_element_passes():
    report = verify_publisher(lambda n: SyncPublisher(["one"]), min_elements=1, max_elements=1, limits=QUICK)
    assert report.failed == ()
    assert inapplicable(report)["publisher.empty_stream_completes"] == "it has at least 1 elements"
    assert inapplicable(report)["publisher.cancel_stops_the_stream"] == "it has no more than one element"


def test_a_publisher_of_nothing_passes():
    report = verify_publisher(lambda n: SyncPublisher([]), max_elements=0, limits=QUICK)
    assert report.failed == ()
    assert report.outcome("publisher.empty_stream_completes").status is Status.PASSED
    assert report.outcome("publisher.cancelled_subscriber_is_released").status is Status.PASSED
    assert inapplicable(report)["publisher.requests_add_up"] == "it has no elements"


def test_a_publisher_that_never_sends_anything_passes():
    class Silent(SyncRun):
        def send(self, element):
            self.ahead.append(element)

    def never(n):
        made = SyncPublisher([1])
        made.run = Silent
        return made

    report = verify_publisher(never, max_elements=0, finite=False, limits=QUICK)
    assert report.failed == ()
    assert report.outcome("publisher.zero_request_is_an_error").status is Status.PASSED


def test_a_publisher_of_the_cpp_dialect_passes_whole_by_its_own_rules():
    report = verify_publisher(
        lambda n: CppPublisher(numbers(n)),
        failing=lambda k: CppPublisher(FailsAfter(k)),
        over=CppPublisher,
        closes=True,
        dialect="cpp",
        limits=QUICK,
    )
    assert report.failed == ()
    assert inapplicable(report) == NOT_ASYNCHRONOUS | HAS_NO_REFUSAL
    assert {outcome.rule for outcome in report.outcomes} <= {rule.id for rule in rules_of(Dialect.CPP)}
    assert report.outcome("publisher.dropping_the_subscription_cancels").status is Status.PASSED


def test_a_publisher_of_the_dotnet_dialect_passes_whole():
    report = verify_publisher(
        lambda n: PascalPublisher(SyncPublisher(numbers(n))),
        failing=lambda k: PascalPublisher(SyncPublisher(FailsAfter(k))),
        dialect="dotnet",
        limits=QUICK,
    )
    assert report.failed == ()


def test_every_rule_of_publishers_and_subscriptions_is_tried():
    for dialect, name in ((Dialect.JVM, "jvm"), (Dialect.DOTNET, "dotnet"), (Dialect.CPP, "cpp")):
        bound = {rule.id for rule in rules_of(dialect) if rule.party.value in ("publisher", "subscription")}
        assert bound <= {trial.rule for trial in publisher_trials.of(name)}


def test_trials_and_rules_name_each_other():
    named = {
        test
        for dialect in Dialect
        for rule in rules_of(dialect)
        for test in rule.tests
        if test.startswith("publisher.") or test == "monitor.subscription_has_one_user"
    }
    assert {trial.name for trial in publisher_trials.members} == named


def test_a_failing_publisher_may_ignore_how_long_it_is_to_work():
    report = verify_publisher(
        lambda n: SyncPublisher(numbers(n)), failing=lambda: SyncPublisher(FailsAfter(1)), limits=QUICK
    )
    assert report.outcome("publisher.failure_is_signalled").status is Status.PASSED


def test_counts_of_closes_may_come_from_outside():
    closes = []

    class Closable:
        def __init__(self, count):
            self.numbers = iter(numbers(count))

        def __iter__(self):
            return self

        def __next__(self):
            return next(self.numbers)

        def close(self):
            closes.append(self)

    class Opens:
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            return Closable(self.count)

    report = verify_publisher(lambda n: SyncPublisher(Opens(n)), closes=lambda: len(closes), limits=QUICK)
    assert report.outcome("publisher.last_cancel_closes_the_source").status is Status.PASSED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "java"}, r"^verify_publisher: dialect must be one of cpp, dotnet, jvm, got 'java'$"),
        ({"closes": True}, r"^verify_publisher: closes must be a count of closes unless `over` is given, got True$"),
    ],
)
def test_refuses_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        verify_publisher(SyncPublisher, **options)
