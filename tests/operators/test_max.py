"""max: the largest element, or the one with the largest key."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import EmptyError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.max import Max
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws() -> None:
    check_stage(Max(), lambda xs: [max(xs)] if xs else [], st.integers())


def test_laws_with_a_key() -> None:
    check_stage(Max(abs), lambda xs: [max(xs, key=abs)] if xs else [], st.integers(-3, 3))


def test_refuses_a_key_that_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^max: key must be callable, got 0$"):
        Stream.range(3).max(0)  # type: ignore[call-overload]


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).max())
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).max())
    probe.request(1)
    assert probe.wait_for_end() == [3]
    assert probe.completed


def test_of_several_the_first_is_taken() -> None:
    assert Stream.just("bb", "a", "cc", "d").max(len).get() == "bb"


def test_nothing_has_no_largest() -> None:
    assert list(Stream.empty().max()) == []
    with pytest.raises(EmptyError, match=r"^empty \| max: the stream completed without an element$"):
        Stream.empty().max().get()


@each_form
def test_what_cannot_be_compared_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, 1, "a").max())
    assert type(error) is TypeError
    assert notes(error) == ["in max, step 1 of 1"]


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).max(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in max(inverse), step 1 of 1, {place(inverse)}"]


def never_before(one: int, other: int) -> bool:
    raise KeyError(one)


def test_a_comparison_that_raises_is_named() -> None:
    error = failure_of(Stream.just(1, 2).max(less=never_before))
    assert notes(error) == [f"in max(never_before), step 1 of 1, {place(never_before)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).max(leak))
    assert str(error) == f"max({name}): the function raised StopIteration; that is an error, not an end"
