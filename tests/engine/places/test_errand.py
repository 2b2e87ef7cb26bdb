"""errand: who waits for a loop or an executor is told when it ends before it has done its work."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest
import trio

from penstock import LoopClock, Run, Stream
from penstock.bridges.shared.pouring import pour_async
from penstock.engine.places.errand import Errand
from penstock.engine.places.trio_loop import TrioLoop
from penstock.testing import Probe, subscribed


def test_a_task_that_is_called_is_not_lost() -> None:
    said: list[str] = []
    errand = Errand(lambda: said.append("called"), lambda: said.append("lost"))
    errand()
    del errand
    assert said == ["called"]


def test_a_task_that_is_let_go_of_is_lost() -> None:
    said: SimpleQueue[str] = SimpleQueue()
    waiting = [Errand(lambda: said.put("called"), lambda: said.put("lost"))]
    waiting.clear()
    assert said.get(timeout=WAIT) == "lost"


def test_a_task_that_is_let_go_of_where_a_lock_is_held_does_not_wait_for_it_there() -> None:
    lock, told = threading.Lock(), threading.Event()

    def lost() -> None:
        with lock:
            told.set()

    waiting = [Errand(told.set, lost)]
    with lock:
        waiting.clear()
        assert not told.is_set()
    assert told.wait(WAIT)


def test_a_place_that_refuses_a_task_says_that_alone() -> None:
    class Full:
        def worker(self) -> Full:
            return self

        def submit(self, task: object, /) -> None:
            raise OSError("full")

        def close(self) -> None:
            pass

    for stream in (Stream.range(3).publish_on(Full()), Stream.range(3).subscribe_on(Full())):
        with pytest.raises(OSError, match="full"):
            list(stream)


WAIT = 60

ON_A_LOOP: dict[str, Callable[[Any], Stream[Any]]] = {
    "publish_on": lambda loop: Stream.range(3).publish_on(loop),
    "publish_on twice": lambda loop: Stream.range(3).publish_on(loop).map(str).publish_on(loop),
    "subscribe_on": lambda loop: Stream.range(3).subscribe_on(loop),
    "parallel": lambda loop: Stream.range(3).parallel(2, lambda numbers: numbers.map(str), executor=loop),
}


@pytest.mark.parametrize("name", ON_A_LOOP)
def test_a_loop_that_is_closed_with_calls_queued_fails_the_stream(name: str) -> None:
    loop = asyncio.new_event_loop()
    probe = subscribed(ON_A_LOOP[name](loop), request=10)
    loop.close()
    assert probe.wait_for_end() == []
    assert isinstance(probe.error, RuntimeError)
    assert "ended before the stream" in str(probe.error)


def test_a_request_that_a_closed_loop_has_not_come_to_fails_the_stream() -> None:
    loop = asyncio.new_event_loop()
    probe = subscribed(Stream.range(3).subscribe_on(loop))
    loop.run_until_complete(asyncio.sleep(0))
    probe.request(2)
    loop.close()
    assert probe.wait_for_end() == []
    assert "ended before the stream" in str(probe.error)


async def _one(n: int) -> int:
    return n


async def _numbers() -> AsyncIterator[int]:
    yield 1


ASYNCHRONOUS: dict[str, Callable[[], Stream[Any]]] = {
    "map_async": lambda: Stream.range(3).map_async(_one),
    "from_async_iterable": lambda: Stream.from_async_iterable(_numbers()),
}


@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_a_request_to_a_loop_that_has_stopped_and_is_closed_fails_the_stream(name: str) -> None:
    async def begun() -> Probe[Any]:
        return subscribed(ASYNCHRONOUS[name]())

    loop = asyncio.new_event_loop()
    probe = loop.run_until_complete(begun())
    probe.request(2)
    loop.close()
    assert probe.wait_for_end() == []
    assert "ended before the stream" in str(probe.error)


async def _for_ever(n: int) -> int:
    await asyncio.Event().wait()
    return n


async def _one_and_no_more() -> AsyncIterator[int]:
    yield 1
    await asyncio.Event().wait()


UNDER_WAY: dict[str, tuple[Callable[[], Stream[Any]], int, int]] = {
    "map_async, at work": (lambda: Stream.range(3).map_async(_for_ever), 3, 5),
    "map_async, at work in no order": (lambda: Stream.range(3).map_async(_for_ever, ordered=False), 3, 5),
    "map_async, waiting for upstream": (lambda: Stream.just(1).concat(Stream.never()).map_async(_one), 3, 5),
    "map_async, done and not delivered": (lambda: Stream.range(3).map_async(_one), 3, 1),
    "from_async_iterable, waiting for the source": (lambda: Stream.from_async_iterable(_one_and_no_more()), 3, 5),
    "from_async_iterable, waiting for demand": (lambda: Stream.from_async_iterable(_one_and_no_more()), 1, 5),
}


@pytest.mark.parametrize("name", UNDER_WAY)
def test_a_loop_that_is_closed_with_tasks_under_way_fails_the_stream(name: str) -> None:
    make, demand, turns = UNDER_WAY[name]

    async def begun() -> Probe[Any]:
        probe = subscribed(make(), request=demand)
        for _ in range(turns):
            await asyncio.sleep(0)
        return probe

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # asyncio tells it of a task that has not ended
    probe = loop.run_until_complete(begun())
    loop.close()
    probe.wait_for_end()
    assert str(probe.error) == "the event loop ended before the stream did"


def test_a_loop_that_is_closed_while_a_sink_waits_on_it_fails_the_run() -> None:
    waits: list[None] = []

    class Full:
        async def put(self, _: int, /) -> int:
            waits.append(None)
            return await _for_ever(1)

        async def end(self, _: Exception | None, /) -> None:
            pass

        def left(self) -> None:
            pass

    async def begun() -> Run[int]:
        run = (Stream.range(3) | pour_async(Full)).run()
        while not waits:
            await asyncio.sleep(0)
        return run

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    run = loop.run_until_complete(begun())
    loop.close()
    with pytest.raises(RuntimeError, match=r"^the event loop ended before the stream did$"):
        run.wait(WAIT)


def test_a_run_that_has_ended_leaves_nothing_on_the_loop() -> None:
    async def main() -> list[Any]:
        for name in ("map_async", "from_async_iterable"):
            assert await ASYNCHRONOUS[name]().to_list()
            probe = subscribed(ASYNCHRONOUS[name](), request=1)
            await asyncio.sleep(0)
            probe.cancel()
        await asyncio.sleep(0)
        timers: Any = asyncio.get_running_loop()
        return [timer for timer in timers._scheduled if not timer.cancelled()]

    assert asyncio.run(main()) == []


def test_every_call_to_a_run_of_trio_that_has_ended_is_lost() -> None:
    async def lease() -> TrioLoop:
        return TrioLoop()

    loop, said = trio.run(lease), SimpleQueue[int]()
    for number in range(3):
        loop.call(Errand(bool, partial(said.put, number)))
    assert sorted(said.get(timeout=WAIT) for _ in range(3)) == [0, 1, 2]


TIMED: dict[str, Callable[[LoopClock], Stream[Any]]] = {
    "timer": lambda clock: Stream.timer(3600, clock=clock),
    "interval": lambda clock: Stream.interval(3600, clock=clock),
    "delay": lambda clock: Stream.range(3).delay(3600, clock=clock),
    "timeout": lambda clock: Stream.never().timeout(3600, clock=clock),
    "debounce": lambda clock: Stream.just(1).concat(Stream.never()).debounce(3600, clock=clock),
    "buffer_timeout": lambda clock: Stream.just(1).concat(Stream.never()).buffer_timeout(9, 3600, clock=clock),
}


async def _timed(name: str, turn: Callable[[], Any], turns: int) -> Probe[Any]:
    probe = subscribed(TIMED[name](LoopClock()), request=10)
    for _ in range(turns):
        await turn()
    return probe


async def _asyncio_turn() -> None:
    await asyncio.sleep(0)


def _closed_with_tasks(name: str, turns: int) -> Probe[Any]:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # asyncio tells it of a task that has not ended
    probe = loop.run_until_complete(_timed(name, _asyncio_turn, turns))
    gc.disable()  # the tasks of a closed loop are circles, and need not be collected for this
    try:
        loop.close()
        probe.wait_for_end()
    finally:
        gc.enable()
    return probe


ENDS: dict[str, Callable[[str, int], Probe[Any]]] = {
    "asyncio": lambda name, turns: asyncio.run(_timed(name, _asyncio_turn, turns)),
    "asyncio, closed with tasks": _closed_with_tasks,
    "trio": lambda name, turns: trio.run(_timed, name, trio.lowlevel.checkpoint, turns),
}


@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", TIMED)
def test_a_timer_on_a_loop_that_ends_fails_the_stream(name: str, end: str, turns: int) -> None:
    probe = ENDS[end](name, turns)
    assert probe.wait_for_end() == []
    assert isinstance(probe.error, RuntimeError)
    assert str(probe.error) == "the event loop ended before the stream did"


def test_a_timer_that_was_called_off_is_not_called_when_the_loop_ends() -> None:
    called: list[None] = []

    async def main() -> LoopClock:
        clock = LoopClock()
        clock.call_later(3600, lambda: called.append(None))()
        waits = clock.call_later(3600, lambda: called.append(None))
        await asyncio.sleep(0)
        waits()
        return clock

    clock = asyncio.run(main())
    assert not called
    assert clock.now() > 0


def test_a_loop_that_is_closed_with_an_async_for_under_way_lets_go_of_what_it_takes_from() -> None:
    cancelled = threading.Event()
    subject = Stream[int].subject()  # which would hold the loop for as long as it is there

    async def visit() -> None:
        async for _ in subject.do_finally(cancelled.set).merge(Stream.never()):
            pass

    async def begun() -> None:
        tasks.append(asyncio.create_task(visit()))
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # asyncio tells it of a task that has not ended
    loop.run_until_complete(begun())
    loop.close()
    assert cancelled.wait(WAIT)
