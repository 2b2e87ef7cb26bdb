"""Hidden sources: one that a function makes is told what is done where the run can see it, and refused where not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from penstock import NotCarriedError, Sink, Stream, branch, thread
from tests.run.carrying.ledger import WAIT, Ledger

Use = Callable[[Stream[Any]], Stream[Any]]


@pytest.mark.parametrize(
    "hide",
    [
        lambda stream: Stream.defer(lambda: stream),
        lambda stream: Stream.defer(lambda: Stream.defer(lambda: stream.map(int)).filter(bool)),
    ],
    ids=["defer", "defer in defer"],
)
def test_a_source_that_is_made_when_the_run_begins_is_told(hide: Use) -> None:
    source = Ledger(100)
    assert (hide(source.stream(window=8)).map(str) | Sink.for_each(str)).run().wait(WAIT) == 100
    assert source.last == 100
    assert source.opened == [None]


def test_branches_of_a_source_that_is_made_when_the_run_begins() -> None:
    source = Ledger(100)
    ends = branch(Sink.count(), Sink.for_each(str))
    assert (Stream.defer(lambda: source.stream()) | ends).run().wait(WAIT) == (100, 100)
    assert source.last == 100


def test_a_thousand_streams_that_are_made_inside_each_other_are_told_too() -> None:
    source = Ledger(3)

    def made(left: int) -> Stream[Any]:
        return Stream.defer(lambda: made(left - 1)) if left else source.stream()

    assert (made(2000) | Sink.for_each(str)).run().wait(WAIT) == 3
    assert source.last == 3


def test_what_defer_makes_is_made_once_whatever_it_is() -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return [1, 2, 3]

    assert (Stream.defer(make) | Sink.to_list()).run().wait(WAIT) == [1, 2, 3]
    assert made == [1]


def test_what_defer_raises_is_the_error_of_the_run() -> None:
    def make() -> list[int]:
        raise ValueError("no stream today")

    with pytest.raises(ValueError, match=r"^no stream today") as caught:
        (Stream.defer(make) | Sink.to_list()).run().wait(WAIT)
    assert caught.value.__notes__[0].startswith("in defer(")


REFUSED: dict[str, Use] = {
    "flat_map": lambda hidden: Stream.just(1).flat_map(lambda _: hidden, concurrency=2),
    "concat_map": lambda hidden: Stream.just(1).concat_map(lambda _: hidden),
    "switch_map": lambda hidden: Stream.just(1).switch_map(lambda _: hidden),
    "on_error_resume": lambda hidden: Stream.error(ValueError("no")).on_error_resume(lambda _: hidden),
    "using": lambda hidden: Stream.using(list, lambda _: hidden, list.clear),
    "defer behind another": lambda hidden: Stream.empty().concat(Stream.defer(lambda: hidden)),
    "on another thread": lambda hidden: (
        Stream.just(1).publish_on(thread("other")).flat_map(lambda _: hidden, concurrency=1)
    ),
    "on a loop": lambda hidden: Stream.just(1).map_async(_later).flat_map(lambda _: hidden, concurrency=1),
    "in a carried run": lambda hidden: Ledger(1).stream().flat_map(lambda _: hidden, concurrency=1),
    "of another library": lambda hidden: Stream.from_publisher(_Foreign(hidden)),
}


async def _later(number: int) -> int:
    await asyncio.sleep(0)
    return number


class _Foreign:
    """A publisher that is no stream."""

    def __init__(self, stream: Stream[Any]) -> None:
        self._stream = stream

    def subscribe(self, subscriber: Any, /) -> None:
        self._stream.subscribe(subscriber)


@pytest.mark.parametrize("name", REFUSED)
def test_a_source_that_a_function_makes_in_the_run_is_refused(name: str) -> None:
    source = Ledger(100)
    with pytest.raises(NotCarriedError, match=r"^resumable: this source wants to be told what is done, and the run"):
        (REFUSED[name](source.stream()) | Sink.for_each(str)).run().wait(WAIT)
    assert source.opened == []


@pytest.mark.parametrize("name", REFUSED)
def test_one_that_takes_no_note_is_not_refused(name: str) -> None:
    source = Ledger(100)
    silent: Stream[Any] = Stream.resumable(source.pairs)
    assert (REFUSED[name](silent) | Sink.for_each(str)).run().wait(WAIT) == 100


@pytest.mark.parametrize("name", REFUSED)
def test_a_stream_that_is_not_run_tells_nothing_and_is_not_refused(name: str) -> None:
    source = Ledger(100)
    assert list(REFUSED[name](source.stream())) == list(range(1, 101))
    assert source.told == []


def test_a_loop_in_a_function_of_a_run_tells_nothing_and_is_not_refused() -> None:
    source = Ledger(100)

    def looped(_: int) -> int:
        return sum(source.stream())

    async def looped_async(_: int) -> int:
        return sum([number async for number in source.stream()])

    run = (Stream.just(1).map(looped).map_async(looped_async) | Sink.to_list()).run()
    assert run.wait(WAIT) == [5050]
    assert source.told == []


LATER: dict[str, Use] = {
    "concat": lambda stream: Stream.just(0).concat(stream),
    "concat_map": lambda stream: Stream.just(1, 2).concat_map(lambda _: stream),
    "repeat": lambda stream: stream.repeat(2),
    "retry": lambda stream: stream.concat(Stream.defer(lambda: 1 / 0)).retry(2).on_error_complete(),
    "switch_if_empty": lambda stream: Stream.defer(lambda: iter(())).switch_if_empty(stream),
}


@pytest.mark.parametrize("name", LATER)
def test_a_loop_is_not_refused_what_it_subscribes_to_later(name: str) -> None:
    source = Ledger(3)
    loops: Any = LATER[name](source.stream())
    found = list(loops)

    async def looped_async(_: int) -> bool:
        return [number async for number in loops] == found

    run = (Stream.just(1).map(lambda _: list(loops) == found).map_async(looped_async) | Sink.to_list()).run()
    assert run.wait(WAIT) == [True]
    assert source.told == []


def test_a_run_in_a_function_of_a_run_tells_its_own_source() -> None:
    source = Ledger(100)

    async def handle(_: int) -> None:
        await (source.stream() | Sink.for_each(str)).run()

    (Stream.just(1) | Sink.for_each(handle)).run().wait(WAIT)
    assert source.last == 100
