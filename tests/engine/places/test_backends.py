"""backends: `async for`, `map_async` and time work on asyncio and on trio alike, and leave no task behind."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
import types
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio
import trio.testing

from penstock import Dropped, LoopClock, Overflow, Sink, Stream, inline, loop, subscriber, thread
from penstock.engine.places.event_loops import lease_loop, loop_here, running
from penstock.engine.places.noting import Tasks, spawning
from penstock.testing import Probe
from tests.engine.parts import Items, noop
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

each_backend = pytest.mark.parametrize("backend", ["asyncio", "trio"])


async def same(n: int) -> int:
    await anyio.lowlevel.checkpoint()
    return n


async def counting() -> AsyncIterator[int]:
    for n in range(10):
        await anyio.lowlevel.checkpoint()
        yield n


STREAMS: dict[str, Callable[[], Stream[int]]] = {
    "iterated": lambda: Stream.range(10),
    "fed": lambda: Stream.range(10).do_finally(noop),
    "async": lambda: Stream.from_async_iterable(counting()),
    "async, signalled": lambda: Stream.from_async_iterable(counting()).do_finally(noop),
    "map_async": lambda: Stream.range(10).map_async(same, concurrency=3),
    "map_async behind async": lambda: Stream.from_async_iterable(counting()).map_async(same, concurrency=3),
    "thread": lambda: Stream.range(10).publish_on(thread(), prefetch=4),
    "inline": lambda: Stream.range(10).publish_on(inline(), prefetch=4),
    "loop": lambda: Stream.range(10).publish_on(loop(), prefetch=4),
    "subscribed on a thread": lambda: Stream.range(10).subscribe_on(thread()),
    "subscribed on the loop": lambda: Stream.from_async_iterable(counting()).subscribe_on(loop()),
    "merge": lambda: Stream.range(5).map_async(same).merge(Stream.empty()).concat(Stream.range(5, 10)),
    "interval": lambda: Stream.interval(0.001, overflow=Overflow.BUFFER).take(10),
    "share": lambda: Stream.range(10).map_async(same).share(),
}
each_stream = pytest.mark.parametrize("name", STREAMS)


def run(backend: str, main: Callable[[], Awaitable[Any]]) -> Any:
    async def and_nothing_is_left() -> Any:
        with anyio.fail_after(PATIENCE):
            result = await main()
            assert tasks() == set()
        return result

    return anyio.run(and_nothing_is_left, backend=backend)


def tasks() -> set[str]:
    """Return the names of the tasks that are not the main one, nor the backend's own."""
    if trio.lowlevel.in_trio_run():
        root = trio.lowlevel.current_root_task()
        assert root is not None
        found = {task.name for nursery in root.child_nurseries for task in nursery.child_tasks}
        return {name for name in found if "and_nothing_is_left" not in name and "run_sync_soon" not in name}
    current = asyncio.current_task()
    return {task.get_name() for task in asyncio.all_tasks() if task is not current}


@each_backend
@each_stream
def test_async_for(name: str, backend: str) -> None:
    async def main() -> list[int]:
        return [n async for n in STREAMS[name]()]

    assert run(backend, main) == list(range(10))


@each_backend
@each_stream
def test_await(name: str, backend: str) -> None:
    async def main() -> int:
        return await STREAMS[name]().count()

    assert run(backend, main) == 10


async def for_ever() -> AsyncIterator[int]:
    for n in itertools.count():
        await anyio.lowlevel.checkpoint()
        yield n


async def _of_one_share(stream: Stream[int]) -> AsyncIterator[Stream[int]]:
    shared = stream.share()
    async with shared.open() as numbers:
        async for _ in numbers:
            yield shared


async def _of_a_partition(stream: Stream[int]) -> AsyncIterator[Stream[int]]:
    odd, even = stream.partition(lambda n: n % 2)
    async with odd.open() as numbers:
        async for _ in numbers:
            yield even


async def _of_groups(stream: Stream[int]) -> AsyncIterator[Stream[int]]:
    async with stream.group_by(lambda n: n % 2).open() as groups:
        async for group in groups:
            yield group


