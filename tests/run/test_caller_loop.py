"""caller_loop: a run that is begun in a coroutine has its asynchronous parts on that event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

from penstock import Completed, Dropped, Pipeline, Run, RunCancelledError, Sink, Stream, thread
from penstock.bridges.asyncio import from_queue
from penstock.run.block import RunBlock
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


class Lost(Exception):
    """An error of the block around a run."""


async def numbers(seen: list[int]) -> AsyncIterator[int]:
    for n in range(3):
        seen.append(threading.get_ident())
        yield n


def on_loop(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run a coroutine on asyncio; nothing that it started may be left on the loop."""

    async def checked() -> Any:
        before = asyncio.all_tasks()
        result = await main()
        for _ in range(5):  # tasks that have ended need a turn to say so
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        return result

    return asyncio.run(checked())


RUNNERS = {"asyncio": on_loop, "trio": trio.run}
each_library = pytest.mark.parametrize("library", RUNNERS)


@each_library
def test_sources_functions_and_ends_run_on_the_loop_that_awaits(library: str) -> None:
    seen: list[int] = []

    async def note(n: int) -> int:
        seen.append(threading.get_ident())
        return n

    async def main() -> int:
        stream = Stream.from_async_iterable(numbers(seen)).map_async(note).filter(note)
        return await (stream | Sink.for_each(note)).run()

    assert RUNNERS[library](main) == 2
    assert len(seen) == 3 + 3 + 3 + 2
    assert set(seen) == {threading.get_ident()}


@each_library
def test_a_synchronous_source_runs_on_the_thread_of_the_run(library: str) -> None:
    seen: set[str] = set()

    async def main() -> int:
        return await (Stream.range(3).tap(lambda _: seen.add(threading.current_thread().name)) | Sink.count()).run()

    assert RUNNERS[library](main) == 3
    assert seen == {"penstock-run"}


def test_a_queue_of_the_loop_can_be_read_and_filled() -> None:
    async def main() -> list[Any]:
        given: asyncio.Queue[Any] = asyncio.Queue()
        taken: asyncio.Queue[Any] = asyncio.Queue(1)
        async with (from_queue(given).map(str) | Sink.to_queue(taken)).running() as run:
            got = []
            for n in range(3):
                await given.put(n)
                got.append(await taken.get())
            await given.put(Completed())
            got.append(await taken.get())
        return [*got, run.wait()]

    assert on_loop(main) == ["0", "1", "2", Completed(), 3]


def test_what_is_subscribed_later_and_on_other_threads_uses_the_loop_too() -> None:
    seen: list[int] = []

    async def main() -> list[int]:
        stream = Stream.range(2).flat_map(lambda _: numbers(seen), concurrency=1).subscribe_on(thread())
        return await (stream | Sink.to_list()).run()

    assert on_loop(main) == [0, 1, 2, 0, 1, 2]
    assert set(seen) == {threading.get_ident()}


def test_a_run_that_is_begun_and_not_awaited_starts_with_the_next_turn_of_the_loop() -> None:
    async def main() -> int:
        run = (Stream.range(3) | Sink.count()).run()
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: run.on_done(lambda: loop.call_soon_threadsafe(over.set)))
        await over.wait()
        return run.wait()

    assert on_loop(main) == 3


def test_a_coroutine_that_waits_at_once_blocks_its_loop_and_the_run_uses_another() -> None:
    seen: list[int] = []

    async def main() -> list[int]:
        return (Stream.from_async_iterable(numbers(seen)) | Sink.to_list()).run().wait(PATIENCE)

    assert on_loop(main) == [0, 1, 2]
    assert threading.get_ident() not in seen


def test_progress_that_is_waited_for_blocks_the_loop_and_the_run_uses_another() -> None:
    async def main() -> int:
        run = (Stream.from_async_iterable(numbers([])) | Sink.to_list()).run()
        return [report.rows_in for report in run.progress_every(60)][-1]

    assert on_loop(main) == 3


