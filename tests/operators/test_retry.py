"""retry: subscribes again after a failure, so many times, waiting longer each time."""

from __future__ import annotations

import weakref
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from penstock import PenstockError, Stream, VirtualClock
from penstock.operators.retry import Retry
from penstock.testing import ManualPublisher, marble, record, subscribed
from tests.operators.subjects import failure_of, notes, place


def failing(times: int) -> Stream[str]:
    """Return a stream that fails so many times after an element, then completes."""
    attempts = iter(range(times + 1))

    def attempt() -> Stream[str]:
        number = next(attempts)
        start = Stream.just(f"try {number}")
        return start.concat(Stream.error(ValueError(f"failure {number}"))) if number < times else start

    return Stream.defer(attempt)


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


@pytest.mark.parametrize("when", [ValueError, (KeyError, ValueError), lambda error: "failure" in str(error)])
def test_tries_again_after_the_errors_that_are_named(when: Any) -> None:
    assert list(failing(2).retry(5, when=when)) == ["try 0", "try 1", "try 2"]


def test_any_other_error_is_final() -> None:
    errors = iter([ConnectionError("no route"), PermissionError("not you")])
    stream: Stream[int] = Stream.defer(lambda: Stream.error(next(errors)))
    error = failure_of(stream.retry(5, when=ConnectionError))
    assert repr(error) == "PermissionError('not you')"
    assert repr(error.__cause__) == "ConnectionError('no route')"


def undecided(error: Exception) -> bool:
    raise LookupError("no answer")


def test_a_function_that_cannot_decide_fails_it_and_is_named() -> None:
    error = failure_of(failing(5).retry(5, when=undecided))
    assert repr(error) == "LookupError('no answer')"
    assert repr(error.__cause__) == "ValueError('failure 0')"
    assert notes(error) == [f"in retry(undecided), {place(undecided)}"]


def test_a_wait_is_no_longer_than_it_may_be() -> None:
    clock = VirtualClock()
    stream = marble("#", clock=clock).retry(4, backoff=1, max_delay=3, clock=clock)
    assert record(stream, clock) == "---------#"
    assert clock.now() == 1 + 2 + 3 + 3


def test_a_function_may_say_how_long_to_wait() -> None:
    clock = VirtualClock()
    waits: list[float] = []

    def jitter(wait: float) -> float:
        waits.append(wait)
        return wait + 0.5

    probe = subscribed(marble("#", clock=clock).retry(3, backoff=1, jitter=jitter, clock=clock), 1)
    clock.advance(1 + 2 + 4 + 3 * 0.5)
    assert probe.ended
    assert waits == [1, 2, 4]


def test_what_the_function_says_is_no_longer_than_it_may_be_either() -> None:
    clock = VirtualClock()
    probe = subscribed(
        marble("#", clock=clock).retry(2, backoff=1, jitter=lambda wait: 60, max_delay=5, clock=clock), 1
    )
    clock.advance(2 * 5)
    assert probe.ended


@pytest.mark.parametrize("jitter", [0.25, 1.0])
def test_chance_makes_a_wait_shorter_or_longer_by_a_share(jitter: float) -> None:
    retry = Retry(Stream.empty()._chain, backoff=2.0, jitter=jitter)
    waits = [retry.wait(1) for _ in range(200)]
    assert min(waits) >= 4 * (1 - jitter)
    assert max(waits) <= 4 * (1 + jitter)
    assert min(waits) < 4 < max(waits)
    assert len(set(waits)) > 100


def test_no_jitter_is_no_chance() -> None:
    retry = Retry(Stream.empty()._chain, backoff=2.0)
    assert [retry.wait(failures) for failures in range(4)] == [2, 4, 8, 16]
    assert retry.wait(10_000) == 2.0 * 2**64


def bad(wait: float) -> float:
    raise LookupError("no wait")


def test_a_jitter_that_raises_fails_it_and_is_named() -> None:
    error = failure_of(failing(5).retry(5, backoff=1, jitter=bad))
    assert repr(error) == "LookupError('no wait')"
    assert repr(error.__cause__) == "ValueError('failure 0')"
    assert notes(error) == [f"in retry(bad), {place(bad)}"]


def test_a_jitter_that_gives_no_duration_fails_it() -> None:
    error = failure_of(failing(5).retry(5, backoff=1, jitter=lambda wait: -wait))
    assert str(error) == "retry: jitter's wait must be >= 0 and finite, got -1.0"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"jitter": -0.1}, ValueError, "retry: jitter must be between 0 and 1, got -0.1"),
        ({"jitter": 1.5}, ValueError, "retry: jitter must be between 0 and 1, got 1.5"),
        ({"jitter": float("nan")}, ValueError, "retry: jitter must be between 0 and 1, got nan"),
        ({"jitter": "half"}, TypeError, "retry: jitter must be a number or a function of the wait, got 'half'"),
        ({"jitter": True}, TypeError, "retry: jitter must be a number or a function of the wait, got True"),
        ({"max_delay": -1}, ValueError, "retry: max_delay must be >= 0 and finite, got -1"),
        ({"max_delay": "1s"}, TypeError, "retry: max_delay must be seconds or a timedelta, got '1s'"),
        (
            {"when": "any"},
            TypeError,
            "retry: when must be an exception type, a tuple of them or a function of the error, got 'any'",
        ),
    ],
)
def test_refuses_wrong_options(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).retry(1, **options)


class LostError(Exception):
    """Be a failure that can be seen to be forgotten."""

    alive: ClassVar[weakref.WeakSet[LostError]] = weakref.WeakSet()

    def __init__(self) -> None:
        self.alive.add(self)


def test_a_thousand_failures_are_not_kept() -> None:
    seen: list[int] = []

    def connect() -> Stream[int]:
        seen.append(len(LostError.alive))
        raise LostError

    error = failure_of(Stream.defer(connect).retry(1_000))
    assert len(seen) == 1_001
    assert max(seen) <= 3
    assert isinstance(error.__cause__, LostError)
    assert error.__cause__.__cause__ is None
