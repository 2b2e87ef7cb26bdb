"""iteration: for, async for, list, get, await, with and async with, left by whatever way, also on a running loop."""

from __future__ import annotations

import asyncio
import gc
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from penstock import Dropped, EmptyError, Flow, Sink, Stream, flow, inline, loop, thread
from penstock.engine.runs.one_result import one_result
from tests.engine.parts import FORMS, Items, noop
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


async def same(n: int) -> int:
    await asyncio.sleep(0)
    return n


STREAMS: dict[str, Callable[[Items], Stream[int]]] = {
    **FORMS,
    "thread": lambda items: Stream.from_iterable(items).publish_on(thread(), prefetch=4),
    "loop": lambda items: Stream.from_iterable(items).publish_on(loop(), prefetch=4),
    "subscribe_on": lambda items: Stream.from_iterable(items).subscribe_on(thread()),
    "map_async": lambda items: Stream.from_iterable(items).map_async(same, concurrency=3),
    "merge": lambda items: Stream.from_iterable(items).do_finally(noop).merge(Stream.empty()),
    "share": lambda items: Stream.from_iterable(items).share(),
}
each = pytest.mark.parametrize("name", STREAMS)


def closed(items: Items) -> bool:
    return items.was_closed.wait(PATIENCE) and items.closed == items.opened == 1


class Lost(Exception):
    """Be an error that only these tests raise."""


@each
def test_for(name: str) -> None:
    items = Items(10)
    seen: list[int] = []
    for n in STREAMS[name](items):
        seen.append(n)  # noqa: PERF402
    assert seen == list(range(10))
    assert closed(items)


@each
def test_list_again_and_again(name: str) -> None:
    stream = STREAMS[name](Items(10))
    assert list(stream) == list(stream) == list(range(10))


@pytest.mark.parametrize("name", [name for name in STREAMS if name != "share"])
def test_two_loops_over_one_stream_share_nothing(name: str) -> None:
    stream = STREAMS[name](Items(4))
    assert [(a, b) for a in stream for b in stream] == [(a, b) for a in range(4) for b in range(4)]


@each
def test_break(name: str) -> None:
    items = Items()
    for n in STREAMS[name](items):
        if n == 3:
            break
    assert closed(items)


@each
def test_an_error_in_the_body(name: str) -> None:
    items = Items()
    with pytest.raises(Lost, match=r"^body$"):  # noqa: PT012
        for n in STREAMS[name](items):
            if n == 3:
                raise Lost("body")
    assert closed(items)


@each
def test_an_error_in_the_stream(name: str) -> None:
    items = Items(3, next=Lost("stream"))
    seen: list[int] = []
    with pytest.raises(Lost) as failure:  # noqa: PT012
        for n in STREAMS[name](items):
            seen.append(n)  # noqa: PERF402
    assert seen == [0, 1, 2]
    assert str(failure.value) == "stream"
    assert closed(items)


@each
def test_an_iterator_that_is_not_used_opens_nothing(name: str) -> None:
    items = Items()
    iter(STREAMS[name](items))
    gc.collect()
    assert items.opened == 0


@each
def test_next_by_hand(name: str) -> None:
    items = Items()
    run = iter(STREAMS[name](items))
    assert [next(run), next(run)] == [0, 1]
    run.close()  # type: ignore[attr-defined]
    with pytest.raises(StopIteration):
        next(run)
    assert closed(items)


@each
def test_get(name: str) -> None:
    items = Items()
    assert STREAMS[name](items).first().get() == 0
    assert closed(items)


@each
def test_get_of_a_whole(name: str) -> None:
    items = Items(10)
    assert STREAMS[name](items).reduce(lambda total, n: total + n, 0).get() == 45
    assert closed(items)


@each
def test_with(name: str) -> None:
    items = Items()
    with STREAMS[name](items).open() as numbers:
        assert next(numbers) == 0
        assert next(numbers) == 1
    assert closed(items)


