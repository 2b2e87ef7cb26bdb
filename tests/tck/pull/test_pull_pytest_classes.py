"""The verifications of pull-stream modules are classes to subclass too, with one test for each trial of a property."""

from __future__ import annotations

from contextlib import suppress
from unittest import SkipTest

import pytest

from penstock import pull
from penstock.tck.outcome import Limits
from penstock.tck.pull.case import sink_trials, source_trials, through_trials
from penstock.tck.pytest_classes import PullSinkVerification, PullSourceVerification, PullThroughVerification
from tests.tck.pull.broken_pull import SwallowsErrors

QUICK = Limits(elements=50, timeout=1, quiet=0.001)


class Settled:
    limits = QUICK

    def settle(self):
        """Wait for nothing: it is synchronous."""


class Count(Settled, PullSourceVerification):
    def source(self, values):
        return pull.count(None if values is None else values - 1)


class Batch(Settled, PullThroughVerification):
    def through(self):
        return pull.batch(2)

    def expects(self, values):
        return [values[start : start + 2] for start in range(0, len(values), 2)]


class Collect(Settled, PullSinkVerification):
    def sink(self, done):
        return pull.collect(done)


class Broken(Settled, PullThroughVerification):
    def through(self):
        return SwallowsErrors


class Flags(Settled, PullThroughVerification):
    recovers = True

    def through(self):
        return pull.catch()


def methods_of(cls):
    return {name for name in dir(cls) if name.startswith("test_")}


@pytest.mark.parametrize(
    ("cls", "trials", "name"),
    [
        (Count, source_trials, "test_property_b03_answers_come_in_order"),
        (Batch, through_trials, "test_property_f12_inner_and_outer_are_closed_in_order"),
        (Collect, sink_trials, "test_property_f09_end_is_told_once"),
    ],
)
def test_each_trial_is_a_method(cls, trials, name):
    assert name in methods_of(cls)
    assert len(methods_of(cls)) == len(trials.members) + 2  # whether it was run, and what no trial is about


@pytest.mark.parametrize("cls", [Count, Batch, Collect, Flags])
def test_sound_modules_fail_none(cls):
    for name in methods_of(cls):
        with suppress(SkipTest):
            getattr(cls(), name)()


def test_a_broken_property_fails_its_test_by_name():
    with pytest.raises(AssertionError, match=r"^property F7: upstream failed, and it ended well"):
        Broken().test_property_f07_recovers_only_if_it_says_so()
    Broken().test_property_b01_answers_only_what_was_asked()
    Broken().test_no_other_rule_was_broken()


def test_what_does_not_apply_is_skipped():
    with pytest.raises(SkipTest, match=r"^it does not claim to stop by itself$"):
        Batch().test_property_a08_stopping_aborts_upstream()


def test_options_are_members():
    Flags().test_property_f07_recovers_only_if_it_says_so()
