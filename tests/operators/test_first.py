"""first: the first element alone, and no second one is asked for."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import EmptyError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.first import First
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws() -> None:
    check_stage(First(), lambda xs: xs[:1], st.integers())


def large(n: int) -> bool:
    return n > 2


def test_laws_with_a_predicate() -> None:
    check_stage(First(large), lambda xs: list(filter(large, xs))[:1], st.integers(0, 4))


def test_laws_with_a_default() -> None:
    check_stage(First(default=9), lambda xs: xs[:1] or [9], st.integers())


def test_laws_with_both() -> None:
    check_stage(First(large, 9), lambda xs: list(filter(large, xs))[:1] or [9], st.integers(0, 4))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^first: predicate must be callable, got 0$"):
        Stream.range(3).first(0)  # type: ignore[call-overload]


def test_refuses_none_as_a_default() -> None:
    with pytest.raises(TypeError, match=r"^first: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).first(default=None)


def test_with_a_predicate_it_asks_for_everything_until_it_has_found_one() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).first(large), 1)
    assert upstream.requests == [UNBOUNDED]
    upstream.next(1, 2, 3)
    assert upstream.cancelled
    assert probe.elements == [3]
    assert probe.completed


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_predicate_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 0).first(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in first(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> int:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1).first(leak))
    assert str(error) == f"first({name}): the function raised StopIteration; that is an error, not an end"


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2).first())
    probe.request(1)
    assert probe.wait_for_end() == [1]


def test_asks_for_one_element_and_then_cancels() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).first(), UNBOUNDED)
    assert upstream.requested == 1
    upstream.next("a")
    assert upstream.cancelled
    assert probe.elements == ["a"]


def test_takes_one_element_from_its_source() -> None:
    items = Tracked(range(9))
    assert Stream.from_iterable(items).first().get() == 0
    assert (items.taken, items.open_runs) == (1, 0)


def test_an_empty_stream_has_no_first() -> None:
    assert list(Stream.empty().first()) == []
    with pytest.raises(EmptyError, match=r"^empty \| first: the stream completed without an element$"):
        Stream.empty().first().get()
