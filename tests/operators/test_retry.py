"""retry: subscribes again after a failure, so many times, waiting longer each time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import strategies as st

from penstock import PenstockError, Stream, VirtualClock
from penstock.testing import ManualPublisher, check_joint, marble, record, subscribed
from tests.operators.subjects import failure_of


def failing(times: int) -> Stream[str]:
    """Return a stream that fails so many times after an element, then completes."""
    attempts = iter(range(times + 1))

    def attempt() -> Stream[str]:
        number = next(attempts)
        start = Stream.just(f"try {number}")
        return start.concat(Stream.error(ValueError(f"failure {number}"))) if number < times else start

    return Stream.defer(attempt)


def test_laws() -> None:
    check_joint(lambda stream: stream.retry(0), lambda xs: xs, st.integers(), examples=10)


@pytest.mark.parametrize("times", [None, 2, 3])
def test_subscribes_again_until_it_works(times: int | None) -> None:
    assert list(failing(2).retry(times)) == ["try 0", "try 1", "try 2"]


def test_fails_with_the_last_error_when_all_tries_are_used_up() -> None:
    assert repr(failure_of(failing(5).retry(2))) == "ValueError('failure 2')"


def test_no_times_means_no_second_try() -> None:
    assert repr(failure_of(failing(5).retry(0))) == "ValueError('failure 0')"


def test_refuses_a_negative_number_of_times() -> None:
    with pytest.raises(ValueError, match=r"^retry: times must be >= 0, got -1$"):
        Stream.range(3).retry(-1)


def test_refuses_what_is_no_number_of_times() -> None:
    with pytest.raises(TypeError, match=r"^retry: times must be a whole number, got 1.5$"):
        Stream.range(3).retry(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("backoff", [-1, float("nan"), float("inf")])
def test_refuses_a_backoff_that_is_no_duration(backoff: float) -> None:
    with pytest.raises(ValueError, match=f"^retry: backoff must be >= 0 and finite, got {backoff!r}$"):
        Stream.range(3).retry(1, backoff=backoff)


def test_refuses_a_backoff_that_is_no_number() -> None:
    with pytest.raises(TypeError, match=r"^retry: backoff must be seconds or a timedelta, got '1s'$"):
        Stream.range(3).retry(1, backoff="1s")  # type: ignore[arg-type]


@pytest.mark.parametrize("backoff", [1.0, timedelta(seconds=1)])
def test_waits_twice_as_long_each_time(backoff: float | timedelta) -> None:
    clock = VirtualClock()
    assert record(marble("#", clock=clock).retry(3, backoff=backoff, clock=clock), clock) == "-------#"
    assert clock.now() == 1 + 2 + 4


def test_what_came_before_a_failure_comes_again() -> None:
    clock = VirtualClock()
    assert record(marble("a#", clock=clock).retry(2, backoff=1, clock=clock), clock) == "a-a--a#"


def test_demand_left_over_moves_on_to_the_next_attempt() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).retry(), 3)
    upstream.next("a")
    upstream.fail(ValueError("lost"))
    assert [one.requests for one in upstream.subscriptions] == [[3], [2]]
    probe.request(1)
    upstream.next("b")
    upstream.complete()
    assert [one.requests for one in upstream.subscriptions] == [[3], [2, 1]]
    assert probe.elements == ["a", "b"]
    assert probe.completed


def test_demand_that_comes_during_a_wait_is_kept() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).retry(backoff=1, clock=clock), 1)
    upstream.fail(ValueError("lost"))
    probe.request(2)
    assert upstream.subscribers == 1
    clock.advance(1)
    assert upstream.subscribers == 2
    assert upstream.requested == 3


def test_a_cancel_during_a_wait_calls_it_off() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).retry(backoff=1, clock=clock))
    upstream.fail(ValueError("lost"))
    assert clock.pending == 1
    probe.cancel()
    assert clock.pending == 0
    clock.advance(9)
    assert upstream.subscribers == 1


def test_a_cancel_reaches_the_attempt_at_hand() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).retry())
    upstream.fail(ValueError("lost"))
    probe.cancel()
    assert [one.cancelled for one in upstream.subscriptions] == [False, True]


def test_thousands_of_tries_neither_deepen_the_stack_nor_overflow() -> None:
    assert list(failing(3000).retry().last()) == ["try 3000"]


def test_an_attempt_that_fails_for_another_reason_does_not_hide_the_first_failure() -> None:
    once = Stream.from_iterable(iter([1, 0])).map(lambda n: 1 // n).retry(1)
    with pytest.raises(PenstockError, match="was taken by an earlier subscriber") as caught:
        list(once)
    assert type(caught.value.__cause__) is ZeroDivisionError
