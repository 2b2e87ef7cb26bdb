"""skip_while: everything from the first element on that does not satisfy the predicate."""

from __future__ import annotations

from itertools import dropwhile

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.skip_while import SkipWhile
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def small(n: int) -> bool:
    return n < 2


def test_laws() -> None:
    check_stage(SkipWhile(small), lambda xs: list(dropwhile(small, xs)), st.integers(0, 3))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^skip_while: predicate must be callable, got 0$"):
        Stream.range(3).skip_while(0)  # type: ignore[arg-type]


def test_the_predicate_is_not_called_again() -> None:
    seen: list[int] = []
    assert list(Stream.just(1, 5, 1, 5).skip_while(lambda n: seen.append(n) or n < 3)) == [5, 1, 5]
    assert seen == [1, 5]


def test_what_is_left_out_is_replaced() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).skip_while(small), 1)
    upstream.next(0)
    assert upstream.requests == [1, 1]
    upstream.next(5)
    assert probe.elements == [5]
    assert upstream.demand == 0


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).skip_while(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in skip_while(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).skip_while(leak))
    assert str(error) == f"skip_while({name}): the function raised StopIteration; that is an error, not an end"
