"""switch_if_empty: another stream in place of one that has no element."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, over


@pytest.mark.parametrize("signals", [False, True])
def test_laws(signals: bool) -> None:
    other = Stream.just("none", "at all")
    if signals:
        other = other.do_finally(bool)
    check_joint(lambda stream: stream.switch_if_empty(other), lambda xs: xs or ["none", "at all"], st.integers())


def test_laws_of_the_other_stream() -> None:
    check_joint(lambda stream: Stream.empty().switch_if_empty(stream), lambda xs: xs, st.integers(), examples=10)


@each_form
def test_a_filter_that_rejects_everything_counts_as_empty(form: Form) -> None:
    assert list(over(form, 1, 2).filter(lambda n: n > 5).switch_if_empty(Stream.just(9))) == [9]


def test_demand_moves_on() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(first).switch_if_empty(second), 3)
    assert second.subscribers == 0
    first.complete()
    assert second.requests == [3]
    second.next(1)
    second.complete()
    assert probe.elements == [1]
    assert probe.completed


def test_the_other_is_not_subscribed_where_it_is_not_needed() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(first).switch_if_empty(second), 3)
    first.next(1)
    first.complete()
    assert probe.completed
    assert second.subscribers == 0


@pytest.mark.parametrize("signals", [False, True])
def test_a_failure_is_not_empty(signals: bool) -> None:
    items = Tracked([], ValueError("lost"))
    stream = Stream.from_iterable(items)
    error = failure_of((stream.do_finally(bool) if signals else stream).switch_if_empty(Stream.just(1)))
    assert repr(error) == "ValueError('lost')"


def test_a_cancel_reaches_the_one_at_hand() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(first).switch_if_empty(second), 3)
    first.complete()
    probe.cancel()
    assert second.cancelled


def test_the_one_at_hand_is_closed_when_iterated() -> None:
    first, second = Tracked([]), Tracked([1, 2, 3])
    probe = subscribed(Stream.from_iterable(first).switch_if_empty(Stream.from_iterable(second)), 2)
    assert (first.open_runs, second.open_runs) == (0, 1)
    probe.cancel()
    assert second.open_runs == 0


def test_refuses_what_is_no_stream() -> None:
    message = r"^switch_if_empty: each stream must be a Publisher, got \[\]; wrap an iterable in Stream.from_iterable$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).switch_if_empty([])  # type: ignore[arg-type]