def test_to_wait_for_a_run_that_uses_the_loop_is_refused() -> None:
    async def forever(n: int) -> int:
        began.set()
        await asyncio.Event().wait()
        return n

    began = threading.Event()

    async def main() -> None:
        run = (Stream.range(3).map_async(forever) | Sink.count()).run()
        while not began.is_set():
            await asyncio.sleep(0)
        with pytest.raises(
            RuntimeError, match=r"^run: wait\(\) would block the event loop that this run uses; say `await run` here$"
        ):
            run.wait()
        run.cancel()
        with pytest.raises(RunCancelledError):
            await run

    on_loop(main)


def test_to_wait_for_a_run_that_does_not_use_the_loop_is_not() -> None:
    async def main() -> int:
        run = (Stream.range(3) | Sink.count()).run()
        await asyncio.sleep(0)
        return run.wait(PATIENCE)

    assert on_loop(main) == 3


@each_library
def test_a_cancel_of_the_task_that_awaits_cancels_the_run(library: str) -> None:
    runs: list[Run[Any]] = []
    pipeline: Pipeline[Any] = Stream.never() | Sink.count()

    async def with_asyncio() -> None:
        runs.append(pipeline.run())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await runs[0]
        await runs[0].ended()

    async def with_trio() -> None:
        runs.append(pipeline.run())
        with trio.move_on_after(0.001):
            await runs[0]
        await runs[0].ended()

    RUNNERS[library]({"asyncio": with_asyncio, "trio": with_trio}[library])
    with pytest.raises(RunCancelledError):
        runs[0].wait(PATIENCE)


def test_a_run_whose_loop_ends_fails(dropped: list[Dropped]) -> None:
    runs: list[Run[Any]] = []
    began = threading.Event()

    async def forever(n: int) -> int:
        began.set()
        await asyncio.Event().wait()
        return n

    async def main() -> None:
        runs.append((Stream.range(3).map_async(forever) | Sink.count()).run())
        while not began.is_set():
            await asyncio.sleep(0)

    asyncio.run(main())
    with pytest.raises(RuntimeError, match=r"^(run: the event loop that it uses has ended before it did|map_async)"):
        runs[0].wait(PATIENCE)
    dropped.clear()  # the work that was cut off says so as well, before or after


def test_a_run_that_waits_for_nothing_on_a_loop_that_ends_fails_too() -> None:
    runs: list[Run[Any]] = []

    async def same(n: int) -> int:
        return n

    async def main() -> None:
        runs.append((Stream.never().map_async(same) | Sink.count()).run())
        home: Any = runs[0]._home
        while not home.used:
            await asyncio.sleep(0)

    asyncio.run(main())
    with pytest.raises(RuntimeError, match=r"^run: the event loop that it uses has ended before it did$"):
        runs[0].wait(PATIENCE)


# The block around a run.


@each_library
def test_leaving_the_block_waits_for_the_result(library: str) -> None:
    async def main() -> int:
        async with (Stream.from_async_iterable(numbers([])) | Sink.count()).running() as run:
            pass
        return run.wait()

    assert RUNNERS[library](main) == 3


@each_library
def test_leaving_the_block_raises_what_failed_the_run(library: str) -> None:
    async def main() -> None:
        async with (Stream.error(Lost("inside")) | Sink.count()).running():
            pass

    with pytest.raises(Lost, match=r"^inside$"):
        RUNNERS[library](main)


@each_library
def test_an_error_in_the_block_cancels_the_run_and_goes_on(library: str) -> None:
    closed: list[bool] = []

    async def forever() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    async def main() -> None:
        async with (Stream.from_async_iterable(forever()) | Sink.count()).running() as run:
            runs.append(run)
            raise Lost("in the block")

    runs: list[Run[Any]] = []
    with pytest.raises(Lost, match=r"^in the block$"):
        RUNNERS[library](main)
    assert runs[0].done


async def closing_slowly(closed: list[int]) -> AsyncIterator[int]:
    try:
        for n in count():
            await anyio.lowlevel.checkpoint()
            yield n
    finally:
        with anyio.CancelScope(shield=True):
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        closed.append(len(closed))


async def left_by_an_error(pipeline: Pipeline[int]) -> None:
    with suppress(Lost):
        async with pipeline.running() as run:
            while not run.now().rows_in:
                await anyio.lowlevel.checkpoint()
            raise Lost("in the block")


