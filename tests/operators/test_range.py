"""range: whole numbers, as the built-in range has them."""

from __future__ import annotations

import math

import pytest

from penstock import Stream
from penstock.testing import check_source, subscribed


@pytest.mark.parametrize("arguments", [(4,), (2, 5), (1, 10, 4), (5, 0, -2), (0,), (3, 3)])
def test_laws(arguments: tuple[int, ...]) -> None:
    check_source(lambda: Stream.range(*arguments), list(range(*arguments)), examples=5)


def test_completes_with_its_last_number() -> None:
    probe = subscribed(Stream.range(2), 2)
    assert probe.elements == [0, 1]
    assert probe.completed


def test_an_empty_range_completes_without_a_request() -> None:
    assert subscribed(Stream.range(0)).completed


def test_a_huge_range_is_not_counted_out() -> None:
    assert list(Stream.range(10**30).take(2)) == [0, 1]
    assert subscribed(Stream.range(10**30), 2).elements == [0, 1]


@pytest.mark.parametrize("step", [2, -2, 2.0])
@pytest.mark.parametrize("stop", [5, 5.0, -5])
def test_a_stop_alone_takes_a_step(stop: float, step: float) -> None:
    assert list(Stream.range(stop, step=step)) == list(range(0, int(stop), int(step)))


def test_refuses_what_the_built_in_refuses() -> None:
    with pytest.raises(ValueError, match=r"^range: step must not be zero, got 0$"):
        Stream.range(1, 5, 0)
    with pytest.raises(TypeError, match=r"^range: start must be a number, got '3'$"):
        Stream.range("3")  # type: ignore[call-overload]


@pytest.mark.parametrize("step", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("numbers", [{"stop": 10}, {"count": 3}], ids=["stop", "count"])
def test_refuses_a_step_that_is_not_finite(numbers: dict[str, int], step: float) -> None:
    with pytest.raises(ValueError, match=rf"^range: step must be finite, got {step}$"):
        Stream.range(0, step=step, **numbers)  # type: ignore[call-overload]
