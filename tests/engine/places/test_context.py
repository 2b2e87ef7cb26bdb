"""context: what a subscriber has set in its context is seen by every function of its stream, wherever that runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import Context, ContextVar, copy_context
from typing import Any

import pytest

from penstock import (
    Clock,
    Emitter,
    Executor,
    LoopClock,
    Overflow,
    Sink,
    Stream,
    SystemClock,
    VirtualClock,
    inline,
    loop,
    pool,
    thread,
)
from penstock.testing import Probe
from tests.engine.parts import INLINE, in_thread
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

who: ContextVar[str] = ContextVar("who", default="nobody")


def seen(_: object) -> str:
    return who.get()


async def seen_later(_: object) -> str:
    before = who.get()
    await asyncio.sleep(0)
    return f"{before}" if who.get() == before else "two"


async def seen_by_a_source() -> AsyncIterator[str]:
    for _ in range(3):
        await asyncio.sleep(0)
        yield who.get()


def calling_back(emitter: Emitter[int]) -> None:
    """Emit on a thread of its own, whose context is empty."""

    def work() -> None:
        emitter.emit(1)
        emitter.emit(2)
        emitter.complete()

    threading.Thread(target=work).start()


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "inline": inline,
    "thread": thread,
    "pool": lambda: pool(2),
    "loop": loop,
    "another make": lambda: INLINE,
}
CASES: dict[str, Callable[[], Stream[str]]] = {
    "iterated": lambda: Stream.range(3).map(seen),
    "behind a joint": lambda: Stream.range(3).do_finally(bool).map(seen),
    "map_async": lambda: Stream.range(5).map_async(seen_later, concurrency=3),
    "an asynchronous source": lambda: Stream.from_async_iterable(seen_by_a_source()),
    "behind an asynchronous source": lambda: Stream.from_async_iterable(seen_by_a_source()).map(seen),
    "create": lambda: Stream.create(calling_back).map(seen),
    "interval": lambda: Stream.interval(0.001, overflow=Overflow.BUFFER).map(seen).take(3),
    "timer": lambda: Stream.timer(0.001).map(seen),
    "debounce": lambda: Stream.range(3).concat(Stream.never()).debounce(0.001).map(seen).take(1),
    "delay": lambda: Stream.range(3).delay(0.001).map(seen),
    "retry": lambda: Stream.defer(Fails(2)).retry(5, backoff=0.001),
    "a stream made on a worker": lambda: Stream.range(3).publish_on(thread()).flat_map(on_a_worker, concurrency=2),
    "merge": lambda: Stream.range(3).publish_on(thread()).map(seen).merge(Stream.range(2).map_async(seen_later)),
    "share": lambda: Stream.range(3).publish_on(thread()).share().map(seen),
}
for given, make in EXECUTORS.items():
    CASES[f"publish_on {given}"] = lambda make=make: Stream.range(3).publish_on(make()).map(seen)
    CASES[f"subscribe_on {given}"] = lambda make=make: Stream.range(3).map(seen).subscribe_on(make())
# Where elements lie ready, whoever asks for them takes them, on its own thread and in its own context.
BY_REQUEST = {"behind a joint", "create", "debounce", "delay", "interval", "iterated", "retry", "timer"}
each = pytest.mark.parametrize("name", CASES)


def on_a_worker(_: object) -> Stream[str]:
    return Stream.just(1).publish_on(pool(1)).map(seen)


class Fails:
    """Fail a few times, then tell what it sees."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> Stream[str]:
        self.left -= 1
        return Stream.error(ValueError("not yet")) if self.left >= 0 else Stream.just(0).map(seen)


def as_ada(call: Callable[[], Any]) -> Any:
    """Call with `who` set, in a context of its own."""

    def set_and_call() -> Any:
        who.set("ada")
        return call()

    return copy_context().run(set_and_call)


@each
def test_a_loop_gives_its_context(name: str) -> None:
    elements = as_ada(lambda: list(CASES[name]()))
    assert set(elements) == {"ada"}


@each
def test_an_asynchronous_loop_gives_its_context(name: str) -> None:
    async def main() -> list[str]:
        who.set("ada")
        return [element async for element in CASES[name]()]

    assert set(asyncio.run(main())) == {"ada"}


@pytest.mark.parametrize("name", [name for name in CASES if name not in BY_REQUEST])
def test_a_subscriber_gives_its_context_once_and_for_all(name: str) -> None:
    """The request comes from somewhere else, on a thread that knows nothing of the subscriber's context."""
    probe: Probe[str] = Probe()
    as_ada(lambda: CASES[name]().subscribe(probe))
    in_thread(lambda: probe.request(100))
    probe.wait_for_end()
    assert probe.error is None
    assert set(probe.elements) == {"ada"}