async def left_by_a_stop(pipeline: Pipeline[int]) -> None:
    async with pipeline.running() as run:
        while not run.now().rows_in:
            await anyio.lowlevel.checkpoint()
        run.stop()


async def left_by_a_cancel_and_others(pipeline: Pipeline[int]) -> None:
    with anyio.CancelScope() as scope:  # which cancels in every turn
        async with pipeline.running() as run:
            while not run.now().rows_in:
                await anyio.lowlevel.checkpoint()
            scope.cancel()


async def left_by_cancels_where_it_was_awaited(pipeline: Pipeline[int]) -> None:
    run = pipeline.run()
    with anyio.CancelScope() as scope:
        while not run.done and not run.now().rows_in:
            await anyio.lowlevel.checkpoint()
        scope.cancel()
        await run


async def awaited(pipeline: Pipeline[int]) -> None:
    await pipeline.run()


LEFT: dict[str, tuple[Callable[[Pipeline[int]], Awaitable[None]], Callable[[Stream[int]], Stream[int]]]] = {
    "by an error": (left_by_an_error, lambda stream: stream),
    "by a stop": (left_by_a_stop, lambda stream: stream),
    "by a cancel and others": (left_by_a_cancel_and_others, lambda stream: stream),
    "by cancels where it was awaited": (left_by_cancels_where_it_was_awaited, lambda stream: stream),
    "when it was awaited": (awaited, lambda stream: stream.take(3)),
    "when it was awaited, behind a joint": (awaited, lambda stream: stream.merge(Stream.never()).take(3)),
}


@each_library
@pytest.mark.parametrize("how", LEFT)
def test_a_source_that_waits_while_it_closes_is_closed_when_the_run_is_left(how: str, library: str) -> None:
    closed: list[int] = []
    leave, steps = LEFT[how]

    async def main() -> None:
        await leave(steps(Stream.from_async_iterable(closing_slowly(closed))) | Sink.count())
        assert closed == [0]

    RUNNERS[library](main)


def test_to_cancel_the_task_that_awaits_does_not_wait_for_a_thread_that_is_busy() -> None:
    begun, let_go = threading.Event(), threading.Event()

    def busy() -> int:
        begun.set()
        let_go.wait(PATIENCE)
        return 1

    async def main() -> None:
        run = (Stream.from_callable(busy) | Sink.count()).run()
        awaiting = asyncio.create_task(waits(run))
        while not begun.is_set():
            await asyncio.sleep(0)
        awaiting.cancel()
        await asyncio.wait([awaiting])
        assert not run.done
        let_go.set()
        await run.ended()

    on_loop(main)


async def waits(run: Run[int]) -> None:
    await run


async def inside_of_a_block(begin: Callable[[], Run[int]]) -> None:
    async with RunBlock(begin):
        await asyncio.sleep(0)


async def at_the_end_of_a_block(begin: Callable[[], Run[int]]) -> None:
    async with RunBlock(begin):
        pass


async def where_it_is_awaited(begin: Callable[[], Run[int]]) -> None:
    await begin()


@pytest.mark.parametrize("place", [inside_of_a_block, at_the_end_of_a_block, where_it_is_awaited])
def test_a_coroutine_that_is_closed_cancels_its_run_and_waits_for_nothing(
    place: Callable[[Callable[[], Run[int]]], Coroutine[Any, Any, None]],
) -> None:
    async def main() -> None:
        run = (Stream.never() | Sink.count()).run()
        coroutine = place(lambda: run)
        coroutine.send(None)
        coroutine.close()
        await run.ended()
        assert isinstance(run.failure, RunCancelledError)

    on_loop(main)


@each_library
def test_a_stopped_run_comes_to_its_end_in_the_block(library: str) -> None:
    arrived = threading.Event()

    async def forever() -> AsyncIterator[int]:
        while True:
            arrived.set()
            await (asyncio.sleep(0) if library == "asyncio" else trio.sleep(0))
            yield 1

    async def main() -> int:
        async with (Stream.from_async_iterable(forever()) | Sink.count()).running() as run:
            while not arrived.is_set():
                await (asyncio.sleep(0) if library == "asyncio" else trio.sleep(0))
            run.stop()
        return run.wait()

    assert RUNNERS[library](main) >= 0


