"""test_blackbox: sound subscribers pass the blackbox verification, which really sends them elements."""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock.tck.outcome import Report, Status
from penstock.tck.subscriber.verify import verify_subscriber_blackbox
from tests.tck.subscriber.broken_subscribers import PROMPT, WAITED_FOR
from tests.tck.subscriber.broken_subscribers_sound import Asynchronous, Greedy, Sound, StopAndWait, Taking, Windowed

ALWAYS_OPEN = {
    "subscriber.slow_work_does_not_block": "its work cannot be held up from outside: verify it whitebox",
    "subscriber.signals_are_processed_in_order": "what it processes cannot be seen from outside: verify it whitebox",
    "publisher.on_subscribe_at_most_once": "it binds the publisher, which calls on_subscribe: verify that",
}
NO_STOP = {"blackbox.unneeded_subscription_is_cancelled": "no hook was given that makes it stop wanting elements"}
NO_CANCEL = {"blackbox.takes_elements_after_cancel": "no hook was given that makes it stop wanting elements"}


def left_open(report: Report) -> dict[str, str]:
    return {outcome.test: outcome.detail for outcome in report.outcomes if outcome.status is Status.NOT_APPLICABLE}


@pytest.mark.parametrize("make", [Greedy, StopAndWait, Windowed])
def test_passes_a_sound_synchronous_subscriber(make: type[Sound]) -> None:
    report = verify_subscriber_blackbox(make, limits=PROMPT, expects=20)
    assert report.failed == ()
    assert left_open(report) == ALWAYS_OPEN | NO_STOP | NO_CANCEL


@pytest.mark.parametrize("make", [Greedy, StopAndWait, Windowed])
def test_leaves_nothing_open_that_a_hook_can_show(make: type[Sound]) -> None:
    report = verify_subscriber_blackbox(make, limits=PROMPT, stop=lambda subscriber: subscriber.stop())
    assert report.failed == ()
    assert left_open(report) == ALWAYS_OPEN


def test_passes_a_subscriber_that_takes_a_few_and_cancels() -> None:
    report = verify_subscriber_blackbox(Taking, limits=PROMPT, expects=20)
    assert report.failed == ()
    assert left_open(report) == ALWAYS_OPEN | NO_STOP


def test_passes_a_sound_asynchronous_subscriber() -> None:
    report = verify_subscriber_blackbox(Asynchronous, expects=20, stop=lambda subscriber: subscriber.stop())
    assert report.failed == ()
    assert left_open(report) == ALWAYS_OPEN


def test_a_subscriber_that_asks_only_when_made_to_needs_a_trigger() -> None:
    assert [outcome.rule for outcome in verify_subscriber_blackbox(Sound, limits=WAITED_FOR).failed] == ["2.1"]
    report = verify_subscriber_blackbox(Sound, limits=PROMPT, trigger=lambda subscriber: subscriber.ask(1))
    assert report.failed == ()


def test_really_sends_elements() -> None:
    taken: list[Any] = []

    class Counting(Windowed):
        def work(self, element: Any) -> None:
            taken.append(element)
            super().work(element)

    assert verify_subscriber_blackbox(Counting, element=str, limits=PROMPT).ok
    assert len(taken) > PROMPT.elements
    assert set(taken) >= {"0", "1", "2", str(PROMPT.elements - 1)}


def test_refuses_to_expect_nothing() -> None:
    message = "verify_subscriber_blackbox: expects must be >= 1, got 0"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        verify_subscriber_blackbox(Greedy, expects=0)
