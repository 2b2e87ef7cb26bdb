"""from_async_iterable: the items of an asynchronous iterable, on the running loop or on one of penstock's own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from penstock import PenstockError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Tracked, check_source, subscribed
from tests.operators.subjects import failure_of, notes


def test_laws() -> None:
    check_source(lambda: Stream.from_async_iterable(Tracked([1, 2, 3])), [1, 2, 3], examples=10)


def test_refuses_what_is_not_asynchronous() -> None:
    with pytest.raises(TypeError, match=r"iterable, got \[1\]; use from_iterable$"):
        Stream.from_async_iterable([1])  # type: ignore[arg-type]


def test_an_iterator_refuses_a_second_subscriber() -> None:
    async def letters() -> AsyncIterator[str]:
        yield "a"

    stream = Stream.from_async_iterable(letters())
    assert list(stream) == ["a"]
    error = failure_of(stream)
    assert type(error) is PenstockError
    assert str(error) == (
        "from_async_iterable: this iterator was taken by an earlier subscriber; pass a collection, or make one per run "
        "with Stream.defer"
    )


def test_nothing_is_opened_before_the_first_request() -> None:
    items = Tracked([1])
    probe = subscribed(Stream.from_async_iterable(items))
    probe.cancel()
    assert items.opened == 0


def test_takes_no_more_than_was_requested() -> None:
    items = Tracked(range(9))
    probe = subscribed(Stream.from_async_iterable(items), 3)
    assert probe.wait_for(3) == [0, 1, 2]
    assert items.taken == 3
    probe.cancel()
    items.wait_until_closed()


def test_a_cancel_interrupts_what_the_source_waits_for() -> None:
    waiting, left = threading.Event(), threading.Event()

    async def stuck() -> AsyncIterator[int]:
        try:
            waiting.set()
            await asyncio.Event().wait()
            yield 1
        finally:
            left.set()

    probe = subscribed(Stream.from_async_iterable(stuck()), 1)
    assert waiting.wait(60)
    probe.cancel()
    assert left.wait(60)
    assert probe.signals == []


def test_a_source_that_raises_fails_the_stream() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise ValueError("lost")

    probe = subscribed(Stream.from_async_iterable(failing()).map(str), UNBOUNDED)
    assert probe.wait_for_end() == ["1"]
    assert repr(probe.error) == "ValueError('lost')"
    assert probe.error is not None
    assert notes(probe.error) == ["in the source"]


def test_a_cancelled_future_that_the_source_awaits_is_no_end_of_the_loop() -> None:
    async def waiting() -> AsyncIterator[int]:
        yield 1
        given_up = asyncio.get_running_loop().create_future()
        given_up.cancel()
        await given_up

    probe = subscribed(Stream.from_async_iterable(waiting()), UNBOUNDED)
    assert probe.wait_for_end() == [1]
    assert repr(probe.error) == "InterruptionError('the stream was interrupted by CancelledError()')"


def test_none_among_the_items_is_refused() -> None:
    error = failure_of(Stream.from_async_iterable(Tracked([1, None])))
    assert str(error).startswith("rule 2.13: None is not an element; ")


def test_runs_on_the_running_loop() -> None:
    async def where() -> AsyncIterator[str]:
        yield threading.current_thread().name

    async def main() -> str:
        probe = subscribed(Stream.from_async_iterable(where()), 2)
        while not probe.ended:
            await asyncio.sleep(0)
        return probe.elements[0]

    assert asyncio.run(main()) == threading.current_thread().name
    assert list(Stream.from_async_iterable(where())) == ["penstock-loop"]