@pytest.mark.parametrize(
    "stream",
    [Stream.range(3), Stream.just(0, 1), Stream.from_iterable(range(3)), Stream.from_iterable((0, 1))],
    ids=["range", "just", "a range", "a tuple"],
)
def test_a_with_ends_the_run_of_what_cannot_be_closed(stream: Stream[int]) -> None:
    with stream.open() as numbers:
        assert next(numbers) == 0
    assert next(numbers, None) is None


@each
def test_with_an_error_inside(name: str) -> None:
    items = Items()
    with pytest.raises(Lost, match=r"^inside$"), STREAMS[name](items).open() as numbers:  # noqa: PT012
        next(numbers)
        raise Lost("inside")
    assert closed(items)


@pytest.mark.parametrize("stream", [Stream.empty(), Stream.empty().do_finally(noop), Stream.just(1).skip(1)])
def test_get_of_nothing(stream: Stream[Any]) -> None:
    with pytest.raises(EmptyError) as failure:
        stream.get()
    assert str(failure.value) == f"{stream._chain}: the stream completed without an element"
    with pytest.raises(EmptyError):
        asyncio.run(awaited(stream))


SEVERAL = [
    (Stream.range(5), "range"),
    (Stream.range(1), "range"),  # as any range: what is refused does not depend on the elements
    (Stream.range(5).map(str), "range | map(str)"),
    (Stream.just(1, 2), "just"),
    (Stream.just(1).flat_map(lambda n: [n]), "just | flat_map(<lambda>)"),
    (Stream.just(1).concat(Stream.just(2)), "concat"),
    (Stream.range(9).take(2), "range | take"),
    (Stream.empty().default_if_empty(1, 2), "empty | default_if_empty"),
    (Stream.range(3).zip(Stream.range(3)), "zip"),
]


@pytest.mark.parametrize(("stream", "chain"), SEVERAL, ids=lambda each: each if isinstance(each, str) else "")
def test_one_of_several_elements_is_not_given_in_silence(stream: Stream[Any], chain: str) -> None:
    cure = f"{chain} may have several elements; say first() for the first, or to_list() for all of them"
    with pytest.raises(TypeError, match=rf"^get: {re.escape(cure)}$"):
        stream.get()
    with pytest.raises(TypeError, match=rf"^await: {re.escape(cure)}$"):
        asyncio.run(awaited(stream))


ONE = {
    "just": Stream.just(7),
    "from_callable": Stream.from_callable(lambda: 7),
    "behind steps that keep it one": Stream.just(7).map(int).filter(bool).skip_while(lambda n: n < 0).timeout(60),
    "retried": Stream.from_callable(lambda: 7).retry(3).subscribe_on(thread()),
    "taken": Stream.range(7, 9).take(1),
    "the last": Stream.range(8).take_last(1),
    "a default": Stream.empty().default_if_empty(7),
    "zipped": Stream.just(7).zip(Stream.range(3).count()).map(lambda pair: pair[0]),
    "switched": Stream.empty().switch_if_empty(Stream.just(7)),
    "shared": Stream.just(7).cache(),
}


@pytest.mark.parametrize("name", ONE)
def test_one_result_is_given_by_get_and_await(name: str) -> None:
    assert ONE[name].get() == 7
    assert asyncio.run(awaited(ONE[name])) == 7


def test_a_thousand_streams_inside_each_other_are_known_to_have_one_result() -> None:
    stream: Stream[Any] = Stream.just(7)
    for _ in range(1000):
        stream = stream.cache()
    assert one_result(stream._chain)


async def awaited(stream: Stream[Any]) -> Any:
    return await stream


# The same on an event loop.


def run(main: Callable[[], Any]) -> Any:
    """Run a coroutine; nothing it started may be left on the loop."""

    async def checked() -> Any:
        before = asyncio.all_tasks()
        result = await main()
        for _ in range(5):  # tasks that were cancelled need a turn to say so
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        return result

    return asyncio.run(checked())


@each
def test_async_for(name: str) -> None:
    items = Items(10)

    async def main() -> list[int]:
        return [n async for n in STREAMS[name](items)]

    assert run(main) == list(range(10))
    assert closed(items)


@each
def test_async_for_with_a_break(name: str) -> None:
    items = Items()

    async def main() -> None:
        async for n in STREAMS[name](items):
            if n == 3:
                break
        gc.collect()
        while not items.closed:
            await asyncio.sleep(0)

    run(main)
    assert items.closed == 1