async def _of_windows(stream: Stream[int]) -> AsyncIterator[Stream[int]]:
    async with stream.window(10**6).open() as windows:
        async for window in windows:
            yield window


SHARED: dict[str, Callable[[Stream[int]], AsyncIterator[Stream[int]]]] = {
    "share": _of_one_share,
    "partition": _of_a_partition,
    "group_by": _of_groups,
    "window": _of_windows,
}


@each_backend
@pytest.mark.parametrize("name", SHARED)
def test_who_leaves_a_run_that_others_take_part_in_does_not_wait_for_them(name: str, backend: str) -> None:
    async def main() -> None:
        taken: list[int] = []

        async def take(stream: Stream[int]) -> None:
            async with stream.open() as numbers:
                async for n in numbers:
                    taken.append(n)
                    await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as others:
            first = SHARED[name](Stream.from_async_iterable(for_ever()).do_finally(noop))
            others.start_soon(take, await anext(first))
            while not taken:
                await anyio.lowlevel.checkpoint()
            await first.aclose()  # type: ignore[attr-defined]
            so_far = len(taken)
            while len(taken) == so_far:
                await anyio.lowlevel.checkpoint()
            others.cancel_scope.cancel()
        while tasks():
            await anyio.lowlevel.checkpoint()

    run(backend, main)


@each_backend
def test_who_leaves_and_is_cancelled_again_and_again_waits_for_the_source_to_close(backend: str) -> None:
    closed: list[None] = []

    async def closing_slowly() -> AsyncIterator[int]:
        try:
            for n in itertools.count():
                await anyio.lowlevel.checkpoint()
                yield n
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(5):
                    await anyio.lowlevel.checkpoint()
            closed.append(None)

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with Stream.from_async_iterable(closing_slowly()).do_finally(noop).open() as numbers:
                async for n in numbers:
                    if n == 3:
                        scope.cancel()  # anyio cancels in every turn from now on
                        await anyio.lowlevel.checkpoint()
        assert closed == [None]

    run(backend, main)


def test_what_runs_on_another_loop_is_not_waited_for() -> None:
    other = asyncio.new_event_loop()
    thread = threading.Thread(target=other.run_forever)
    thread.start()

    async def main() -> None:
        stream = Stream.range(3).publish_on(other)
        async with stream.flat_map(lambda _: Stream.from_async_iterable(for_ever()), concurrency=2).open() as numbers:
            async for n in numbers:
                if n == 3:
                    break

    run("asyncio", main)

    async def nothing_is_left() -> None:
        while tasks():
            await asyncio.sleep(0)

    asyncio.run_coroutine_threadsafe(nothing_is_left(), other).result(PATIENCE)
    other.call_soon_threadsafe(other.stop)
    thread.join()
    other.close()


@each_backend
@each_stream
def test_async_with_left_early_leaves_nothing(name: str, backend: str) -> None:
    async def main() -> list[int]:
        found = []
        async with STREAMS[name]().open() as numbers:
            async for n in numbers:
                found.append(n)
                if n == 3:
                    break
        return found

    assert run(backend, main) == [0, 1, 2, 3]


def twice(stream: Stream[int]) -> tuple[Stream[int], Stream[int]]:
    return stream, stream


TWO_OF_ONE_RUN: dict[str, Callable[[Stream[int]], tuple[Stream[int], Stream[int]]]] = {
    "share": lambda stream: twice(stream.share()),
    "replay": lambda stream: twice(stream.replay(1)),
    "cache": lambda stream: twice(stream.cache(size=sys.maxsize)),
    "partition": lambda stream: stream.partition(lambda n: n % 2 == 0),
    "map_async": lambda stream: twice(stream.map_async(same).share()),
}


