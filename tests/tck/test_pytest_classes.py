"""A class to subclass gives one pytest test for each trial of a rule, all from one run of the kit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest import SkipTest

import pytest

from penstock.tck.outcome import Limits
from penstock.tck.processor.case import processor
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.pytest_classes import (
    ProcessorVerification,
    PublisherVerification,
    SubscriberBlackboxVerification,
    SubscriberVerification,
)
from penstock.tck.subscriber.case import whitebox
from tests.tck.publisher.broken_publishers import IgnoresZero
from tests.tck.publisher.correct_publishers import FailsAfter, SyncPublisher, numbers
from tests.tck.subscriber.broken_subscribers_sound import Greedy

QUICK = Limits(elements=50, timeout=1, quiet=0.01)
ROOT = Path(__file__).parents[2]


class Sound(PublisherVerification):
    limits = QUICK
    runs = 0

    def publisher(self, elements):
        return SyncPublisher(numbers(elements))

    def failing(self, after):
        return SyncPublisher(FailsAfter(after))

    def verify(self):
        type(self).runs += 1
        return super().verify()


class BrokenOne(PublisherVerification):
    limits = QUICK

    def publisher(self, elements):
        made = SyncPublisher(numbers(elements))
        made.run = IgnoresZero
        return made

    def settle(self):
        """Wait for nothing: it is synchronous."""


def methods_of(cls):
    return [name for name in dir(cls) if name.startswith("test_")]


def results(cls):
    """Run every test as pytest would, on an instance of its own, and say how it ended."""
    ended = {}
    for name in methods_of(cls):
        try:
            getattr(cls(), name)()
            ended[name] = "passed"
        except SkipTest as reason:
            ended[name] = f"skipped: {reason}"
        except AssertionError as failure:
            ended[name] = f"failed: {failure}"
    return ended


def test_every_trial_is_a_test_named_by_its_rule():
    names = methods_of(Sound)
    assert "test_rule_1_01_demand_never_exceeded" in names
    assert "test_rule_3_17_many_requests" in names
    assert len(names) == len(Sound().verify().outcomes) + 2  # whether it was run, and what no trial is about


def test_a_sound_publisher_passes_and_is_verified_once():
    Sound.runs = 0
    if "_report" in vars(Sound):
        del Sound._report
    ended = results(Sound)
    inside = "skipped: it sends inside request, and requests must not overlap (rule 2.7)"
    assert {name: end for name, end in ended.items() if end != "passed"} == {
        "test_rule_1_03_refusal_waits_its_turn": inside,
        "test_rule_3_08_requests_race_emission": inside,
        "test_rule_3_12_cancel_elsewhere_stops_the_stream": (
            "skipped: it sends inside request, and calls must not overlap (rule 2.7)"
        ),
        "test_rule_3_04_request_returns": "skipped: it does not claim to be asynchronous",
        "test_rule_3_14_last_cancel_closes_the_source": "skipped: it does not claim to close its source",
    }
    assert Sound.runs == 1


def test_a_broken_publisher_fails_the_test_of_its_rule():
    failed = {name: end for name, end in results(BrokenOne).items() if end.startswith("failed")}
    assert list(failed) == ["test_rule_3_09_zero_request_is_an_error"]
    assert failed["test_rule_3_09_zero_request_is_an_error"].startswith(
        "failed: rule 3.9: request(0) brought no on_error\nLook "
    )


def test_a_class_of_the_cpp_dialect_has_the_methods_of_that_text():
    class Cpp(PublisherVerification):
        dialect = "cpp"

    names = methods_of(Cpp)
    assert "test_rule_cpp_1_11_subscription_outlives_publisher" in names
    assert "test_rule_3_09_zero_request_is_an_error" not in names


def test_no_two_trials_of_a_processor_share_a_name():
    trials = [*publisher_trials.of("jvm"), *whitebox.of("jvm"), *processor.of("jvm")]
    assert (
        len(methods_of(type("Mine", (ProcessorVerification,), {}))) == len(trials) + 2
    )  # whether it was run, and what no trial is about


def test_a_subscriber_is_verified_from_outside():
    class Outside(SubscriberBlackboxVerification):
        limits = QUICK
        expects = 5

        def subscriber(self):
            return Greedy()

    ended = results(Outside)
    assert [end for end in ended.values() if end.startswith("failed")] == []
    assert "passed" in ended.values()


@pytest.mark.parametrize(
    ("cls", "test"),
    [
        (SubscriberVerification, "test_rule_2_01_asks_before_elements"),
        (ProcessorVerification, "test_rule_4_01_keeps_both_contracts"),
        (ProcessorVerification, "test_rule_1_01_demand_never_exceeded"),
        (ProcessorVerification, "test_rule_2_01_asks_before_elements"),
    ],
)
def test_the_other_classes_have_tests_too(cls, test):
    assert test in methods_of(type("Mine", (cls,), {}))


@pytest.mark.parametrize(
    ("cls", "make", "arguments"),
    [
        (PublisherVerification, "publisher", (1,)),
        (SubscriberVerification, "subscriber", (None,)),
        (SubscriberBlackboxVerification, "subscriber", ()),
        (ProcessorVerification, "processor", ()),
    ],
)
def test_the_factory_must_be_written(cls, make, arguments):
    with pytest.raises(NotImplementedError):
        getattr(cls(), make)(*arguments)


def test_pytest_collects_and_runs_it(tmp_path):
    (tmp_path / "test_mine.py").write_text("""
from penstock.tck.pytest_classes import PublisherVerification
from tests.tck.test_pytest_classes import BrokenOne, Sound

class TestSound(Sound):
    pass

class TestBroken(BrokenOne):
    pass
""")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"{tmp_path}/test_mine.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )
    assert ran.returncode == 1, ran.stdout
    assert "TestBroken::test_rule_3_09_zero_request_is_an_error" in ran.stdout
    assert "1 failed, " in ran.stdout.splitlines()[-1]
