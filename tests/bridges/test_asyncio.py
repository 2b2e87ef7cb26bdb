"""asyncio: queues, readers and writers carry elements under demand, on the loop they belong to."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import pytest

from penstock import Pipeline, ProtocolError, RunCancelledError, Stream, thread
from penstock.bridges import asyncio as bridge
from penstock.bridges.asyncio import from_queue, from_reader, to_queue, to_writer
from penstock.testing import Completed, Failed, Next, Probe, Tracked
from tests.bridges.waiting import until
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

T = TypeVar("T")
LOST = LookupError("lost")


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine that has to leave no task behind."""

    async def watched() -> T:
        result = await asyncio.wait_for(main(), PATIENCE)
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})  # what was cancelled takes its last turn
        return result

    return asyncio.run(watched())


def test_elements_come_out_in_order_with_the_end_behind_them() -> None:
    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        assert await (Stream.just("a") | to_queue(queue)) == 1
        assert [queue.get_nowait(), queue.get_nowait()] == ["a", Completed()]
        await (Stream.range(3) | to_queue(queue))
        assert [n async for n in from_queue(queue)] == [0, 1, 2]
        with pytest.raises(LookupError):
            await (Stream.error(LOST) | to_queue(queue))
        failed = queue.get_nowait()
        assert isinstance(failed, Failed)
        assert failed.error is LOST

    run(main)


def test_a_failure_is_the_same_object_on_both_sides() -> None:
    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        queue.put_nowait(1)
        queue.put_nowait(Failed(LOST))
        probe: Probe[int] = Probe(9)
        from_queue(queue).subscribe(probe)
        await until(lambda: probe.ended)
        assert (probe.elements, probe.error is LOST, probe.breaches) == ([1], True, [])
        await queue.join()

    run(main)


def test_signals_that_are_elements_are_not_taken_for_the_end() -> None:
    signals = [Next(1), Completed(), Failed(LOST), Next(Next(2))]

    async def main() -> list[Any]:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        await (Stream.from_iterable(signals) | to_queue(queue))
        return [signal async for signal in from_queue(queue)]

    assert run(main) == signals


def test_nothing_is_taken_before_it_is_asked_for() -> None:
    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        for n in range(3):
            queue.put_nowait(n)
        probe: Probe[int] = Probe(1)
        from_queue(queue).subscribe(probe)
        await until(lambda: probe.elements)
        assert queue.qsize() == 2
        probe.request(1)
        await until(lambda: len(probe.elements) == 2)
        assert queue.qsize() == 1
        probe.cancel()

    run(main)


def test_a_full_queue_makes_the_sink_wait_and_a_cancel_ends_that() -> None:
    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue(2)
        items = Tracked(range(100))

        async def fill() -> int:
            return await (Stream.from_iterable(items) | to_queue(queue))

        filling = asyncio.ensure_future(fill())
        await until(lambda: items.taken == 3)
        for _ in range(20):
            await asyncio.sleep(0)
        assert (items.taken, queue.qsize()) == (3, 2)  # one is in hand
        filling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await filling
        assert (items.open_runs, queue.qsize()) == (0, 2)

    run(main)


def test_a_cancel_ends_the_wait_for_an_item_and_takes_none() -> None:
    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        probe: Probe[int] = Probe(1)
        from_queue(queue).subscribe(probe)
        await until(lambda: queue._getters)  # type: ignore[attr-defined]
        probe.cancel()
        await until(lambda: not queue._getters)  # type: ignore[attr-defined]
        queue.put_nowait(1)
        assert (queue.qsize(), probe.signals) == (1, [])

    run(main)


def test_several_may_fill_one_queue_if_only_one_ends_it() -> None:
    async def main() -> list[int]:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        for numbers in (Stream.range(2), Stream.range(2, 4)):
            await (numbers | to_queue(queue, end=False))
        queue.put_nowait(Completed())
        return [n async for n in from_queue(queue)]

    assert run(main) == [0, 1, 2, 3]


def test_elements_that_come_from_a_thread_are_put_on_the_loop() -> None:
    async def main() -> list[int]:
        queue: asyncio.Queue[Any] = asyncio.Queue(1)

        async def fill() -> int:
            return await (Stream.range(50).subscribe_on(thread()).publish_on(thread()) | to_queue(queue))

        filling = asyncio.ensure_future(fill())
        found = [n async for n in from_queue(queue)]
        assert await filling == 50
        return found

    assert run(main) == list(range(50))


def test_without_a_loop_of_ones_own_everything_runs_on_that_of_penstock() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue(3)
    filling = (Stream.range(40) | to_queue(queue)).run()
    assert list(from_queue(queue)) == list(range(40))
    assert filling.wait(PATIENCE) == 40


def test_to_stop_a_run_is_to_end_it_in_the_queue_as_well() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue(3)
    items = Tracked(range(10**6))
    filling = (Stream.from_iterable(items) | to_queue(queue)).run()
    with from_queue(queue).open(window=1) as elements:
        first = next(elements)
        filling.stop()
        found = [first, *elements]
    assert found == list(range(filling.wait(PATIENCE)))
    assert len(found) < 10**6