@each_backend
@pytest.mark.parametrize("name", TWO_OF_ONE_RUN)
def test_one_that_leaves_does_not_wait_for_a_run_that_goes_on_for_others(name: str, backend: str) -> None:
    async def main() -> int:
        first, second = TWO_OF_ONE_RUN[name](Stream.from_async_iterable(for_ever()))
        probe: Probe[int] = Probe(request=sys.maxsize)

        async def join() -> None:
            second.subscribe(probe)

        async with anyio.create_task_group() as group:
            group.start_soon(join)
            found = await first.skip(5).first()
        assert not probe.ended
        probe.cancel()
        while tasks():
            await anyio.lowlevel.checkpoint()
        return found

    assert run(backend, main) >= 5


@each_backend
def test_one_that_leaves_does_not_wait_for_groups_that_others_take(backend: str) -> None:
    probe: Probe[int] = Probe(request=sys.maxsize)

    async def main() -> int:
        groups = Stream.from_async_iterable(for_ever()).group_by(lambda n: n < 5)
        found = await groups.tap(lambda group: group.key and group.subscribe(probe)).skip(1).first()
        assert not probe.ended
        probe.cancel()
        while tasks():
            await anyio.lowlevel.checkpoint()
        return len(probe.elements) + found.key

    assert run(backend, main) == 5


@each_backend
@pytest.mark.parametrize("build", [lambda s: s, lambda s: s.do_finally(noop), lambda s: s.publish_on(thread())])
def test_a_cancel_ends_what_is_under_way(backend: str, build: Callable[[Stream[int]], Stream[int]]) -> None:
    began: list[int] = []
    ended: list[int] = []

    async def forever(n: int) -> int:
        began.append(n)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(n)
        return n

    async def main() -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def stop() -> None:
                    while len(began) < 3:
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

                group.start_soon(stop)
                async with build(Stream.range(10)).map_async(forever, concurrency=3).open() as numbers:
                    async for _ in numbers:
                        pass
        assert sorted(ended) == [0, 1, 2]  # before the block is left, and not some time later
        return scope.cancelled_caught

    assert run(backend, main)


@each_backend
def test_a_cancel_reaches_a_source_that_waits(backend: str) -> None:
    events: list[str] = []

    async def silent() -> AsyncIterator[int]:
        try:
            yield 1
            events.append("waits")
            await anyio.sleep_forever()
        finally:
            events.append("closed")

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def stop() -> None:
                    while "waits" not in events:
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

                group.start_soon(stop)
                async with Stream.from_async_iterable(silent()).do_finally(noop).open() as numbers:
                    async for _ in numbers:
                        pass

    run(backend, main)
    assert events == ["waits", "closed"]


@each_backend
def test_a_source_may_wait_while_it_closes(backend: str) -> None:
    """What takes no more elements is no reason to cut a source short that is not waiting for one."""
    events: list[str] = []

    async def careful() -> AsyncIterator[int]:
        try:
            for n in range(9):
                yield n
        finally:
            await anyio.lowlevel.checkpoint()
            events.append("closed")

    async def main() -> list[int]:
        return [n async for n in Stream.from_async_iterable(careful()).do_finally(noop).take(2)]

    assert run(backend, main) == [0, 1]
    assert events == ["closed"]


@each_backend
def test_an_error_of_a_function_is_raised_with_its_note(backend: str) -> None:
    async def fail(n: int) -> int:
        await anyio.lowlevel.checkpoint()
        raise ValueError(f"no {n}")

    async def main() -> list[str]:
        with pytest.raises(ValueError, match=r"^no 0\n") as failure:
            async for _ in Stream.range(1).map_async(fail, concurrency=2):
                pass
        return failure.value.__notes__

    (note,) = run(backend, main)
    assert note.startswith("in map_async(test_an_error_of_a_function_is_raised_with_its_note.fail), ")


@each_backend
def test_a_group_of_tasks_may_fail_inside_of_a_function(backend: str) -> None:
    async def fail(n: int) -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            raise ValueError(f"no {n}")

    async def main() -> None:
        with pytest.raises(ExceptionGroup) as failure:
            async for _ in Stream.range(1).map_async(fail, concurrency=2):
                pass
        assert [repr(error) for error in failure.value.exceptions] == ["ValueError('no 0')"]

    run(backend, main)


