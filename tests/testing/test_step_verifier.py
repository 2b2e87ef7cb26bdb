"""step_verifier: runs a script against a stream and says which step was not met, what was expected and what came."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from penstock import Stream, VirtualClock, thread
from penstock.testing import ManualPublisher, PlannedBreach, StepVerifier, VerificationError


def script(*elements: int, request: int = 0) -> StepVerifier:
    return StepVerifier(Stream.just(*elements), request=request, timeout=0)


def test_verifies_demand_and_completion() -> None:
    script(1, 2, 3).expect_nothing().request(2).expect(1, 2).expect_nothing().request().expect_count(
        1
    ).expect_complete().verify()


def test_verifies_a_failure() -> None:
    failing = Stream.just(1).map(lambda n: n // 0)
    StepVerifier(failing, request=1).expect_error(ZeroDivisionError, "by zero$").verify()


def test_verifies_a_cancel_and_lets_late_elements_pass() -> None:
    upstream: ManualPublisher[int] = ManualPublisher(PlannedBreach.IGNORE_CANCEL)
    StepVerifier(upstream, request=2).then(lambda: upstream.next(1)).expect(1).cancel().then(
        lambda: upstream.next(2)
    ).verify()
    assert upstream.cancelled


def test_verifies_virtual_time() -> None:
    clock = VirtualClock()
    ticks = Stream.interval(2.0, clock=clock).take(2)
    (
        StepVerifier(ticks, clock=clock, request=5)
        .advance(1.9)
        .expect_nothing()
        .advance(0.1)
        .expect(0)
        .advance(2)
        .expect(1)
        .expect_complete()
        .verify()
    )


def test_waits_for_an_asynchronous_stream() -> None:
    StepVerifier(Stream.range(3).publish_on(thread())).request(1).expect(0).request().expect(
        1, 2
    ).expect_complete().verify()


def test_cancels_what_its_script_leaves_open() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    StepVerifier(upstream, request=1).expect_nothing().verify()
    assert upstream.cancelled


def test_is_a_value_that_can_be_extended_and_run_again() -> None:
    start = script(1, 2, request=1).expect(1)
    start.verify()
    start.request(1).expect(2).expect_complete().verify()
    start.verify()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: script(1, request=1).expect(2),
            "step 1 of 1, expect(2): expected next(2), got next(1); all signals: next(1), complete",
        ),
        (
            lambda: script(1, request=1).expect(1, 2),
            "step 1 of 1, expect(1, 2): expected next(2), got complete; all signals: next(1), complete",
        ),
        (
            lambda: script(1).request(1).expect(1).expect_count(2),
            "step 3 of 3, expect_count(2): expected element 1 of 2, got complete; all signals: next(1), complete",
        ),
        (
            lambda: script(1, 2).request(1).expect_nothing(),
            "step 2 of 2, expect_nothing(): expected nothing, got next(1); all signals: next(1)",
        ),
        (
            lambda: script(1).expect_complete(),
            "step 1 of 1, expect_complete(): expected complete, got nothing; all signals: nothing",
        ),
        (
            lambda: script(1).request().expect_complete(),
            "step 2 of 2, expect_complete(): expected complete, got next(1); all signals: next(1), complete",
        ),
        (
            lambda: script(request=1).expect_error(KeyError),
            "step 1 of 1, expect_error(KeyError): expected error of type KeyError, got complete; all signals: complete",
        ),
        (
            lambda: StepVerifier(Stream.error(ValueError("no"))).expect_error(ValueError, "^yes$"),
            (
                "step 1 of 1, expect_error(ValueError, '^yes$'): expected error of type ValueError matching '^yes$', "
                "got the message 'no'; all signals: error(ValueError('no'))"
            ),
        ),
        (
            lambda: script(1, request=1).expect(1),
            "after the last step: expected nothing, got complete",
        ),
        (
            lambda: StepVerifier(Stream.never(), timeout=0.01).expect(1),
            (
                "step 1 of 1, expect(1): expected next(1), got nothing within 0.01 seconds; nothing was requested: say "
                "request() before; all signals: nothing"
            ),
        ),
    ],
)
def test_says_which_step_was_not_met(make: Callable[[], StepVerifier], message: str) -> None:
    with pytest.raises(VerificationError, match=f"^{re.escape(message)}$"):
        make().verify()


def test_reports_a_rule_that_is_broken() -> None:
    upstream: ManualPublisher[int] = ManualPublisher(PlannedBreach.EXCEED_DEMAND)

    def send() -> None:
        upstream.next(1)

    with pytest.raises(
        VerificationError, match=r"^step 1 of 2, then\(.*send\): rule 1\.1: 1 elements came, 0 were requested$"
    ):
        StepVerifier(upstream).then(send).expect(1).verify()


def test_needs_a_clock_to_advance() -> None:
    message = "step_verifier: advance needs a clock; say StepVerifier(stream, clock=VirtualClock())"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        script(1).advance(1)
