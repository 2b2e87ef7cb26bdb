"""on_backpressure_buffer: everything is asked for, and a bounded number held."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Overflow, OverflowedError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import ManualPublisher, subscribed
from tests.operators.subjects import notes, place

POLICIES = "Overflow.ERROR, Overflow.DROP or Overflow.LATEST"


def held(size: int = 2, **options: Any) -> tuple[ManualPublisher[int], Any]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, subscribed(Stream.from_publisher(upstream).on_backpressure_buffer(size, **options))


def test_asks_for_everything_and_gives_what_is_asked_for() -> None:
    upstream, probe = held()
    assert upstream.requests == [UNBOUNDED]
    upstream.next(1, 2)
    assert probe.elements == []
    probe.request(1)
    assert probe.elements == [1]
    upstream.next(3)
    probe.request(5)
    assert probe.elements == [1, 2, 3]
    upstream.next(4)
    assert probe.elements == [1, 2, 3, 4]
    upstream.complete()
    assert probe.completed


def test_the_end_follows_what_waits() -> None:
    upstream, probe = held()
    upstream.next(1)
    upstream.fail(ValueError("lost"))
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [1]
    assert repr(probe.error) == "ValueError('lost')"


def test_one_too_many_fails_after_what_waits() -> None:
    upstream, probe = held()
    upstream.next(1, 2, 3)
    assert upstream.cancelled
    assert not probe.ended
    probe.request(9)
    assert probe.elements == [1, 2]
    assert type(probe.error) is OverflowedError
    assert str(probe.error) == "on_backpressure_buffer: 2 elements wait and another came; no subscriber asks for them"


@pytest.mark.parametrize(
    ("overflow", "kept", "dropped"), [(Overflow.DROP, [1, 2], [3, 4]), (Overflow.LATEST, [3, 4], [1, 2])]
)
def test_leaves_out_the_new_or_the_old(overflow: Overflow, kept: list[int], dropped: list[int]) -> None:
    found: list[int] = []
    upstream, probe = held(overflow=overflow, on_drop=found.append)
    upstream.next(1, 2, 3, 4)
    assert found == dropped
    probe.request(9)
    assert probe.elements == kept
    assert not upstream.cancelled


def test_what_is_left_out_need_not_be_looked_at() -> None:
    upstream, probe = held(overflow=Overflow.DROP)
    upstream.next(1, 2, 3)
    probe.request(9)
    assert probe.elements == [1, 2]


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    def look(_: int) -> None:
        raise ValueError("bad")

    upstream, probe = held(overflow=Overflow.DROP, on_drop=look)
    upstream.next(1, 2, 3)
    assert upstream.cancelled
    probe.request(9)
    assert probe.elements == [1, 2]
    assert repr(probe.error) == "ValueError('bad')"
    name = look.__qualname__.replace("<locals>.", "")
    assert notes(probe.error) == [f"in on_backpressure_buffer({name}), {place(look)}"]


def test_a_cancel_drops_what_waits() -> None:
    upstream, probe = held()
    upstream.next(1)
    probe.cancel()
    assert upstream.cancelled
    assert probe.signals == []


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"size": 0}, ValueError, "on_backpressure_buffer: size must be >= 1, got 0"),
        ({"size": None}, TypeError, "on_backpressure_buffer: size must be a whole number, got None"),
        (
            {"size": 1, "overflow": Overflow.BUFFER},
            TypeError,
            f"on_backpressure_buffer: overflow must be {POLICIES}, got <Overflow.BUFFER: 'buffer'>",
        ),
        (
            {"size": 1, "overflow": []},
            TypeError,
            f"on_backpressure_buffer: overflow must be {POLICIES}, got []",
        ),
        ({"size": 1, "on_drop": 5}, TypeError, "on_backpressure_buffer: on_drop must be callable, got 5"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).on_backpressure_buffer(**options)
    assert str(refusal.value) == message