def test_a_run_that_is_cancelled_puts_no_mark() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue(3)
    items = Tracked(range(100))
    filling = (Stream.from_iterable(items) | to_queue(queue)).run()
    with from_queue(queue).open(window=1) as elements:
        next(elements)
        filling.cancel()
    with pytest.raises(RunCancelledError):
        filling.wait(PATIENCE)
    items.wait_until_closed()


# Breaches.


def result_of(pipeline: Pipeline[int]) -> int:
    return pipeline.run().wait(PATIENCE)


@pytest.mark.parametrize("use", ["from_queue", "to_queue", "from_reader", "to_writer"])
def test_what_belongs_to_one_loop_is_not_used_on_another(use: str) -> None:
    items = Tracked([b"a"])

    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        async with wire() as (reader, writer):
            calls: dict[str, Callable[[], object]] = {
                "from_queue": partial(list, from_queue(queue)),
                "from_reader": partial(list, from_reader(reader)),
                "to_queue": partial(result_of, Stream.from_iterable(items) | to_queue(queue)),
                "to_writer": partial(result_of, Stream.from_iterable(items) | to_writer(writer)),
            }
            what = use.partition("_")[2]
            message = (
                f"{use}: the {what} belongs to the event loop on which it was given; use `async for` or `await` there"
            )
            with pytest.raises(RuntimeError) as raised:
                await asyncio.to_thread(calls[use])
            assert str(raised.value) == message
        items.wait_until_closed()
        await asyncio.get_running_loop().shutdown_default_executor()

    run(main)


def test_none_in_a_queue_and_a_failure_that_is_none_are_told_of() -> None:
    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        for item in (1, None, Failed("burst")):  # type: ignore[arg-type]
            queue.put_nowait(item)
        with pytest.raises(TypeError, match=r"2\.13"):
            [n async for n in from_queue(queue)]
        with pytest.raises(ProtocolError) as raised:
            [n async for n in from_queue(queue)]
        assert str(raised.value) == "rule 1.4: the sender failed with 'burst', which is not an exception"

    run(main)


def test_a_queue_that_raises_fails_its_own_sink() -> None:
    class Broken(asyncio.Queue[Any]):
        async def put(self, item: Any) -> None:
            raise OSError("gone")

    async def main() -> None:
        items = Tracked(range(5))
        with pytest.raises(OSError, match=r"^gone$"):
            await (Stream.from_iterable(items) | to_queue(Broken()))
        assert items.open_runs == 0

    run(main)


def test_an_end_that_cannot_be_put_fails_the_sink_and_a_failure_goes_on(dropped: list[Any]) -> None:
    class Broken(asyncio.Queue[Any]):
        async def put(self, item: Any) -> None:
            if isinstance(item, Completed | Failed):
                raise OSError("gone")

    async def main() -> None:
        with pytest.raises(OSError, match=r"^gone$"):
            await (Stream.just(1) | to_queue(Broken()))
        with pytest.raises(LookupError):
            await (Stream.error(LOST) | to_queue(Broken()))

    run(main)
    assert [(each.what, str(each.error)) for each in dropped] == [("a sink failed to pass a failure on", "gone")]
    dropped.clear()


def test_a_loop_that_ends_under_a_sink_takes_it_along() -> None:
    errors: list[Any] = []
    items = Tracked(range(100))

    async def main() -> None:
        queue: asyncio.Queue[Any] = asyncio.Queue(1)
        stream: Any = Stream.from_iterable(items) | to_queue(queue)
        probe: Probe[int] = Probe(1, on_signal=errors.append)
        Stream(stream._chain).subscribe(probe)
        await until(lambda: items.taken == 2)

    asyncio.run(main())
    assert [str(each.error) for each in errors] == ["the event loop ended before the stream did"]
    assert items.open_runs == 0


class QueueShutDown(Exception):
    """Stand for asyncio.QueueShutDown where Python does not have it yet."""


class Closable(asyncio.Queue[Any]):
    """Be a queue that can be shut down, as from Python 3.13 on."""

    is_shutdown = False

    def shutdown(self) -> None:
        self.is_shutdown = True
        for waiter in (*self._getters, *self._putters):  # type: ignore[attr-defined]
            if not waiter.done():
                waiter.set_exception(QueueShutDown())

    async def get(self) -> Any:
        if self.is_shutdown and self.empty():
            raise QueueShutDown
        return await super().get()

    async def put(self, item: Any) -> None:
        if self.is_shutdown:
            raise QueueShutDown
        await super().put(item)


def closable(monkeypatch: pytest.MonkeyPatch, size: int) -> Any:
    if hasattr(asyncio, "QueueShutDown"):
        return asyncio.Queue(size)
    monkeypatch.setattr(bridge, "_SHUT_DOWN", QueueShutDown)
    return Closable(size)