def test_a_block_without_a_loop() -> None:
    with (Stream.from_async_iterable(numbers([])) | Sink.to_list()).running() as run:
        pass
    assert run.wait() == [0, 1, 2]
    with pytest.raises(Lost), (Stream.never() | Sink.count()).running() as never:
        raise Lost("in the block")
    assert never.done


def test_a_plain_block_in_a_coroutine_uses_another_loop() -> None:
    seen: list[int] = []

    async def main() -> list[int]:
        with (Stream.from_async_iterable(numbers(seen)) | Sink.to_list()).running() as run:
            pass
        return run.wait()

    assert on_loop(main) == [0, 1, 2]
    assert threading.get_ident() not in seen


def test_a_run_can_be_awaited_on_another_loop_after_the_first_has_ended() -> None:
    async def begin() -> Run[int]:
        run = (Stream.range(3) | Sink.count()).run()
        _ = run.done  # it begins, and its task on the loop has no turn
        return run

    async def awaited(run: Run[int]) -> int:
        await run.ended()
        return await run

    run = asyncio.run(begin())
    assert on_loop(lambda: awaited(run)) == 3


# On a loop of penstock, where a function need not know that there is a loop.


def in_a_block(pipeline: Pipeline[Any]) -> Any:
    with pipeline.running() as run:
        pass
    return run.wait()


def after_its_progress(pipeline: Pipeline[Any]) -> Any:
    run = pipeline.run()
    assert [report.rows_in for report in run.progress_every(60)][-1] == 3
    return run.wait()


WAITS: dict[str, Callable[[Pipeline[Any]], Any]] = {
    "wait": lambda pipeline: pipeline.run().wait(),
    "block": in_a_block,
    "progress": after_its_progress,
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_function_behind_an_asynchronous_step_waits_for_a_run_with_asynchronous_parts(
    wait: Callable[[Pipeline[Any]], Any],
) -> None:
    def nested(_: int) -> None:
        assert wait(Stream.from_async_iterable(numbers([])) | Sink.to_list()) == [0, 1, 2]

    pipeline = Stream.from_async_iterable(numbers([])) | Sink.for_each(nested)
    assert pipeline.run().wait(PATIENCE) == 3


def test_a_coroutine_on_a_loop_of_penstock_shares_its_queue_with_a_run_that_it_awaits() -> None:
    async def through_a_queue(n: int) -> list[int]:
        (Stream.from_async_iterable(numbers([])) | Sink.count()).run().wait()  # others share another loop now
        queue: asyncio.Queue[Any] = asyncio.Queue()
        async with (from_queue(queue) | Sink.to_list()).running() as run:
            for element in (n, Completed()):
                await queue.put(element)
        return await run

    assert list(Stream.range(3).map_async(through_a_queue)) == [[0], [1], [2]]


def test_a_coroutine_on_a_loop_of_penstock_must_not_wait_for_a_run_that_uses_it() -> None:
    refused = r"^run: wait\(\) would block the event loop that this run uses; say `await run` here$"

    async def nested(n: int) -> int:
        ready: asyncio.Event = asyncio.Event()

        async def work(n: int) -> int:
            ready.set()
            await asyncio.Event().wait()
            return n

        run = (Stream.range(3).map_async(work) | Sink.count()).run()
        await ready.wait()
        with pytest.raises(RuntimeError, match=refused):
            run.wait()
        run.cancel()
        await run.ended()
        return n

    assert list(Stream.just(1).map_async(nested)) == [1]


def test_a_run_that_a_loop_of_penstock_has_left_behind_goes_on() -> None:
    begun, go = list[Run[int]](), threading.Event()

    async def passed(n: int) -> int:
        return n

    def begin(_: int) -> None:
        begun.append((Stream.just(1).tap(lambda _: go.wait(PATIENCE)).map_async(passed) | Sink.count()).run())

    Stream.just(1).map_async(passed).for_each(begin).get()
    go.set()
    assert begun[0].wait(PATIENCE) == 1