@each_backend
def test_order_keys_and_concurrency_hold(backend: str) -> None:
    under_way: list[int] = []
    most: list[int] = []

    async def work(n: int) -> int:
        under_way.append(n)
        most.append(len(under_way))
        assert len({m % 3 for m in under_way}) == len(under_way)
        await anyio.lowlevel.checkpoint()
        under_way.remove(n)
        return n

    async def main() -> list[int]:
        return [n async for n in Stream.range(50).map_async(work, concurrency=3, key=lambda n: n % 3)]

    assert run(backend, main) == list(range(50))
    assert max(most) <= 3


@each_backend
def test_a_subscriber_and_a_pipeline_can_be_awaited(backend: str) -> None:
    async def main() -> tuple[int, int, int]:
        total = subscriber(Sink.count())
        Stream.range(5).publish_on(thread()).subscribe(total)
        piped = Stream.range(7).publish_on(thread()) | Sink.count()
        return await total, await piped, await piped.run()

    assert run(backend, main) == (5, 7, 7)


@each_backend
def test_get_says_that_it_would_block(backend: str) -> None:
    async def main() -> None:
        waiting = subscriber(Sink.count())
        with pytest.raises(RuntimeError, match=r"^subscriber: get\(\) would block the event loop running here"):
            waiting.get()
        waiting.cancel()

    run(backend, main)


@each_backend
def test_a_loop_that_blocks_uses_no_loop_of_here(backend: str) -> None:
    async def answer(n: int) -> str:
        return f"{n} {sys.modules['asyncio'].current_task() is not None}"

    async def main() -> list[str]:
        return list(Stream.range(2).map_async(answer))

    assert run(backend, main) == ["0 True", "1 True"]


@each_backend
def test_functions_behind_the_loop_run_inside_of_it(backend: str) -> None:
    here = threading.get_ident()

    async def main() -> list[tuple[int, bool]]:
        stream = Stream.range(2).publish_on(thread()).publish_on(loop())
        return [pair async for pair in stream.map(lambda _: (threading.get_ident(), trio.lowlevel.in_trio_run()))]

    assert run(backend, main) == [(here, backend == "trio")] * 2


@each_backend
def test_a_long_loop_lets_other_tasks_run(backend: str) -> None:
    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            async for _ in Stream.range(10_000):
                pass
            group.cancel_scope.cancel()
        return ticks

    assert run(backend, main) > 3


# Time.


@each_backend
def test_the_time_of_the_loop(backend: str) -> None:
    async def main() -> list[int]:
        clock = LoopClock()
        assert repr(clock) == "LoopClock()"
        before = clock.now()
        stream = Stream.interval(0.001, overflow=Overflow.BUFFER, clock=clock).delay(0.001, clock=clock).take(3)
        elements = [n async for n in stream]
        assert clock.now() - before >= 0.004
        return elements

    assert run(backend, main) == [0, 1, 2]


@each_backend
def test_the_time_of_the_loop_is_told_on_other_threads_too(backend: str) -> None:
    async def main() -> list[int]:
        clock = LoopClock()
        stream = Stream.range(3).publish_on(thread()).delay(0.001, clock=clock).timeout(PATIENCE, clock=clock)
        return [n async for n in stream]

    assert run(backend, main) == [0, 1, 2]


@each_backend
def test_a_timer_that_is_called_off_leaves_no_task(backend: str) -> None:
    async def main() -> list[int]:
        clock = LoopClock()
        async with Stream.range(3).timeout(3600, clock=clock).concat(Stream.timer(3600, clock=clock)).open() as numbers:
            return [await anext(numbers), await anext(numbers)]

    assert run(backend, main) == [0, 1]


@each_backend
def test_a_task_of_the_loops_clock_may_raise(backend: str, dropped: list[Any]) -> None:
    def fail() -> None:
        raise ValueError("no time")

    async def main() -> None:
        LoopClock().call_later(0, fail)
        while not dropped:
            await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()

    run(backend, main)
    assert [(one.what, repr(one.error)) for one in dropped] == [("a task of a clock raised", "ValueError('no time')")]
    dropped.clear()


