"""limit_rate: upstream is asked in small portions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import ManualPublisher, check_joint, subscribed


@pytest.mark.parametrize(("high", "low"), [(1, 0), (4, 2), (4, 3)])
def test_laws(high: int, low: int) -> None:
    check_joint(lambda stream: stream.limit_rate(high, low), lambda xs: xs, st.integers(), examples=10)


def limited(high: int, low: int | None, request: int) -> tuple[ManualPublisher[int], Any]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, subscribed(Stream.from_publisher(upstream).limit_rate(high, low), request)


@pytest.mark.parametrize(
    ("high", "low", "requests"),
    [(4, 0, [4, 4, 4]), (4, 1, [4, 3, 3, 3]), (4, None, [4, 2, 2, 2, 2]), (3, 2, [3, 1, 1, 1, 1, 1, 1, 1, 1, 1])],
)
def test_asks_again_when_few_are_to_come(high: int, low: int | None, requests: list[int]) -> None:
    upstream, probe = limited(high, low, UNBOUNDED)
    for number in range(9):
        assert upstream.demand <= high
        upstream.next(number)
    assert probe.elements == list(range(9))
    assert upstream.requests == requests


def test_asks_for_no_more_than_is_asked_for_below() -> None:
    upstream, probe = limited(4, 1, 0)
    assert upstream.requests == []
    probe.request(2)
    probe.request(7)
    assert upstream.requests == [2]
    upstream.next(1)
    assert upstream.requests == [2, 3]
    upstream.next(2, 3, 4)
    assert upstream.requests == [2, 3, 3]
    upstream.next(5, 6, 7)
    assert upstream.requests == [2, 3, 3, 1]
    assert upstream.requested == probe.requested


def test_take_caps_what_is_asked_for() -> None:
    asked: list[int] = []
    assert list(Stream.range(99).tap(on_request=asked.append).limit_rate(4, 1).take(6)) == [0, 1, 2, 3, 4, 5]
    assert sum(asked) == 6


def test_a_cancel_reaches_upstream() -> None:
    upstream, probe = limited(4, 1, 3)
    probe.cancel()
    assert upstream.cancelled


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"high": 0}, ValueError, "limit_rate: high must be >= 1, got 0"),
        ({"high": "3"}, TypeError, "limit_rate: high must be a whole number, got '3'"),
        ({"high": 3, "low": -1}, ValueError, "limit_rate: low must be >= 0, got -1"),
        ({"high": 3, "low": 0.5}, TypeError, "limit_rate: low must be a whole number, got 0.5"),
        ({"high": 3, "low": 3}, ValueError, "limit_rate: low must be < 3, which is high, got 3"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).limit_rate(**options)
    assert str(refusal.value) == message