@pytest.mark.parametrize("name", ["iterated", "behind a joint"])
def test_on_one_thread_a_request_brings_its_own_context(name: str) -> None:
    probe: Probe[str] = Probe()
    as_ada(lambda: CASES[name]().subscribe(probe))
    in_thread(lambda: probe.request(100))
    assert set(probe.elements) == {"nobody"}


@pytest.mark.parametrize("make", [SystemClock, VirtualClock], ids=["system", "virtual"])
def test_a_clock_keeps_the_context_of_the_call(make: Callable[[], Clock]) -> None:
    clock = make()
    called = threading.Event()
    found: list[str] = []

    def task() -> None:
        found.append(who.get())
        called.set()

    as_ada(lambda: clock.call_later(0.001, task))
    if isinstance(clock, VirtualClock):
        clock.advance(1)
    assert called.wait(PATIENCE)
    assert found == ["ada"]


def test_the_clock_of_a_loop_keeps_the_context_of_the_call() -> None:
    async def main() -> list[str]:
        clock = LoopClock()
        called = asyncio.Event()
        found: list[str] = []

        def task() -> None:
            found.append(who.get())
            called.set()

        as_ada(lambda: clock.call_later(0.001, task))
        await called.wait()
        return found

    assert asyncio.run(main()) == ["ada"]


def test_a_callback_on_the_same_loop_has_no_say() -> None:
    async def main() -> list[str]:
        emitters: list[Emitter[int]] = []
        found: list[str] = []
        ended = asyncio.Event()

        async def take() -> None:
            who.set("ada")
            async for element in Stream.create(emitters.append).map(seen).take(2):
                found.append(element)  # noqa: PERF401
            ended.set()

        task = asyncio.create_task(take())
        while not emitters:
            await asyncio.sleep(0)
        who.set("somebody else")
        emitters[0].emit(1)
        emitters[0].emit(2)
        await ended.wait()
        await task
        return found

    assert asyncio.run(main()) == ["ada", "ada"]


@pytest.mark.parametrize("name", ["share", "replay", "partition"])
def test_who_joins_a_run_keeps_its_own_context(name: str) -> None:
    emitters: list[Emitter[int]] = []
    source = Stream.create(emitters.append)
    if name == "partition":
        first, second = source.partition(lambda n: n % 2 == 0)
    else:
        first = second = source.share() if name == "share" else source.replay(1)
    probes: list[Probe[str]] = [Probe(9), Probe(9)]
    as_ada(lambda: first.map(seen).subscribe(probes[0]))

    def as_ben() -> None:
        who.set("ben")
        second.map(seen).subscribe(probes[1])

    copy_context().run(as_ben)
    for n in (1, 2):
        emitters[0].emit(n)
    assert set(probes[0].elements) == {"ada"}
    assert set(probes[1].elements) == {"ben"}


def test_what_a_function_sets_on_a_worker_stays_there() -> None:
    def change(n: int) -> int:
        who.set("changed")
        return n

    def run() -> tuple[list[int], str]:
        return list(Stream.range(2).publish_on(thread()).map(change)), who.get()

    assert as_ada(run) == ([0, 1], "ada")


def test_a_pipeline_gives_the_context_of_who_runs_it() -> None:
    assert as_ada(lambda: (Stream.range(2).map(seen) | Sink.to_list()).run()).wait() == ["ada", "ada"]


def test_nothing_is_entered_for_elements_of_one_thread() -> None:
    """The price of a context is paid where a run changes hands, and not by its elements."""
    inside: list[Context] = []

    def run(_: int) -> Iterator[int]:
        inside.append(copy_context())
        yield from ()

    who.set("main")
    list(Stream.range(3).flat_map(run))
    assert {context[who] for context in inside} == {"main"}


def test_a_stream_of_a_function_is_not_waited_for() -> None:
    """What a user's function starts for itself is none of the loop's business."""

    async def main() -> list[int]:
        others: list[Probe[int]] = []

        async def start_another(n: int) -> int:
            probe: Probe[int] = Probe(1)

            async def never(_: int) -> int:
                await asyncio.Event().wait()
                return 0

            Stream.range(3).map_async(never).subscribe(probe)
            others.append(probe)
            return n

        elements = [n async for n in Stream.range(2).map_async(start_another)]
        for probe in others:
            probe.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return elements

    assert asyncio.run(asyncio.wait_for(main(), PATIENCE)) == [0, 1]