@each_backend
def test_a_library_that_another_thread_is_importing_runs_no_loop_here(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = types.ModuleType(backend)
    half.lowlevel = types.ModuleType("lowlevel")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, backend, half)
    assert not running()
    assert loop_here() is None


def test_the_clock_of_a_loop_needs_a_loop() -> None:
    with pytest.raises(RuntimeError, match=r"^LoopClock: no event loop is running here; make it inside a coroutine$"):
        LoopClock()


def test_a_mocked_clock_of_trio_moves_the_loops_clock() -> None:
    """Hours pass, and nobody waits for them."""

    async def main() -> tuple[list[int], float]:
        clock = LoopClock()
        ticks = Stream.interval(3600, overflow=Overflow.BUFFER, clock=clock).debounce(60, clock=clock)
        return [n async for n in ticks.take(3)], trio.current_time()

    elements, now = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert elements == [0, 1, 2]
    assert now >= 3 * 3600 + 60


# trio's own ways.


def test_functions_of_trio_are_awaited_by_trio() -> None:
    async def main() -> list[int]:
        lock = trio.Lock()

        async def work(n: int) -> int:
            async with lock:
                await trio.sleep(0)
            return n

        return [n async for n in Stream.range(10).map_async(work, concurrency=4, ordered=False)]

    assert sorted(trio.run(main)) == list(range(10))


def test_trio_as_a_guest_of_asyncio_is_found() -> None:
    async def inside() -> list[int]:
        async def work(n: int) -> int:
            await trio.sleep(0)
            return n

        return [n async for n in Stream.range(3).map_async(work, concurrency=2).publish_on(thread())]

    async def main() -> list[int]:
        running = asyncio.get_running_loop()
        done: asyncio.Future[Any] = running.create_future()
        trio.lowlevel.start_guest_run(
            inside, run_sync_soon_threadsafe=running.call_soon_threadsafe, done_callback=done.set_result
        )
        return (await done).unwrap()  # type: ignore[no-any-return]

    assert asyncio.run(main()) == [0, 1, 2]


def test_a_call_that_raises_does_not_end_trio(dropped: list[Any]) -> None:
    def fail() -> None:
        raise ValueError("no call")

    async def main() -> None:
        lease = loop_here()
        assert lease is not None
        assert lease.here
        lease.call(fail)
        while not dropped:
            await trio.lowlevel.checkpoint()

    trio.run(main)
    assert [(one.what, repr(one.error)) for one in dropped] == [
        ("a call on an event loop raised", "ValueError('no call')")
    ]
    dropped.clear()


def test_a_call_after_the_end_of_trio_goes_nowhere() -> None:
    called: list[int] = []

    async def main() -> Any:
        return lease_loop()

    lease = trio.run(main)
    lease.call(lambda: called.append(1))
    lease.release()
    assert not lease.here
    assert called == []


def test_a_task_that_is_cancelled_before_its_first_step_never_takes_one() -> None:
    steps: list[str] = []
    ends: list[tuple[bool, bool]] = []

    async def work() -> None:
        steps.append("first")

    async def main() -> None:
        tasks: Tasks = {}
        with spawning(tasks):
            lease = loop_here()
        assert lease is not None
        task = lease.spawn(work())
        task.add_done_callback(lambda task: ends.append((task.cancelled(), task.exception() is None)))
        task.cancel()
        await lease.ended(tasks)

    trio.run(main)
    assert steps == []
    assert ends == [(True, False)]


ASKED_LAST: dict[str, Callable[[], Stream[int]]] = {
    "async, signalled": STREAMS["async, signalled"],
    "map_async": STREAMS["map_async"],
    "delay": lambda: Stream.range(10).delay(0.0, clock=LoopClock()),
}


