"""split_when: lists of neighbours, cut wherever the predicate is true for two of them."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import OverflowedError, Stream
from penstock.operators.split_when import SplitWhen
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def falls(a: int, b: int) -> bool:
    return b < a


def model(elements: list[int]) -> list[list[int]]:
    lists: list[list[int]] = []
    for element in elements:
        if not lists or falls(lists[-1][-1], element):
            lists.append([])
        lists[-1].append(element)
    return lists


def test_laws() -> None:
    check_stage(SplitWhen(falls), model, st.integers(0, 9))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^split_when: predicate must be callable, got 0$"):
        Stream.range(3).split_when(0)  # type: ignore[arg-type]


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^split_when: size must be >= 1, got 0$"):
        Stream.range(3).split_when(falls, size=0)


@each_form
def test_a_list_that_would_be_too_long_fails_the_stream(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3, 1, 2, 3, 4).split_when(falls, size=3), 9)
    assert probe.wait_for_end() == [[1, 2, 3]]
    assert type(probe.error) is OverflowedError
    message = "split_when: 3 elements wait for one that begins the next list; say size= for longer lists"
    assert str(probe.error) == message
    assert notes(probe.error) == [f"in split_when(falls), step 1 of 1, {place(falls)}"]


def test_a_list_is_emitted_by_the_element_that_begins_the_next() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).split_when(falls), 1)
    upstream.next(1)
    upstream.next(2)
    assert probe.elements == []
    upstream.next(0)
    assert probe.elements == [[1, 2]]
    assert upstream.demand == 0
    upstream.complete()
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [[1, 2], [0]]
    assert probe.completed


def test_the_predicate_sees_neighbours() -> None:
    seen: list[tuple[int, int]] = []
    assert list(Stream.just(1, 2, 3).split_when(lambda a, b: seen.append((a, b)))) == [[1, 2, 3]]
    assert seen == [(1, 2), (2, 3)]


def inverse(n: int, m: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 0, 1).split_when(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in split_when(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int, m: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).split_when(leak))
    assert str(error) == f"split_when({name}): the function raised StopIteration; that is an error, not an end"