def test_a_queue_that_is_shut_down_ends_its_readers_and_cancels_who_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        queue = closable(monkeypatch, 2)
        items = Tracked(range(100))

        async def fill() -> int:
            return await (Stream.from_iterable(items) | to_queue(queue))

        async def read() -> list[int]:
            return [n async for n in from_queue(queue)]

        filling = asyncio.ensure_future(fill())
        await until(lambda: items.taken == 3)
        queue.shutdown()
        assert (await filling, await read()) == (2, [0, 1])
        assert items.open_runs == 0
        queue = closable(monkeypatch, 2)
        reading = asyncio.ensure_future(read())
        await until(lambda: queue._getters)
        queue.shutdown()
        assert await reading == []

    run(main)


# Readers and writers.


@asynccontextmanager
async def wire() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    ours, theirs = socket.socketpair()
    reader, back = await asyncio.open_connection(sock=theirs, limit=64)
    _, writer = await asyncio.open_connection(sock=ours)
    try:
        yield reader, writer
    finally:
        for each in (writer, back):
            each.close()
        await asyncio.gather(writer.wait_closed(), back.wait_closed(), return_exceptions=True)


def test_lines_and_chunks_are_read_until_the_end() -> None:
    async def main() -> None:
        for size, found in ((None, [b"one\n", b"two"]), (3, [b"one", b"\ntw", b"o"])):
            async with wire() as (reader, writer):
                assert await (Stream.just(b"one\n", b"two") | to_writer(writer)) == 2
                assert [each async for each in from_reader(reader, size=size)] == found

    run(main)


def test_a_writer_can_be_left_open_for_more() -> None:
    async def main() -> None:
        async with wire() as (reader, writer):
            for word in (b"one\n", b"two\n"):
                await (Stream.just(word) | to_writer(writer, eof=False))
            assert [each async for each in from_reader(reader).take(2)] == [b"one\n", b"two\n"]
            probe: Probe[bytes] = Probe(1)
            from_reader(reader).subscribe(probe)
            await until(lambda: reader._waiter is not None)  # type: ignore[attr-defined]
            probe.cancel()
            await until(lambda: reader._waiter is None)  # type: ignore[attr-defined]
            writer.write(b"three\n")
            assert await reader.readline() == b"three\n"  # nothing was taken, and the connection is still there

    run(main)


def test_a_wire_that_is_full_makes_the_sink_wait() -> None:
    async def main() -> None:
        async with wire() as (reader, writer):
            items = Tracked([b"x" * 65535 + b"\n"] * 100)

            async def write() -> int:
                return await (Stream.from_iterable(items) | to_writer(writer))

            writing = asyncio.ensure_future(write())
            await until(lambda: items.taken > 1)
            before = -1
            while before != items.taken:
                before = items.taken
                for _ in range(50):
                    await asyncio.sleep(0)
            assert items.taken < 50
            received = sum([len(chunk) async for chunk in from_reader(reader, size=65536)])
            assert (await writing, received) == (100, 100 * 65536)

    run(main)


def test_a_line_that_is_too_long_fails_the_stream() -> None:
    async def main() -> None:
        async with wire() as (reader, writer):
            writer.write(b"x" * 1000 + b"\n")
            with pytest.raises(ValueError, match="chunk"):
                [line async for line in from_reader(reader)]

    run(main)


def test_a_failure_ends_nothing_on_the_wire_and_fails_the_pipeline() -> None:
    async def main() -> None:
        async with wire() as (reader, writer):
            with pytest.raises(LookupError) as raised:
                await (Stream.just(b"one\n").concat(Stream.error(LOST)) | to_writer(writer))
            assert raised.value is LOST
            assert not writer.is_closing()
            writer.close()
            assert [line async for line in from_reader(reader)] == [b"one\n"]

    run(main)


def test_a_peer_that_has_gone_fails_the_pipeline_and_cancels_the_stream() -> None:
    async def main() -> None:
        async with wire() as (reader, writer):
            items = Tracked([b"x" * 65536] * 1000)
            reader._transport.abort()  # type: ignore[attr-defined]
            with pytest.raises(ConnectionError):
                await (Stream.from_iterable(items) | to_writer(writer))
            assert (items.open_runs, items.taken < 1000) == (0, True)

    run(main)


def test_what_is_no_bytes_fails_the_pipeline() -> None:
    async def main() -> None:
        async with wire() as (_, writer):
            with pytest.raises(TypeError):
                await (Stream.just("text") | to_writer(writer))  # type: ignore[operator]

    run(main)


# Arguments.


@pytest.mark.parametrize("given", [None, 3, threading.Lock])
def test_what_is_none_of_asyncio_is_refused(given: Any) -> None:
    for function, message in (
        (from_queue, "from_queue: queue must be an asyncio.Queue"),
        (to_queue, "to_queue: queue must be an asyncio.Queue"),
        (from_reader, "from_reader: reader must be an asyncio.StreamReader"),
        (to_writer, "to_writer: writer must be an asyncio.StreamWriter"),
    ):
        with pytest.raises(TypeError, match=f"^{re.escape(f'{message}, got {given!r}')}$"):
            function(given)


def test_a_size_must_be_positive() -> None:
    async def main() -> None:
        async with wire() as (reader, _):
            with pytest.raises(ValueError, match=r"^from_reader: size must be >= 1, got 0$"):
                from_reader(reader, size=0)

    run(main)