@pytest.mark.parametrize("name", ASKED_LAST)
def test_a_request_that_comes_while_trio_ends_fails_the_stream(name: str) -> None:
    """Trio takes calls up to its very end, and no more tasks by then."""
    probe: Probe[int] = Probe(patience=PATIENCE)

    async def when_the_others_have_ended() -> AsyncIterator[None]:
        try:
            yield
        finally:  # trio closes what was left open behind its last task
            probe.request(5)

    async def main() -> None:
        ASKED_LAST[name]().subscribe(probe)
        left_open.append(when_the_others_have_ended())
        await anext(left_open[0])

    left_open: list[AsyncIterator[None]] = []
    trio.run(main)
    assert probe.wait_for_end() == []
    assert isinstance(probe.error, RuntimeError)


def test_a_stream_that_outlives_trio_fails() -> None:
    """The main task ends first; what it has left running is told so."""
    errors: list[BaseException] = []

    class Watcher:
        def on_subscribe(self, subscription: Any, /) -> None:
            subscription.request(5)

        def on_next(self, element: Any, /) -> None:
            """Take it."""

        def on_error(self, error: Exception, /) -> None:
            errors.append(error)

        def on_complete(self) -> None:
            raise AssertionError("it never completes")

    async def forever(n: int) -> int:
        await trio.sleep_forever()
        return n

    async def endless() -> AsyncIterator[int]:
        await trio.sleep_forever()
        yield 1

    async def main() -> None:
        Stream.range(3).map_async(forever).subscribe(Watcher())
        Stream.from_async_iterable(endless()).do_finally(noop).subscribe(Watcher())
        for _ in range(5):
            await trio.lowlevel.checkpoint()

    trio.run(main)
    assert sorted(str(error) for error in errors) == [
        "map_async(test_a_stream_that_outlives_trio_fails.forever): the work under way was cancelled",
        "the event loop ended before the stream did",
    ]


OUTLIVING: dict[str, Callable[[], Stream[int]]] = {
    **{name: STREAMS[name] for name in ("async, signalled", "map_async", "loop", "subscribed on the loop")},
    "filter": lambda: Stream.range(10).filter(same, concurrency=2),
    "delay": lambda: Stream.range(10).delay(0.0, clock=LoopClock()),
}


@each_backend
@pytest.mark.parametrize("name", OUTLIVING)
def test_a_request_after_the_end_of_the_loop_fails_the_stream(name: str, backend: str) -> None:
    probe: Probe[int] = Probe(patience=PATIENCE)

    async def main() -> None:
        OUTLIVING[name]().subscribe(probe)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()

    anyio.run(main, backend=backend)
    probe.request(1)
    probe.wait_for_end()
    assert repr(probe.error) == "CutOffError('the event loop ended before the stream did')"


@each_stream
def test_a_program_that_ends_with_a_task_on_a_stream_has_nothing_to_report(name: str, dropped: list[Dropped]) -> None:
    async def main(turns: int) -> None:
        tasks.append(asyncio.create_task(taken(STREAMS[name]())))
        for _ in range(turns):
            await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    for turns in range(12):
        asyncio.run(main(turns))
        assert tasks.pop().done()
    assert dropped == []


async def taken(stream: Stream[int]) -> None:
    async for _ in stream:
        await asyncio.sleep(0)


def test_items_of_an_asynchronous_iterable_are_closed_once() -> None:
    items = Items(5)

    async def main() -> list[int]:
        return [n async for n in Stream.from_async_iterable(items).do_finally(noop)]

    assert trio.run(main) == [0, 1, 2, 3, 4]
    assert items.closed == items.opened == 1


def test_no_library_is_loaded_that_the_program_has_not() -> None:
    code = (
        "import asyncio, sys\n"
        "from penstock import Stream\n"
        "async def same(n): return n\n"
        "async def main(): return [n async for n in Stream.range(3).map_async(same)]\n"
        "assert asyncio.run(main()) == [0, 1, 2] == list(Stream.range(3).map_async(same))\n"
        "assert not {'trio', 'anyio', 'sniffio'} & set(sys.modules), sorted(sys.modules)\n"
    )
    import subprocess

    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE * 3)
