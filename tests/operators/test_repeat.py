"""repeat: runs the stream again after its end, so many times or while a function says so."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


@pytest.mark.parametrize("times", [0, 1, 3])
def test_laws(times: int) -> None:
    check_joint(lambda stream: stream.repeat(times), lambda xs: xs * times, st.integers(), fails=times > 0, examples=10)


def test_for_ever_is_as_long_as_somebody_asks() -> None:
    assert list(Stream.just("a", "b").repeat().take(5)) == ["a", "b", "a", "b", "a"]


@each_form
def test_goes_on_while_the_function_is_true(form: Form) -> None:
    left = iter([True, True, False])
    assert list(over(form, 1).repeat(while_=lambda: next(left))) == [1, 1, 1]


def test_the_function_is_not_called_after_the_last_run_or_before_the_first() -> None:
    calls: list[int] = []
    assert list(Stream.just(1).do_finally(bool).repeat(2, while_=lambda: calls.append(1) or True)) == [1, 1]
    assert list(Stream.just(1).repeat(2, while_=lambda: calls.append(1) or True)) == [1, 1]
    assert calls == [1, 1]


@each_form
def test_a_failure_ends_it(form: Form) -> None:
    items = Tracked([1, 2], ValueError("lost"))
    probe = subscribed(form.over(items).repeat(), 9)
    assert probe.wait_for_end() == [1, 2]
    assert repr(probe.error) == "ValueError('lost')"
    assert items.opened == items.closed == 1


def test_a_further_run_is_started_when_somebody_asks() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).repeat(2), 1)
    upstream.next(1)
    upstream.complete()
    assert upstream.subscribers == 1
    probe.request(2)
    assert upstream.subscribers == 2
    assert upstream.requests == [2]
    upstream.complete()
    assert probe.completed


def test_demand_left_over_moves_on() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).repeat(), 5)
    upstream.next(1, 2)
    upstream.complete()
    assert [one.requests for one in upstream.subscriptions] == [[5], [3]]


def test_a_cancel_reaches_the_run_at_hand() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).repeat(), 5)
    upstream.complete()
    probe.cancel()
    assert [one.cancelled for one in upstream.subscriptions] == [False, True]


def test_a_cancel_between_two_runs_starts_no_more() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).repeat(), 1)
    upstream.next(1)
    upstream.complete()
    probe.cancel()
    probe.request(3)
    assert upstream.subscribers == 1


def test_no_runs_at_all_need_no_request_and_no_source() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    assert subscribed(Stream.from_publisher(upstream).repeat(0)).completed
    assert subscribed(Stream.range(3).repeat(0)).completed
    assert upstream.subscribers == 0


@pytest.mark.parametrize("signals", [False, True])
def test_an_endless_repetition_of_nothing_can_be_cancelled(signals: bool) -> None:
    """Somebody else cancels while it looks for an element, again and again."""
    runs = 0
    empty: Stream[int] = Stream.empty().do_finally(bool) if signals else Stream.empty()

    def count() -> bool:
        nonlocal runs
        runs += 1
        if runs == 1_000:
            probe.cancel()
        return True

    probe = subscribed(empty.repeat(while_=count))
    probe.request(1)
    assert runs == 1_000
    assert probe.signals == []


def test_thousands_of_runs_neither_deepen_the_stack_nor_overflow() -> None:
    assert Stream.just(1).do_finally(bool).repeat(3_000).count().get() == 3_000


def fail() -> bool:
    raise LookupError("no answer")


@each_form
def test_a_function_that_raises_fails_the_stream_and_is_named(form: Form) -> None:
    error = failure_of(over(form, 1).repeat(while_=fail))
    assert repr(error) == "LookupError('no answer')"
    assert notes(error) == [f"in repeat(fail), {place(fail)}"]


def test_refuses_a_negative_number_of_times() -> None:
    with pytest.raises(ValueError, match=r"^repeat: times must be >= 0, got -1$"):
        Stream.range(3).repeat(-1)


def test_refuses_what_is_no_number_of_times() -> None:
    with pytest.raises(TypeError, match=r"^repeat: times must be a whole number, got '2'$"):
        Stream.range(3).repeat("2")  # type: ignore[arg-type]


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^repeat: while_ must be callable, got 1$"):
        Stream.range(3).repeat(while_=1)  # type: ignore[arg-type]
