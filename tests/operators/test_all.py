"""all: whether every element satisfies the predicate, known as soon as one does not."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.all import All
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def known_at_two(n: int) -> bool:
    return n != 2


def test_laws() -> None:
    check_stage(All(known_at_two), lambda xs: [all(known_at_two(x) for x in xs)], st.integers(0, 4))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^all: predicate must be callable, got 0$"):
        Stream.range(3).all(0)  # type: ignore[arg-type]


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).all(known_at_two))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 3).all(known_at_two))
    probe.request(1)
    assert probe.wait_for_end() == [True]
    assert probe.completed


def test_of_nothing() -> None:
    assert Stream.empty().all(known_at_two).get() is True


@each_form
def test_ends_the_run_as_soon_as_it_is_known(form: Form) -> None:
    items = Tracked([1, 2, 3, 4])
    assert form.over(items).all(known_at_two).get() is False
    items.wait_until_closed()
    assert items.taken == 2


def test_cancels_upstream_as_soon_as_it_is_known() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).all(known_at_two), 1)
    upstream.next(1)
    assert not upstream.cancelled
    upstream.next(2)
    assert upstream.cancelled
    assert probe.elements == [False]
    assert probe.completed


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 0).all(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in all(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).all(leak))
    assert str(error) == f"all({name}): the function raised StopIteration; that is an error, not an end"