@each
def test_async_for_with_an_error_in_the_body(name: str) -> None:
    items = Items()

    async def main() -> None:
        with pytest.raises(Lost, match=r"^body$"):  # noqa: PT012
            async with STREAMS[name](items).open() as numbers:
                async for n in numbers:
                    if n == 3:
                        raise Lost("body")
        while not items.closed:
            await asyncio.sleep(0)

    run(main)
    assert items.closed == 1


@each
def test_async_for_over_a_stream_that_fails(name: str) -> None:
    items = Items(3, next=Lost("stream"))

    async def main() -> list[int]:
        seen: list[int] = []
        with pytest.raises(Lost) as failure:  # noqa: PT012
            async for n in STREAMS[name](items):
                seen.append(n)  # noqa: PERF401
        assert str(failure.value) == "stream"
        return seen

    assert run(main) == [0, 1, 2]
    assert closed(items)


@each
def test_await(name: str) -> None:
    async def main() -> int:
        return await STREAMS[name](Items(10)).count()

    assert run(main) == 10


@each
def test_async_with(name: str) -> None:
    items = Items()

    async def main() -> int:
        async with STREAMS[name](items).open() as numbers:
            return await anext(numbers)

    assert run(main) == 0
    assert closed(items)


@each
def test_a_task_that_is_cancelled_in_the_middle(name: str) -> None:
    items = Items()

    async def main() -> None:
        reached = asyncio.Event()

        async def loop_over() -> None:
            async for n in STREAMS[name](items):
                if n == 3:
                    reached.set()
                    await asyncio.sleep(3600)

        task = asyncio.ensure_future(loop_over())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        gc.collect()
        while not items.closed:
            await asyncio.sleep(0)

    run(main)
    assert items.closed == 1


@each
def test_a_loop_that_blocks_inside_a_running_event_loop(name: str) -> None:
    """It must neither wait for the loop that it blocks nor leave anything on it."""

    async def main() -> tuple[list[int], int]:
        return list(STREAMS[name](Items(10))), STREAMS[name](Items(10)).count().get()

    assert run(main) == (list(range(10)), 10)


@each
def test_a_loop_inside_a_function_of_another_loop(name: str) -> None:
    def inner(n: int) -> int:
        return sum(STREAMS[name](Items(n)))

    assert list(STREAMS[name](Items(4)).map(inner)) == [0, 0, 1, 3]


@each
def test_loops_in_loops_in_loops(name: str) -> None:
    def deep(levels: int) -> int:
        if not levels:
            return 1
        return sum(STREAMS[name](Items(2)).map(lambda _: deep(levels - 1)))

    assert deep(4) == 16


# Demand of a loop.


@pytest.mark.parametrize("name", ["sync", "fed", "nested", "merge", "share"])
def test_elements_of_this_thread_are_taken_one_by_one(name: str) -> None:
    """A source that blocks must not hold back the element before."""
    items = Items()
    limit = {"merge": 32, "share": 256}.get(name, 0)  # what these hold by their own window
    for n in STREAMS[name](items):
        assert items.taken - n - 1 <= limit
        if n == 50:
            break


def test_no_more_than_the_window_waits_for_a_slow_loop() -> None:
    items = Items()
    produced = threading.Event()

    def count(n: int) -> int:
        if n == 255:
            produced.set()
        return n

    stream = Stream.from_iterable(items).map(count).subscribe_on(thread())
    run = iter(stream)
    assert next(run) == 0
    assert next(run) == 1
    assert produced.wait(PATIENCE)
    assert 256 <= items.taken <= 258
    run.close()  # type: ignore[attr-defined]


# Flows, sinks and pipelines run the same way.


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n * 2).do_finally(noop)


def test_a_flow_between() -> None:
    made: Flow[int, int] = doubled
    assert list(Stream.range(3) | made) == [0, 2, 4]
    assert (Stream.range(3) | made | Sink.to_list()).run().wait() == [0, 2, 4]

    async def main() -> list[int]:
        return await (Stream.range(3) | made | Sink.to_list())

    assert run(main) == [0, 2, 4]


