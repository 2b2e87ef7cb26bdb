"""What users of rs look for: the choice where there is nothing, factories, comparators, and counts of numbers."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from penstock import EmptyError, Stream
from penstock.testing import subscribed

NOTHING: Stream[Any] = Stream.empty()
ONE = {
    "first": lambda stream, **given: stream.first(**given),
    "last": lambda stream, **given: stream.last(**given),
    "element_at": lambda stream, **given: stream.element_at(0, **given),
    "max": lambda stream, **given: stream.max(**given),
    "min": lambda stream, **given: stream.min(**given),
    "average": lambda stream, **given: stream.average(**given),
    "reduce": lambda stream, **given: stream.reduce(max, **given),
}
each_operator = pytest.mark.parametrize("operator", ONE)


@each_operator
def test_an_empty_stream_gives_nothing_a_default_or_a_failure(operator: str) -> None:
    assert list(ONE[operator](NOTHING)) == []
    assert list(ONE[operator](NOTHING, default=9)) == [9]
    with pytest.raises(EmptyError, match=rf"^{operator}: the stream completed without such an element"):
        list(ONE[operator](NOTHING, required=True))


@each_operator
def test_neither_is_seen_where_there_is_an_element(operator: str) -> None:
    for given in ({}, {"default": 9}, {"required": True}):
        stream = ONE[operator](Stream.just(4), **given)
        assert list(stream) == [4]
        assert pickle.loads(pickle.dumps(stream)) == stream
        assert subscribed(stream, 1).completed


@each_operator
def test_a_failure_of_upstream_stays_what_it_is(operator: str) -> None:
    with pytest.raises(LookupError, match="lost"):
        list(ONE[operator](Stream.error(LookupError("lost")), required=True))


@each_operator
def test_both_at_once_are_refused(operator: str) -> None:
    with pytest.raises(TypeError, match=rf"^{operator}: one of default and required can be given, got both$"):
        ONE[operator](NOTHING, default=9, required=True)
    with pytest.raises(TypeError, match=rf"^{operator}: None is not an element \(rule 2\.13\)$"):
        ONE[operator](NOTHING, default=None)


def test_a_fold_with_a_beginning_is_never_empty() -> None:
    with pytest.raises(TypeError, match=r"^reduce: default and required are for a fold that begins with the first"):
        Stream.range(3).reduce(max, 0, required=True)  # type: ignore[call-overload]


def test_a_comparator_tells_the_order() -> None:
    def shorter(one: str, other: str) -> bool:
        return len(one) < len(other)

    words = Stream.just("three", "two", "eleven", "one")
    assert words.max(less=shorter).get() == "eleven"
    assert words.min(less=shorter).get() == "two"
    with pytest.raises(TypeError, match=r"^max: one of key and less can be given, got both$"):
        words.max(len, less=shorter)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^min: less must be callable, got 3$"):
        words.min(less=3)  # type: ignore[call-overload]


def test_contains_by_another_equality() -> None:
    words = Stream.just("Tea", "Milk")
    assert words.contains("tea", equal=lambda a, b: a.lower() == b.lower()).get() is True
    assert words.contains("tea").get() is False
    with pytest.raises(TypeError, match=r"^contains: equal must be callable, got 3$"):
        words.contains("tea", equal=3)  # type: ignore[arg-type]


def test_functions_are_called_for_each_run_and_when_their_element_is_asked_for() -> None:
    called: list[str] = []

    def make(name: str) -> Any:
        return lambda: called.append(name) or name

    for stream in (
        Stream.just("x").start_with(create=[make("a"), make("b")]),
        Stream.from_callable(make("a"), make("b")),
    ):
        called.clear()
        probe = subscribed(stream, 1)
        assert (probe.elements, called) == (["a"], ["a"])
        probe.cancel()
    called.clear()
    ended = Stream.just("x").end_with("y", create=[make("z")])
    assert [list(ended), list(ended), called] == [["x", "y", "z"], ["x", "y", "z"], ["z", "z"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0.0, 1.0, 0.25), [0.0, 0.25, 0.5, 0.75]),
        ((1.0, 0.0, -0.5), [1.0, 0.5]),
        ((2.5,), [0.0, 1.0, 2.0]),
        ((1.0, 0.0), []),
        ((Fraction(1, 2), Fraction(2)), [Fraction(1, 2), Fraction(3, 2)]),
        ((Decimal("0.1"), Decimal("0.4"), Decimal("0.1")), [Decimal("0.1"), Decimal("0.2"), Decimal("0.3")]),
    ],
)
def test_ranges_need_not_be_whole(arguments: tuple[Any, ...], expected: list[Any]) -> None:
    assert list(Stream.range(*arguments)) == expected


def test_a_range_of_so_many_numbers() -> None:
    assert list(Stream.range(10, count=10)) == list(range(10, 20))
    assert list(Stream.range(0.0, step=0.1, count=4))[-1] == 3 * 0.1
    assert list(Stream.range(10, 10)) == []  # which would be ten numbers in rs


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"start": 1, "stop": 2, "count": 3}, TypeError, r"^range: one of stop and count can be given, got 2 and 3$"),
        ({"start": "a"}, TypeError, r"^range: start must be a number, got 'a'$"),
        ({"start": 0.0, "stop": 1.0, "step": 0.0}, ValueError, r"^range: step must not be zero, got 0\.0$"),
        ({"start": 0.0, "stop": float("inf")}, ValueError, r"^range: start, stop and step must be finite, got "),
        ({"start": 0, "count": -1}, ValueError, r"^range: count must be >= 0, got -1$"),
    ],
)
def test_refuses_other_ranges(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Stream.range(**given)


def test_concat_takes_any_number_of_publishers() -> None:
    assert list(Stream.concat()) == []
    assert list(Stream.concat(Stream.just(1))) == [1]
    assert list(Stream.concat(Stream.just(1), Stream.just(2), Stream.just(3))) == [1, 2, 3]
