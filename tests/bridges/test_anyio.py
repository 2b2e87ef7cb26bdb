"""anyio: memory object streams carry elements, the end, a failure and a cancel, on asyncio and on trio."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest
import trio

from penstock import PenstockError, Pipeline, Run, RunCancelledError, Stream
from penstock.bridges.anyio import from_memory_stream, to_memory_stream
from penstock.testing import Completed, Failed, Next, Probe, Tracked
from tests.bridges.waiting import until
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LOST = LookupError("lost")
Channel = Callable[[int], tuple[Any, Any]]
Main = Callable[[Channel], Coroutine[Any, Any, None]]
KINDS: dict[str, tuple[str, Channel]] = {
    "anyio on asyncio": ("asyncio", lambda size: anyio.create_memory_object_stream[Any](size)),
    "anyio on trio": ("trio", lambda size: anyio.create_memory_object_stream[Any](size)),
    "trio": ("trio", lambda size: trio.open_memory_channel[Any](size)),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def run(request: pytest.FixtureRequest) -> Callable[[Main], None]:
    """Run a coroutine with each kind of channel; it has to leave no task behind."""
    backend, channel = request.param

    async def watched(main: Main) -> None:
        if backend == "trio":
            before = trio.lowlevel.current_statistics().tasks_living
        with anyio.fail_after(PATIENCE):
            await main(channel)
        if backend == "trio":
            assert trio.lowlevel.current_statistics().tasks_living == before
        else:
            assert len(anyio.get_running_tasks()) == 1

    return lambda main: anyio.run(watched, main, backend=backend)


def receivers(sender: Any) -> int:
    """Return how many receiving ends are open."""
    seen = sender.statistics()
    return int(seen.open_receive_streams if hasattr(seen, "open_receive_streams") else seen.open_receive_channels)


def test_elements_come_out_in_order_and_then_the_end(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        for size in (0, 1, 9):
            sender, receiver = channel(size)
            async with anyio.create_task_group() as tasks:

                async def send(to: Any = sender) -> None:
                    assert await (Stream.range(5) | to_memory_stream(to)) == 5

                tasks.start_soon(send)
                assert [n async for n in from_memory_stream(receiver)] == [0, 1, 2, 3, 4]

    run(main)


def test_a_failure_is_the_same_object_on_both_sides(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(9)
        with pytest.raises(LookupError):
            await (Stream.just(1).concat(Stream.error(LOST)) | to_memory_stream(sender))
        probe: Probe[int] = Probe(9)
        from_memory_stream(receiver).subscribe(probe)
        await until(lambda: probe.ended)
        assert (probe.elements, probe.error is LOST, probe.breaches) == ([1], True, [])

    run(main)


def test_signals_that_are_elements_are_not_taken_for_the_end(run: Callable[[Main], None]) -> None:
    signals = [Next(1), Completed(), Failed(LOST), Next(Next(2))]

    async def main(channel: Channel) -> None:
        sender, receiver = channel(9)
        await (Stream.from_iterable(signals) | to_memory_stream(sender))
        assert [signal async for signal in from_memory_stream(receiver)] == signals

    run(main)


def test_a_full_channel_makes_the_sink_wait_and_a_receiver_that_closes_cancels_it(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(2)
        items = Tracked(range(100))
        async with anyio.create_task_group() as tasks:

            async def send() -> None:
                assert await (Stream.from_iterable(items) | to_memory_stream(sender)) in {2, 3}

            tasks.start_soon(send)
            await until(lambda: items.taken == 3)
            for _ in range(20):
                await anyio.sleep(0)
            assert items.taken == 3  # two wait and one is in hand
            async with from_memory_stream(receiver).open() as received:
                assert await anext(received) == 0
        assert items.open_runs == 0

    run(main)


def test_nothing_is_received_before_it_is_asked_for(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(3)
        for n in range(3):
            sender.send_nowait(n)
        probe: Probe[int] = Probe(1)
        from_memory_stream(receiver).subscribe(probe)
        await until(lambda: probe.elements)
        assert sender.statistics().current_buffer_used == 2
        probe.cancel()
        await until(lambda: not receivers(sender))
        sender.close()

    run(main)


def test_a_cancel_ends_the_wait_for_an_item_and_closes_the_end(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(0)
        probe: Probe[int] = Probe(1)
        from_memory_stream(receiver).subscribe(probe)
        await until(lambda: sender.statistics().tasks_waiting_receive)
        probe.cancel()
        await until(lambda: not receivers(sender))
        with pytest.raises((anyio.BrokenResourceError, trio.BrokenResourceError)):
            sender.send_nowait(1)
        sender.close()
        assert probe.signals == []

    run(main)


def test_a_sink_that_is_cancelled_says_so_before_it_closes(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(5)
        items = Tracked(range(2))
        async with anyio.create_task_group() as tasks:

            async def send() -> None:
                await (Stream.from_iterable(items).concat(Stream.never()) | to_memory_stream(sender))

            tasks.start_soon(send)
            await until(lambda: receiver.statistics().current_buffer_used == 2)
            tasks.cancel_scope.cancel()
        probe: Probe[int] = Probe(9)
        from_memory_stream(receiver).subscribe(probe)
        await until(lambda: probe.ended)
        assert (probe.elements, type(probe.error)) == ([0, 1], RunCancelledError)
        assert str(probe.error) == "to_memory_stream: cancelled before the end"

    run(main)


def test_a_sink_that_is_cancelled_while_it_waits_for_room_closes(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(1)
        items = Tracked(range(100))
        async with anyio.create_task_group() as tasks:

            async def send() -> None:
                await (Stream.from_iterable(items) | to_memory_stream(sender))

            tasks.start_soon(send)
            await until(lambda: receiver.statistics().tasks_waiting_send)
            tasks.cancel_scope.cancel()
        assert items.open_runs == 0
        assert [n async for n in from_memory_stream(receiver)] == [0]  # there was no room for the mark

    run(main)


def test_clones_serve_several_on_either_side(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(99)
        for numbers in (Stream.range(3), Stream.range(3, 6)):
            await (numbers | to_memory_stream(sender.clone()))
        sender.close()
        one, two = from_memory_stream(receiver.clone()), from_memory_stream(receiver)
        assert [n async for n in one.take(2)] == [0, 1]
        assert [n async for n in two] == [2, 3, 4, 5]

    run(main)


# Breaches.


def test_an_end_is_read_once(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(9)
        await (Stream.range(2) | to_memory_stream(sender))
        stream = from_memory_stream(receiver)
        assert [n async for n in stream] == [0, 1]
        with pytest.raises(PenstockError) as raised:
            [n async for n in stream]
        assert (
            str(raised.value)
            == "from_memory_stream: this end was taken by an earlier subscriber; give a clone() to each"
        )

    run(main)


def test_none_and_a_failure_that_is_none_are_told_of_and_close_the_end(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        for item, message in (
            (None, "None is not an element"),
            (Failed("burst"), "rule 1.4: the sender failed with 'burst', which is not an exception"),  # type: ignore[arg-type]
        ):
            sender, receiver = channel(9)
            sender.send_nowait(item)
            with pytest.raises(Exception, match=re.escape(message)):
                [n async for n in from_memory_stream(receiver)]
            with pytest.raises((anyio.BrokenResourceError, trio.BrokenResourceError)):
                sender.send_nowait(1)
            sender.close()

    run(main)


def test_an_end_that_somebody_else_has_closed_fails_the_pipeline(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(9)
        sender.close()
        items = Tracked(range(5))
        with pytest.raises((anyio.ClosedResourceError, trio.ClosedResourceError)):
            await (Stream.from_iterable(items) | to_memory_stream(sender))
        assert items.open_runs == 0
        receiver.close()
        with pytest.raises((anyio.ClosedResourceError, trio.ClosedResourceError)):
            [n async for n in from_memory_stream(receiver)]

    run(main)


def test_an_end_belongs_to_the_loop_on_which_it_was_given(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(9)
        stream, sink = from_memory_stream(receiver), to_memory_stream(sender)
        for call, name in (
            (lambda: list(stream), "from_memory_stream: the receiver"),
            (lambda: (Stream.just(1) | sink).run().wait(PATIENCE), "to_memory_stream: the sender"),
        ):
            raised: list[Exception] = []

            def elsewhere(call: Callable[[], object] = call, into: list[Exception] = raised) -> None:
                try:
                    call()
                except RuntimeError as error:
                    into.append(error)

            threading.Thread(target=elsewhere).start()
            await until(lambda into=raised: into)  # type: ignore[misc]
            assert str(raised[0]).startswith(f"{name} belongs to the event loop on which it was given")
        (failed,) = [item async for item in receiver]  # nobody has touched it elsewhere, and who waits here is told
        assert isinstance(failed.error, RunCancelledError)
        receiver.close()

    run(main)


@pytest.mark.parametrize("given", [None, 3, "ab"])
def test_what_is_no_end_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=f"^from_memory_stream: receiver must be a receiving end, got {given!r}$"):
        from_memory_stream(given)
    with pytest.raises(TypeError, match=f"^to_memory_stream: sender must be a sending end, got {given!r}$"):
        to_memory_stream(given)


def test_without_anyio_the_module_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "penstock.bridges.anyio")
    monkeypatch.setitem(sys.modules, "anyio", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs anyio: pip install 'penstock\[anyio\]'$"):
        import penstock.bridges.anyio  # noqa: F401


async def begun_elsewhere(pipeline: Pipeline[int]) -> Run[int]:
    """Begin a run on a thread that has no loop, so that it uses the loop of penstock."""
    begun: list[Run[int]] = []
    threading.Thread(target=lambda: begun.append(pipeline.run())).start()
    await until(lambda: begun)
    return begun[0]


def test_a_run_that_is_begun_here_sends_on_this_loop(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(9)
        assert await (Stream.range(3) | to_memory_stream(sender)).run() == 3
        assert [n async for n in from_memory_stream(receiver)] == [0, 1, 2]

    run(main)


def test_a_sink_that_runs_on_another_loop_tells_the_reader_when_it_is_cancelled(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(1)
        (await begun_elsewhere(Stream.never() | to_memory_stream(sender))).cancel()
        with pytest.raises(RunCancelledError):
            async for _ in from_memory_stream(receiver):
                pass

    run(main)


def test_a_sink_that_runs_on_another_loop_is_refused_even_without_an_element(run: Callable[[Main], None]) -> None:
    async def main(channel: Channel) -> None:
        sender, receiver = channel(1)
        running = await begun_elsewhere(Stream.empty() | to_memory_stream(sender))
        with pytest.raises(RunCancelledError):
            async for _ in from_memory_stream(receiver):
                pass
        with pytest.raises(RuntimeError, match="belongs to the event loop"):
            running.wait(PATIENCE)

    run(main)
