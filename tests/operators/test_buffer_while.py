"""buffer_while: lists of neighbours that satisfy the predicate, without what is between them."""

from __future__ import annotations

import re

import pytest
from hypothesis import strategies as st

from penstock import OverflowedError, Stream
from penstock.operators.buffer_while import BufferWhile
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def is_letter(c: str) -> bool:
    return c != "."


def model(elements: list[str]) -> list[list[str]]:
    return [list(part) for part in re.findall(r"[^.]+", "".join(elements))]


def test_laws() -> None:
    check_stage(BufferWhile(is_letter), model, st.sampled_from("ab.."))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^buffer_while: predicate must be callable, got 0$"):
        Stream.range(3).buffer_while(0)  # type: ignore[arg-type]


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^buffer_while: size must be >= 1, got 0$"):
        Stream.range(3).buffer_while(is_letter, size=0)  # type: ignore[arg-type]


@each_form
def test_a_list_that_would_be_too_long_fails_the_stream(form: Form) -> None:
    probe = subscribed(over(form, *"ab.cde.abcde").buffer_while(is_letter, size=3), 9)
    assert probe.wait_for_end() == [["a", "b"], ["c", "d", "e"]]
    assert type(probe.error) is OverflowedError
    message = "buffer_while: 3 elements wait for one that ends their list; say size= for longer lists"
    assert str(probe.error) == message
    assert notes(probe.error) == [f"in buffer_while(is_letter), step 1 of 1, {place(is_letter)}"]


@each_form
def test_a_list_may_be_as_long_as_its_size(form: Form) -> None:
    assert list(over(form, *"abc").buffer_while(is_letter, size=3)) == [["a", "b", "c"]]


@each_form
def test_what_is_at_hand_at_the_end_waits_for_demand(form: Form) -> None:
    probe = subscribed(over(form, "a", ".", "b").buffer_while(is_letter))
    probe.request(1)
    assert probe.wait_for(1) == [["a"]]
    assert not probe.ended
    probe.request(1)
    assert probe.wait_for_end()[1:] == [["b"]]


def test_a_failure_drops_the_list_at_hand() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).buffer_while(is_letter), 9)
    upstream.next(*"a.b")
    upstream.fail(ValueError("lost"))
    assert probe.elements == [["a"]]
    assert repr(probe.error) == "ValueError('lost')"


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).buffer_while(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in buffer_while(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).buffer_while(leak))
    assert str(error) == f"buffer_while({name}): the function raised StopIteration; that is an error, not an end"
