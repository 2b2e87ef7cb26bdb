"""A run that is interrupted while it lets go of what is above it tells its subscriber of the end all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from penstock import Stream
from penstock.testing import ManualPublisher, subscribed

Use = Callable[[Stream[int], Stream[int]], Stream[Any]]


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def refuse(_: object) -> NoReturn:
    raise ValueError("refused")


COMPLETED: dict[str, Use] = {
    "do_finally": lambda stream, _: stream.do_finally(interrupt),
    "do_finally and map": lambda stream, _: stream.do_finally(interrupt).map(str),
    "take_until": lambda stream, other: stream.take_until(other),
    "skip_until": lambda stream, other: stream.skip_until(other),
    "with_latest_from": lambda stream, other: stream.with_latest_from(other.start_with(1)),
    "sample": lambda stream, other: stream.sample(other),
    "window": lambda stream, other: stream.window(until=other).flat_map(lambda window: window, concurrency=1),
    "sequence_equal": lambda stream, other: stream.sequence_equal(other.start_with(1)),
}
"""What cancels another stream, or calls a function, when its upstream completes."""

FAILED: dict[str, Use] = {
    **COMPLETED,
    "merge": lambda stream, other: stream.merge(other),
    "interleave": lambda stream, other: stream.interleave(other),
    "zip": lambda stream, other: stream.zip(other),
    "combine_latest": lambda stream, other: stream.combine_latest(other.start_with(1)),
    "join": lambda stream, other: other.join(stream, key=str),
    "flat_map": lambda stream, other: Stream.just(stream, other).flat_map(lambda each: each, concurrency=2),
}
"""The same where it fails."""

LEFT: dict[str, Use] = {
    "take": lambda stream, _: stream.tap(on_cancel=interrupt).take(1),
    "take behind a relay": lambda stream, _: stream.tap(on_cancel=interrupt).do_finally(str).take(1),
    "first": lambda stream, _: stream.tap(on_cancel=interrupt).first(),
    "any": lambda stream, _: stream.tap(on_cancel=interrupt).any(bool),
    "take_until": lambda stream, other: other.take_until(stream),
    "map": lambda stream, _: stream.tap(on_cancel=interrupt).map(refuse),
    "switch_map": lambda stream, _: stream.tap(on_cancel=interrupt).switch_map(refuse),
    "concat_map": lambda stream, _: stream.tap(on_cancel=interrupt).concat_map(refuse),
    "flat_map": lambda stream, _: stream.tap(on_cancel=interrupt).flat_map(refuse, concurrency=1),
    "group_by": lambda stream, _: stream.tap(on_cancel=interrupt).group_by(refuse),
    "on_backpressure_error": lambda stream, _: stream.tap(on_cancel=interrupt).on_backpressure_error(),
}
"""What leaves its upstream with an element."""


def other() -> Stream[int]:
    return Stream.never().tap(on_cancel=interrupt)


@pytest.mark.parametrize("name", COMPLETED)
def test_a_completion_is_told(name: str) -> None:
    source: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(COMPLETED[name](Stream.from_publisher(source), other()), 9)
    with pytest.raises(KeyboardInterrupt):
        source.complete()
    assert probe.ended


@pytest.mark.parametrize("name", FAILED)
def test_a_failure_is_told(name: str) -> None:
    source: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(FAILED[name](Stream.from_publisher(source), other()), 9)
    with pytest.raises(KeyboardInterrupt):
        source.fail(ValueError("lost"))
    assert probe.ended


@pytest.mark.parametrize("name", LEFT)
def test_the_end_is_told_where_upstream_is_left(name: str) -> None:
    source: ManualPublisher[int] = ManualPublisher()
    stream = LEFT[name](Stream.from_publisher(source), other())
    probe = subscribed(stream, 0 if name == "on_backpressure_error" else 9)
    with pytest.raises(KeyboardInterrupt):
        source.next(1)
    assert probe.ended
