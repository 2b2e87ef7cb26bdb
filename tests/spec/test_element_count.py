"""ElementCount is signed, saturates at 2^63-1 and stays there, and is an int everywhere else."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from operator import index

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spec import UNBOUNDED, ElementCount
from penstock.spec.element_count import LEAST, asked_for

numbers = st.one_of(
    st.integers(0, 10),
    st.integers(0, UNBOUNDED * 2),
    st.sampled_from([UNBOUNDED - 1, UNBOUNDED, UNBOUNDED + 1]),
)
counts = numbers.map(ElementCount)


@given(numbers)
def test_equals_its_number_until_it_saturates(number: int) -> None:
    assert int(ElementCount(number)) == min(number, UNBOUNDED)
    assert ElementCount(number).is_unbounded == (number >= UNBOUNDED)


@given(counts, counts)
def test_addition_is_commutative(a: ElementCount, b: ElementCount) -> None:
    assert a + b == b + a


@given(counts, counts, counts)
def test_addition_is_associative(a: ElementCount, b: ElementCount, c: ElementCount) -> None:
    assert (a + b) + c == a + (b + c)


@given(counts)
def test_zero_is_neutral(a: ElementCount) -> None:
    assert a + 0 == 0 + a == a - 0 == a


@given(numbers, numbers)
def test_addition_agrees_with_int_until_it_saturates(a: int, b: int) -> None:
    total = ElementCount(min(a + b, UNBOUNDED))
    assert ElementCount(a) + ElementCount(b) == total
    assert ElementCount(a) + b == total
    assert a + ElementCount(b) == total


@given(numbers)
def test_unbounded_absorbs(number: int) -> None:
    unbounded = ElementCount.unbounded()
    assert unbounded + number == unbounded
    assert number + unbounded == unbounded
    assert unbounded - number == unbounded
    assert unbounded - ElementCount(number) == unbounded
    assert (UNBOUNDED + number) - ElementCount(number) == unbounded


@given(counts, st.integers(0, 1000))
def test_subtraction_undoes_an_addition_that_did_not_saturate(a: ElementCount, b: int) -> None:
    total = a + b
    assert total - b == (total if total.is_unbounded else a)


@given(counts, counts)
def test_compares_and_hashes_as_int(a: ElementCount, b: ElementCount) -> None:
    assert (a < b, a <= b, a == b) == (int(a) < int(b), int(a) <= int(b), int(a) == int(b))
    assert hash(a) == hash(int(a))


@given(counts, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_pickles_and_copies_to_an_equal_count(a: ElementCount, protocol: int) -> None:
    for twin in (pickle.loads(pickle.dumps(a, protocol)), copy(a), deepcopy(a)):
        assert type(twin) is ElementCount
        assert twin == a


def test_arithmetic_yields_counts() -> None:
    three = ElementCount(3)
    results = [three + 1, 1 + three, three - 1, 7 - three, sum([three, three]), ElementCount(ElementCount(3))]
    assert [type(result) for result in results] == [ElementCount] * len(results)
    assert results == [4, 4, 2, 4, 6, 3]


def test_in_place_arithmetic_makes_a_new_count() -> None:
    before = after = ElementCount(3)
    after += 2
    after -= 1
    assert (before, after) == (3, 4)
    assert type(after) is ElementCount


def test_stands_where_an_index_is_expected() -> None:
    assert index(ElementCount(2)) == 2
    assert "abc"[ElementCount(2)] == "c"
    assert list(range(ElementCount(2))) == [0, 1]


def test_is_falsy_when_zero() -> None:
    assert not ElementCount()
    assert ElementCount(1)


def test_has_no_attributes_to_set() -> None:
    with pytest.raises(AttributeError):
        ElementCount(1).extra = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("count", "expected_repr", "expected_str"),
    [
        (ElementCount(3), "ElementCount(3)", "3"),
        (ElementCount.unbounded(), "ElementCount.unbounded()", "unbounded"),
        (ElementCount(2**80), "ElementCount.unbounded()", "unbounded"),
    ],
)
def test_prints_what_it_is(count: ElementCount, expected_repr: str, expected_str: str) -> None:
    assert repr(count) == expected_repr
    assert str(count) == f"{count}" == expected_str


signed = st.one_of(st.integers(-10, 10), st.integers(LEAST, UNBOUNDED), st.sampled_from([LEAST, LEAST + 1, UNBOUNDED]))


@given(signed)
def test_may_be_below_zero(number: int) -> None:
    assert int(ElementCount(number)) == number


def in_64_bits(number: int) -> ElementCount | None:
    """Return what a count of so many is, or None below what 64 bits hold."""
    return None if number < LEAST else ElementCount(number)


def worked_out(work: Callable[[], ElementCount]) -> ElementCount | None:
    try:
        return work()
    except OverflowError:
        return None


@given(signed, signed)
def test_signed_arithmetic_saturates_above_and_overflows_below(a: int, b: int) -> None:
    unbounded = ElementCount.unbounded()
    total = unbounded if UNBOUNDED in (a, b) else in_64_bits(a + b)
    rest = unbounded if a == UNBOUNDED else in_64_bits(a - b)
    for left, right in [(ElementCount(a), ElementCount(b)), (ElementCount(a), b), (a, ElementCount(b))]:
        assert worked_out(lambda left=left, right=right: left + right) == total  # type: ignore[misc]
        assert worked_out(lambda left=left, right=right: left - right) == rest  # type: ignore[misc]


@pytest.mark.parametrize(
    ("worked", "expected"),
    [
        (lambda: ElementCount() - 1, -1),
        (lambda: ElementCount(1) + -2, -1),
        (lambda: ElementCount() - ElementCount(2), -2),
        (lambda: ElementCount() - -2, 2),
        (lambda: ElementCount(UNBOUNDED) + -2, UNBOUNDED),
        (lambda: ElementCount(UNBOUNDED) + LEAST, UNBOUNDED),
        (lambda: ElementCount(UNBOUNDED) - UNBOUNDED, UNBOUNDED),
        (lambda: ElementCount(LEAST) + 2, LEAST + 2),
        (lambda: ElementCount(LEAST) - -2, LEAST + 2),
        (lambda: 3 - ElementCount(5), -2),
    ],
)
def test_counts_as_rs_does(worked: Callable[[], ElementCount], expected: int) -> None:
    assert worked() == expected
    assert type(worked()) is ElementCount


@pytest.mark.parametrize("worked", [lambda: ElementCount(LEAST) - 1, lambda: ElementCount(LEAST) + -1])
def test_cannot_go_below_the_least(worked: Callable[[], ElementCount]) -> None:
    with pytest.raises(OverflowError, match=r"^ElementCount: a count must be >= -2\*\*63, got -9223372036854775809$"):
        worked()


@pytest.mark.parametrize(("number", "shown"), [(1.0, r"1\.0"), (None, "None"), ("3", "'3'"), (int, "<class 'int'>")])
def test_refuses_what_is_not_whole(number: object, shown: str) -> None:
    with pytest.raises(TypeError, match=rf"^ElementCount: count must be an int, got {shown}$"):
        ElementCount(number)  # type: ignore[arg-type]


def test_is_a_mere_int_to_a_float() -> None:
    assert ElementCount(1) + 0.5 == 0.5 + ElementCount(1) == 1.5


@pytest.mark.parametrize("other", ["1", None])
def test_does_no_arithmetic_with_what_is_not_an_int(other: object) -> None:
    with pytest.raises(TypeError):
        ElementCount(1) + other  # type: ignore[operator]
    with pytest.raises(TypeError):
        other + ElementCount(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ElementCount(1) - other  # type: ignore[operator]
    with pytest.raises(TypeError):
        other - ElementCount(1)  # type: ignore[operator]


class Whole:
    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("n", "asked"),
    [(1, 1), (2**70, 2**70), (Whole(), 3), (0, 0), (-1, 0), (True, 0), (False, 0), (1.0, 0), ("1", 0), (None, 0)],
)
def test_a_request_asks_for_a_whole_number_of_elements_or_for_none(n: object, asked: int) -> None:
    assert asked_for(n) == asked
