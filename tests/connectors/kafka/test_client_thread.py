"""client_thread: calls are made one after the other beside the loop, and what they return is held by nobody else."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from penstock.connectors.kafka.client_thread import ClientThread
from tests.connectors.kafka.server import SECONDS, until

NAME = "penstock-kafka-test"


class Batch:
    """Something large."""


def gone() -> None:
    until(lambda: not [one for one in threading.enumerate() if one.name == NAME], "a thread stays")


def test_calls_are_made_in_order_and_answered() -> None:
    made: list[int] = []

    async def go() -> None:
        thread = ClientThread(NAME)
        thread.soon(lambda: made.append(1))
        assert await thread.do(lambda number: made.append(number) or number, 2) == 2
        thread.end(lambda: made.append(3))

    asyncio.run(go())
    gone()
    assert made == [1, 2, 3]


def test_what_is_returned_goes_with_its_caller() -> None:
    async def go() -> None:
        thread = ClientThread(NAME)
        gc.disable()
        try:
            batch = await thread.do(Batch)
            left = weakref.ref(batch)
            await thread.do(int)  # behind which nothing is under way
            del batch
            assert left() is None
        finally:
            gc.enable()
        thread.end()

    asyncio.run(go())
    gone()


def test_what_is_raised_comes_to_the_caller_and_the_thread_goes_on() -> None:
    async def go() -> None:
        thread = ClientThread(NAME)
        with pytest.raises(ZeroDivisionError):
            await thread.do(lambda: 1 // 0)
        thread.soon(lambda: 1 // 0)  # nobody waits for it
        assert await thread.do(lambda: 5) == 5
        thread.end()

    asyncio.run(go())
    gone()


def test_a_call_that_nobody_waits_for_any_more_is_not_made() -> None:
    made: list[int] = []
    busy = threading.Event()

    async def go() -> None:
        thread = ClientThread(NAME)
        thread.soon(lambda: busy.wait(SECONDS))
        waits = asyncio.ensure_future(thread.do(made.append, 1))
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait([waits])
        busy.set()
        await thread.do(made.append, 2)
        thread.end()

    asyncio.run(go())
    gone()
    assert made == [2]


def test_a_loop_that_has_ended_is_not_answered() -> None:
    begun, busy = threading.Event(), threading.Event()
    thread = ClientThread(NAME)

    def work() -> None:
        begun.set()
        assert busy.wait(SECONDS)

    async def go() -> None:
        waits = asyncio.ensure_future(thread.do(work))
        await asyncio.sleep(0)
        assert await asyncio.to_thread(begun.wait, SECONDS)
        waits.cancel()

    asyncio.run(go())
    busy.set()
    thread.end()
    gone()
