"""defer: makes the stream anew for each subscriber."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from penstock import Stream
from penstock.testing import ManualPublisher, check_source, subscribed
from tests.operators.subjects import failure_of, notes, place


def test_laws() -> None:
    check_source(lambda: Stream.defer(lambda: Stream.just(1, 2)), [1, 2], examples=10)


def test_laws_of_an_iterable() -> None:
    check_source(lambda: Stream.defer(lambda: iter([1, 2])), [1, 2], examples=10)


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^defer: make must be callable, got \[1\]$"):
        Stream.defer([1])  # type: ignore[arg-type]


def test_makes_one_for_each_subscriber_and_none_before() -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(len(made))
        return made[-1:]

    stream = Stream.defer(make)
    assert made == []
    assert (list(stream), list(stream)) == ([0], [1])


def test_passes_demand_and_cancel_on() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.defer(lambda: upstream), 3)
    assert upstream.requests == [3]
    probe.cancel()
    assert upstream.cancelled


def fail() -> list[int]:
    raise ValueError("nothing to make")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    error = failure_of(Stream.defer(fail))
    assert repr(error) == "ValueError('nothing to make')"
    assert notes(error) == [f"in defer(fail), {place(fail)}"]


def test_what_is_no_stream_is_refused() -> None:
    error = failure_of(Stream.defer(lambda: 5))  # type: ignore[arg-type,return-value]
    assert type(error) is TypeError
    assert str(error) == "defer: the function must return a Publisher or an iterable, got 5"


def test_takes_an_asynchronous_iterable() -> None:
    async def letters() -> AsyncIterator[str]:
        yield "a"
        yield "b"

    stream = Stream.defer(letters)
    assert list(stream) == list(stream) == ["a", "b"]
