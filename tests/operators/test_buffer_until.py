"""buffer_until: lists that each end with an element that satisfies the predicate."""

from __future__ import annotations

import re

import pytest
from hypothesis import strategies as st

from penstock import OverflowedError, Stream
from penstock.operators.buffer_until import BufferUntil
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def is_stop(c: str) -> bool:
    return c == "."


def model(elements: list[str]) -> list[list[str]]:
    return [list(part) for part in re.findall(r"[^.]*\.|[^.]+$", "".join(elements))]


def test_laws() -> None:
    check_stage(BufferUntil(is_stop), model, st.sampled_from("ab.."))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^buffer_until: predicate must be callable, got 0$"):
        Stream.range(3).buffer_until(0)  # type: ignore[arg-type]


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^buffer_until: size must be >= 1, got 0$"):
        Stream.range(3).buffer_until(is_stop, size=0)  # type: ignore[arg-type]


@each_form
def test_a_list_that_would_be_too_long_fails_the_stream(form: Form) -> None:
    probe = subscribed(over(form, *"ab.cd.abcd").buffer_until(is_stop, size=3), 9)
    assert probe.wait_for_end() == [["a", "b", "."], ["c", "d", "."]]
    assert type(probe.error) is OverflowedError
    message = "buffer_until: 3 elements wait for one that ends their list; say size= for longer lists"
    assert str(probe.error) == message
    assert notes(probe.error) == [f"in buffer_until(is_stop), step 1 of 1, {place(is_stop)}"]


@each_form
def test_a_list_may_be_as_long_as_its_size(form: Form) -> None:
    assert list(over(form, *"abc").buffer_until(is_stop, size=3)) == [["a", "b", "c"]]


@each_form
def test_what_is_at_hand_at_the_end_waits_for_demand(form: Form) -> None:
    probe = subscribed(over(form, "a", ".", "b").buffer_until(is_stop))
    probe.request(1)
    assert probe.wait_for(1) == [["a", "."]]
    assert not probe.ended
    probe.request(1)
    assert probe.wait_for_end()[1:] == [["b"]]


def test_a_failure_drops_the_list_at_hand() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).buffer_until(is_stop), 9)
    upstream.next(*"a.b")
    upstream.fail(ValueError("lost"))
    assert probe.elements == [["a", "."]]
    assert repr(probe.error) == "ValueError('lost')"


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).buffer_until(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in buffer_until(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).buffer_until(leak))
    assert str(error) == f"buffer_until({name}): the function raised StopIteration; that is an error, not an end"
