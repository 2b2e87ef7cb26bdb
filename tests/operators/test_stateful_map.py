"""stateful_map: each element changed in the light of a state, which a run makes for itself."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.stateful_map import StatefulMap
from penstock.testing import Form, check_stage
from tests.operators.subjects import each_form, failure_of, notes, over, place


def collect(seen: list[int], n: int) -> tuple[list[int] | None, tuple[int, ...]]:
    """Change the state in place, and forget it with each third element."""
    seen.append(n)
    return (seen if len(seen) < 3 else None), tuple(seen)


def model(items: list[int]) -> list[tuple[int, ...]]:
    return [tuple(items[at - at % 3 : at + 1]) for at in range(len(items))]


def test_laws() -> None:
    check_stage(StatefulMap(collect, list), model, st.integers())


def test_it_emits_the_result_and_keeps_the_state() -> None:
    def since_last(last: int, n: int) -> tuple[int, str]:
        return n, f"{n - last:+}"

    assert list(Stream.just(3, 10, 4).stateful_map(since_last, int)) == ["+3", "+7", "-6"]


def test_two_runs_share_no_state_even_if_it_is_changed_in_place() -> None:
    stream = Stream.just(1, 2).stateful_map(collect, list)
    assert list(stream) == [(1,), (1, 2)]
    assert list(stream) == [(1,), (1, 2)]


def test_the_state_is_made_with_the_first_element() -> None:
    made: list[str] = []

    def create() -> list[str]:
        made.append("state")
        return []

    empty: Stream[str] = Stream.empty()
    assert list(empty.stateful_map(lambda state, n: (state, n), create)) == []
    assert made == []
    assert list(Stream.just("a", "b").stateful_map(lambda state, n: (state, n), create)) == ["a", "b"]
    assert made == ["state"]


@pytest.mark.parametrize(
    ("fn", "create", "message"),
    [(5, int, "fn must be callable, got 5"), (collect, 0, "create must be callable, got 0")],
)
def test_refuses_what_cannot_be_called(fn: object, create: object, message: str) -> None:
    with pytest.raises(TypeError, match=f"^stateful_map: {message}$"):
        Stream.range(3).stateful_map(fn, create)  # type: ignore[arg-type]


def divide(total: float, n: int) -> tuple[float, float]:
    return total / n, total / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 1, 0).stateful_map(divide, float))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in stateful_map(divide), step 1 of 1, {place(divide)}"]


@each_form
def test_a_result_that_is_no_pair_is_refused(form: Form) -> None:
    error = failure_of(over(form, 1).stateful_map(lambda total, n: total + n, int))  # type: ignore[arg-type, return-value]
    assert type(error) is TypeError
    assert str(error) == "cannot unpack non-iterable int object"
    assert notes(error)[0].startswith(
        "in stateful_map(test_a_result_that_is_no_pair_is_refused.<lambda>), step 1 of 1,"
    )


@each_form
def test_none_is_not_an_element(form: Form) -> None:
    error = failure_of(over(form, 1).stateful_map(lambda total, n: (n, None), int))
    assert str(error).startswith("rule 2.13: None is not an element; ")


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(total: int, n: int) -> tuple[int, int]:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1).stateful_map(leak, int))
    assert str(error) == f"stateful_map({name}): the function raised StopIteration; that is an error, not an end"
