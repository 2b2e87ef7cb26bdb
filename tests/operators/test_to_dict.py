"""to_dict: one element, the dictionary of all elements by their keys."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.to_dict import ToDict
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def parity(n: int) -> int:
    return n % 2


def test_laws_of_pairs() -> None:
    check_stage(ToDict(), lambda xs: [dict(xs)], st.tuples(st.integers(0, 4), st.integers()))


def test_laws_with_a_key() -> None:
    check_stage(ToDict(parity), lambda xs: [{parity(x): x for x in xs}], st.integers())


def test_laws_with_a_key_and_a_value() -> None:
    check_stage(ToDict(parity, str), lambda xs: [{parity(x): str(x) for x in xs}], st.integers())


@pytest.mark.parametrize(("key", "value", "name"), [(0, None, "key"), (str, 0, "value")])
def test_refuses_what_cannot_be_called(key: object, value: object, name: str) -> None:
    with pytest.raises(TypeError, match=rf"^to_dict: {name} must be callable, got 0$"):
        Stream.range(3).to_dict(key, value)  # type: ignore[call-overload]


def test_refuses_a_value_without_a_key() -> None:
    with pytest.raises(TypeError) as refusal:
        Stream.range(3).to_dict(None, str)  # type: ignore[call-overload]
    assert str(refusal.value) == "to_dict: key must be given where value is, got <class 'str'> alone"


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).to_dict(str))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).to_dict(str))
    probe.request(1)
    assert probe.wait_for_end() == [{"1": 1, "2": 2, "3": 3}]
    assert probe.completed


def test_of_several_with_one_key_the_last_stays() -> None:
    assert Stream.just(1, 2, 3).to_dict(parity).get() == {1: 3, 0: 2}


def test_a_key_and_a_value_may_be_none() -> None:
    assert Stream.just(1).to_dict(lambda n: None, lambda n: None).get() == {None: None}


@each_form
def test_what_is_no_pair_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, 5).to_dict())
    assert type(error) is TypeError
    assert notes(error) == ["in to_dict, step 1 of 1"]


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).to_dict(inverse))
    assert notes(error) == [f"in to_dict(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_of_two_functions_the_one_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).to_dict(parity, inverse))
    assert notes(error) == [f"in to_dict(inverse), step 1 of 1, {place(inverse)}"]
    error = failure_of(over(form, 2, 0).to_dict(inverse, parity))
    assert notes(error) == [f"in to_dict(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).to_dict(leak))
    assert str(error) == f"to_dict({name}): the function raised StopIteration; that is an error, not an end"
