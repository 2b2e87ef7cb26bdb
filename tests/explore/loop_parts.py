"""loop_parts: the parts of the engine that work on an event loop.

Some work on a loop of penstock, some on that of a program, which may end, and be closed with its tasks under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from penstock import LoopClock, Stream, loop
from penstock.engine.places import event_loops
from tests.explore import planted_task as faults
from tests.explore import threads
from tests.explore.bench import Bench
from tests.explore.on_loops import AsyncFeed, Jobs, On, Program, Visitor
from tests.explore.part import ASKED, FRESH, FULL, OPEN, Part, State, part

GIVEN: State = ("down.all", "a.next")
BUSY: State = ("down.all", "a.next", "a.next")


def _at_home(bench: Bench, made: Callable[[], Stream[Any]]) -> None:
    """Take a stream on the loop of a program."""
    program = Program(bench)
    program.ending()
    bench.take(On(program, made))


def _own(bench: Bench, **options: Any) -> Stream[Any]:
    return Stream.from_async_iterable(AsyncFeed(bench, **options))


# Asynchronous sources.


@part(FRESH, ASKED, OPEN, GIVEN)
def async_run(bench: Bench) -> None:
    bench.take(_own(bench))


@part(FRESH, ASKED, OPEN, GIVEN)
def async_run_at_home(bench: Bench) -> None:
    source = _own(bench)
    _at_home(bench, lambda: source)


@part(FRESH, ASKED, OPEN)
def async_run_staged(bench: Bench) -> None:
    bench.take(_own(bench, exact=False).filter(lambda e: e != "a1").map(lambda e: f"{e}'").take(1))


@part(ASKED, OPEN)
def async_run_merged(bench: Bench) -> None:
    bench.take(_own(bench, exact=False).merge(_own(bench, name="b", exact=False), prefetch=2))


@part(ASKED, OPEN, GIVEN)
def async_run_slow_to_close(bench: Bench) -> None:
    source = _own(bench, slow=True)
    _at_home(bench, lambda: source)


# A source that keeps the cancel of an ending loop to itself goes on, where it is heard between two elements it ends.
@part(ASKED, OPEN, loose=True)
def async_run_deaf(bench: Bench) -> None:
    source = _own(bench, deaf=True)
    _at_home(bench, lambda: source)


@part(ASKED, OPEN)
def async_run_failing_to_close(bench: Bench) -> None:
    bench.drops = tuple(f"the source failed {when}" for when in ("to close", "after the cancel", "after the end"))
    source = _own(bench, slow=True, fails_to_close=True)
    _at_home(bench, lambda: source)


@part(FRESH, ASKED)
def from_awaitable(bench: Bench) -> None:
    jobs = Jobs(bench, 1)
    _at_home(bench, lambda: Stream.from_awaitable(lambda: jobs("a1")))


@part(FRESH, ASKED)
def from_awaitable_own(bench: Bench) -> None:
    jobs = Jobs(bench, 1)
    bench.take(Stream.from_awaitable(lambda: jobs("a1")))


# Work that is awaited.


@part(FRESH, ASKED, OPEN, BUSY)
def map_async(bench: Bench) -> None:
    bench.take(bench.feed("a").map_async(Jobs(bench, 2), concurrency=2))


@part(ASKED, OPEN, BUSY)
def map_async_at_home(bench: Bench) -> None:
    stream = bench.feed("a").map_async(Jobs(bench, 2), concurrency=2)
    _at_home(bench, lambda: stream)


@part(ASKED, OPEN, BUSY)
def map_async_unordered(bench: Bench) -> None:
    bench.take(bench.feed("a").map_async(Jobs(bench, 2), concurrency=2, ordered=False))


@part(OPEN, BUSY, (*BUSY, "a.next"))
def map_async_by_key(bench: Bench) -> None:
    def odd(element: str) -> int:
        return int(element[1:]) % 2

    bench.take(bench.feed("a").map_async(Jobs(bench, 2, odd), concurrency=2, key=odd))


@part(ASKED, OPEN, BUSY)
def filter_async(bench: Bench) -> None:
    bench.take(bench.feed("a").filter(Jobs(bench, 2).odd, concurrency=2))


@part(FRESH, ASKED, ("down.ask", "a.next"))
def for_each_async(bench: Bench) -> None:
    stream = bench.feed("a").for_each(Jobs(bench, 1), concurrency=1)
    _at_home(bench, lambda: stream)


# Tasks that await a stream.


def _visit(bench: Bench, stream: Stream[Any], leave: int) -> Program:
    async def visit(visitor: Visitor) -> None:
        count = 0
        async with aclosing(aiter(stream)) as iterator:  # type: ignore[type-var]
            async for element in iterator:
                visitor.note(element)
                count += 1
                if count == leave:
                    break

    program = Program(bench)
    program.ending()
    Visitor(program, visit)
    return program


@part(FRESH, ("a.next",), late=False)
def async_for(bench: Bench) -> None:
    _visit(bench, bench.feed("a"), 9)


@part(FRESH, ("a.next",), late=False)
def async_for_left(bench: Bench) -> None:
    _visit(bench, bench.feed("a"), 2)


@part(FRESH, ("a.next",), late=False)
def async_for_source_left(bench: Bench) -> None:
    _visit(bench, _own(bench, exact=False, slow=True), 2)


@part(FRESH, ("a.next",), late=False)
def async_for_merged_left(bench: Bench) -> None:
    _visit(bench, _own(bench, exact=False, slow=True).merge(bench.feed("b"), prefetch=2), 2)


@part(FRESH, ("a.next",), ("a.next", "work.done"), late=False)
def async_for_map_async_left(bench: Bench) -> None:
    _visit(bench, bench.feed("a").map_async(Jobs(bench, 2), concurrency=2), 2)


@part(FRESH, ("a.next",), late=False)
def async_for_dropped(bench: Bench) -> None:
    """Leave the loop without closing what it iterates over."""
    stream = bench.feed("a")

    async def visit(visitor: Visitor) -> None:
        async for element in stream:
            visitor.note(element)
            break

    program = Program(bench)
    program.ending()
    del bench.calls["loop.breaks"]  # who leaves a generator to asyncio lets it be closed
    Visitor(program, visit)


@part(FRESH, ("a.next",), late=False)
def awaited(bench: Bench) -> None:
    stream = bench.feed("a", total=2).to_list()

    async def visit(visitor: Visitor) -> None:
        visitor.note(await stream)

    program = Program(bench)
    program.ending()
    Visitor(program, visit)


# Time.


def _timed(bench: Bench, made: Callable[[LoopClock], Stream[Any]]) -> None:
    _at_home(bench, lambda: made(LoopClock()))
    bench.call("tick", lambda: threads.pass_time(1.0), "clock")
    bench.finishers.append(lambda: threads.pass_time(50.0))


@part(FRESH, ASKED)
def timer_on_a_loop(bench: Bench) -> None:
    _timed(bench, lambda clock: Stream.timer(1.0, clock=clock))


@part(FRESH, ASKED, OPEN, loose=True)
def timeout_on_a_loop(bench: Bench) -> None:
    bench.errors.add("TimeoutError")
    source = bench.feed("a")
    _timed(bench, lambda clock: source.timeout(1.0, clock=clock))


@part(FRESH, ("down.ask", "a.next"), GIVEN, loose=True)
def debounce_on_a_loop(bench: Bench) -> None:
    source = bench.feed("a")
    _timed(bench, lambda clock: source.debounce(1.0, clock=clock))


@part(FRESH, ASKED, GIVEN)
def delay_on_a_loop(bench: Bench) -> None:
    source = bench.feed("a")
    _timed(bench, lambda clock: source.delay(1.0, size=2, clock=clock))


# Loops as executors, and penstock's own loop.


@part(FRESH, ASKED, OPEN, FULL)
def publish_on_loop(bench: Bench) -> None:
    bench.take(bench.feed("a").publish_on(loop(), prefetch=2))


@part(FRESH, ASKED, OPEN, FULL)
def publish_on_loop_at_home(bench: Bench) -> None:
    bench.drops = ("a worker took no task after the end or the cancel",)
    stream = bench.feed("a").publish_on(loop(), prefetch=2)
    _at_home(bench, lambda: stream)


@part(FRESH, ASKED, OPEN)
def subscribe_on_loop(bench: Bench) -> None:
    bench.take(bench.feed("a").subscribe_on(loop()))


def _looked_at(task: Any) -> None:
    """Look at what a task has raised, so that asyncio does not complain."""
    if not task.cancelled():
        task.exception()


@part(FRESH, ("use",), late=False)
def own_loop(bench: Bench) -> None:
    def use(name: str) -> None:
        lease = event_loops.lease_loop()

        async def work() -> None:
            await asyncio.sleep(0)
            bench.results.append(name)
            lease.release()

        lease.call(lambda: lease.spawn(work()))

    async def interrupted() -> None:
        raise SystemExit

    def exit_() -> None:
        lease = event_loops.lease_loop()
        lease.call(lambda: lease.spawn(interrupted()).add_done_callback(_looked_at))
        lease.release()

    bench.exits = True
    bench.call("use", lambda: use("first"), "first")
    bench.call("use_other", lambda: use("second"), "second")
    bench.call("exit.close", exit_, "exit")


def planted(name: str) -> Part:
    """Return the small subscription on a loop with a planted fault as a part."""
    subscription = getattr(faults, name)

    class Planted:
        def __init__(self, program: Program, source: AsyncFeed) -> None:
            self._program = program
            self._source = source

        def subscribe(self, subscriber: Any, /) -> None:
            self._program.call(lambda: subscription(self._source, subscriber))

    def build(bench: Bench) -> None:
        program = Program(bench)
        program.ending()
        for call in ("loop.ends", "loop.breaks"):  # who is small is not told of that
            del bench.calls[call]
        bench.take(Planted(program, AsyncFeed(bench)))

    return Part(name, build, (FRESH, ASKED), late=False)
