"""take_while: elements until one does not satisfy the predicate, which is not emitted."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.take_while import TakeWhile
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def small(n: int) -> bool:
    return n < 3


def test_laws() -> None:
    check_stage(TakeWhile(small), lambda xs: list(takewhile(small, xs)), st.integers(0, 4))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^take_while: predicate must be callable, got True$"):
        Stream.range(3).take_while(True)  # type: ignore[arg-type]


def test_cancels_upstream_at_the_first_element_that_fails_the_predicate() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).take_while(small), 9)
    upstream.next(1, 2, 3)
    assert probe.elements == [1, 2]
    assert probe.completed
    assert upstream.cancelled


def test_takes_no_element_after_that() -> None:
    items = Tracked([1, 5, 1])
    assert list(Stream.from_iterable(items).take_while(small)) == [1]
    assert (items.taken, items.open_runs) == (2, 0)


def test_what_later_stages_hold_follows_the_end() -> None:
    assert list(Stream.range(9).take_while(small).buffer(2)) == [[0, 1], [2]]


@each_form
def test_a_predicate_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, "a").take_while(small))
    assert type(error) is TypeError
    assert notes(error) == [f"in take_while(small), step 1 of 1, {place(small)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> bool:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).take_while(leak))
    assert str(error) == f"take_while({name}): the function raised StopIteration; that is an error, not an end"
