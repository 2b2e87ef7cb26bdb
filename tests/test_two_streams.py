"""What holds for every operator that listens to a second stream beside its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Dropped, Stream, set_on_dropped
from penstock.testing import ManualPublisher, subscribed

WITH: dict[str, Callable[[Stream[Any], Any], Stream[Any]]] = {
    "sample": lambda stream, other: stream.sample(other),
    "skip_until": lambda stream, other: stream.skip_until(other),
    "take_until": lambda stream, other: stream.take_until(other),
    "with_latest_from": lambda stream, other: stream.with_latest_from(other),
}
each = pytest.mark.parametrize("name", WITH)


def streams(name: str) -> tuple[ManualPublisher[int], ManualPublisher[str], Stream[Any]]:
    main: ManualPublisher[int] = ManualPublisher()
    other: ManualPublisher[str] = ManualPublisher()
    return main, other, WITH[name](Stream.from_publisher(main), other)


@each
@pytest.mark.parametrize("who", ["main", "other"])
def test_a_failure_ends_it_and_cancels_the_other(name: str, who: str) -> None:
    main, other, stream = streams(name)
    probe = subscribed(stream, 9)
    failing, cancelled = (main, other) if who == "main" else (other, main)
    failing.fail(ValueError("lost"))
    assert cancelled.cancelled
    assert repr(probe.error) == "ValueError('lost')"


@each
def test_the_end_of_the_stream_cancels_the_other(name: str) -> None:
    main, other, stream = streams(name)
    probe = subscribed(stream, 9)
    main.complete()
    assert other.cancelled
    assert probe.completed


@each
def test_a_cancel_reaches_both(name: str) -> None:
    main, other, stream = streams(name)
    subscribed(stream).cancel()
    assert main.cancelled
    assert other.cancelled


@each
def test_a_late_failure_is_dropped_not_lost(name: str) -> None:
    main, other, stream = streams(name)
    subscribed(stream, 9)
    late = other.subscriptions[0].subscriber
    main.complete()
    dropped: list[Dropped] = []
    before = set_on_dropped(dropped.append)
    try:
        late.on_error(ValueError("late"))
    finally:
        set_on_dropped(before)
    assert [repr(one.error) for one in dropped] == ["ValueError('late')"]


@each
@pytest.mark.parametrize("given", [None, object(), "ab"], ids=["None", "object", "text"])
def test_refuses_what_is_no_stream(name: str, given: object) -> None:
    with pytest.raises(TypeError, match=f"^{name}: .*got {re.escape(repr(given))}"):
        WITH[name](Stream.range(3), given)
