"""from_awaitable: what an awaitable gives, or the one that a function makes for each subscriber."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Generator
from typing import Any

import pytest

from penstock import PenstockError, Stream
from penstock.engine.weaving.segment import no_element
from penstock.testing import check_source, subscribed
from tests.operators.subjects import failure_of, notes, place


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


class Fresh:
    """Be an awaitable that can be awaited again and again."""

    def __await__(self) -> Generator[Any, None, int]:
        return answer().__await__()


@pytest.mark.parametrize("given", [answer, Fresh(), Fresh], ids=["function", "awaitable", "class"])
def test_laws(given: Any) -> None:
    check_source(lambda: Stream.from_awaitable(given), [42], examples=5)


def test_a_coroutine_serves_one_subscriber() -> None:
    stream = Stream.from_awaitable(answer())
    assert list(stream) == [42]
    with pytest.raises(PenstockError) as refusal:
        list(stream)
    assert str(refusal.value) == (
        "from_awaitable: this coroutine was taken by an earlier subscriber; pass the function that makes it"
    )


def test_a_future_serves_all() -> None:
    async def main() -> list[int]:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        stream = Stream.from_awaitable(future)
        asyncio.get_running_loop().call_soon(future.set_result, 7)
        return [await stream, await stream]

    assert asyncio.run(main()) == [7, 7]


def test_is_awaited_when_somebody_asks() -> None:
    calls: list[int] = []

    def make() -> Awaitable[int]:
        calls.append(1)
        return answer()

    probe = subscribed(Stream.from_awaitable(make))
    assert calls == []
    probe.request(1)
    assert probe.wait_for_end() == [42]
    assert probe.completed
    assert calls == [1]


def test_runs_on_the_loop_that_runs_here() -> None:
    threads: list[str] = []

    async def where() -> int:
        threads.append(threading.current_thread().name)
        return 1

    async def main() -> list[int]:
        return [element async for element in Stream.from_awaitable(where).do_finally(bool)]

    assert asyncio.run(main()) == [1]
    assert threads == [threading.current_thread().name]


def test_a_cancel_cancels_what_is_awaited() -> None:
    started, ended = threading.Event(), threading.Event()

    async def wait() -> int:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 1

    probe = subscribed(Stream.from_awaitable(wait), 1)
    assert started.wait(10)
    probe.cancel()
    assert ended.wait(10)
    assert probe.signals == []


async def fail() -> int:
    raise ValueError("no value")


def test_a_function_that_fails_is_named() -> None:
    error = failure_of(Stream.from_awaitable(fail))
    assert repr(error) == "ValueError('no value')"
    assert notes(error) == [f"in from_awaitable(fail), {place(fail)}"]


def test_a_coroutine_that_fails_is_noted() -> None:
    error = failure_of(Stream.from_awaitable(fail()))
    assert repr(error) == "ValueError('no value')"
    assert notes(error) == ["in from_awaitable"]


async def nothing() -> None:
    return None


def test_none_is_not_an_element() -> None:
    assert repr(failure_of(Stream.from_awaitable(nothing))) == repr(no_element())


def five() -> int:
    return 5


def test_a_function_that_makes_none_is_refused() -> None:
    error = failure_of(Stream.from_awaitable(five))  # type: ignore[arg-type]
    assert repr(error) == "TypeError('from_awaitable: the function must return an awaitable, got 5')"
    assert notes(error) == [f"in from_awaitable(five), {place(five)}"]


def test_refuses_what_cannot_be_awaited_or_called() -> None:
    message = r"^from_awaitable: awaitable must be an awaitable or a function that makes one, got 5$"
    with pytest.raises(TypeError, match=message):
        Stream.from_awaitable(5)  # type: ignore[arg-type]