def test_a_flow_that_shares_does_not_mix_its_streams() -> None:
    shared: Flow[Any, Any] = flow(lambda stream: stream.share())
    numbers, letters = iter(Stream.range(1_000) | shared), iter(Stream.from_iterable("ab" * 500) | shared)
    assert [next(numbers), next(letters), next(numbers), next(letters)] == [0, "a", 1, "b"]
    numbers.close(), letters.close()  # type: ignore[attr-defined]


def test_generators_of_all_kinds_are_closed() -> None:
    ended: list[str] = []

    def numbers() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            ended.append("sync")

    async def later() -> AsyncIterator[int]:
        try:
            for n in range(10):
                yield n
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            ended.append("async")

    for _ in Stream.from_iterable(numbers()).publish_on(inline()):
        break
    for _ in Stream.from_async_iterable(later()):
        break
    before = threading.enumerate()
    for each_thread in before:
        if each_thread.name == "penstock-loop":
            each_thread.join(PATIENCE)
    assert ended == ["sync", "async"]


def test_what_a_run_started_is_over_when_its_block_is() -> None:
    ended: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            for n in range(100):
                yield n
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            ended.append("source")

    async def same(n: int) -> int:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append("work")
        return n

    async def main() -> list[str]:
        async with Stream.from_async_iterable(numbers()).map_async(same, concurrency=3).open() as elements:
            async for _ in elements:
                break
        return list(ended)

    assert "source" in asyncio.run(main())


def test_a_loop_reads_ahead_no_further_than_its_window() -> None:
    made: list[int] = []
    with Stream.range(1000).tap(made.append).do_finally(bool).open(window=3) as elements:
        next(elements)
        assert len(made) <= 3
    with pytest.raises(ValueError, match=r"^open: window must be >= 1, got 0$"):
        Stream.range(3).open(window=0)


def test_a_long_loop_over_what_is_at_hand_lets_other_tasks_run() -> None:
    async def main() -> int:
        turns = 0

        async def beat() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(beat())
        async for _ in Stream.range(10_000):
            pass
        task.cancel()
        return turns

    assert asyncio.run(main()) >= 9


def test_batches_may_give_several() -> None:
    stream = Stream.just(1).map_batches(list)
    with pytest.raises(TypeError, match=r"^get: just \| map_batches\(list\) may have several elements; say first\(\)"):
        stream.get()


class FailsLater:
    """Be a publisher with one element, which fails when it is told to."""

    def __init__(self) -> None:
        self.subscriber: Any = None
        self.asked = False

    def subscribe(self, subscriber: Any, /) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, _: int, /) -> None:
        if not self.asked:
            self.asked = True
            self.subscriber.on_next(1)

    def cancel(self) -> None:
        pass


@pytest.mark.parametrize("way", ["for", "async for"])
def test_a_failure_that_the_loop_was_left_before_goes_to_the_hook(way: str, dropped: list[Dropped]) -> None:
    lost, publisher = LookupError("lost"), FailsLater()
    stream = Stream.from_publisher(publisher)

    async def left_early() -> None:
        async with stream.open() as elements:
            async for _ in elements:
                publisher.subscriber.on_error(lost)
                break

    if way == "for":
        with stream.open() as elements:
            assert next(elements) == 1
            publisher.subscriber.on_error(lost)
    else:
        asyncio.run(left_early())
    assert [entry.error for entry in dropped] == [lost]
    dropped.clear()


@pytest.mark.parametrize("before", ["signalled", "asynchronous", "iterated"])
def test_leaving_waits_for_a_stream_that_was_subscribed_later(before: str) -> None:
    log: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield 7
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def two() -> AsyncIterator[int]:
        for number in range(2):
            yield number

    first = {
        "signalled": Stream.range(2).do_finally(noop),
        "asynchronous": Stream.from_async_iterable(two()),
        "iterated": Stream.range(2),
    }[before]

    async def left_early() -> list[str]:
        async with first.concat(Stream.defer(numbers)).open() as elements:
            async for number in elements:
                if number == 7:
                    break
        return list(log)

    assert asyncio.run(left_early()) == ["closed"]
