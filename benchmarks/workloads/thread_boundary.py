"""thread_boundary: one thread produces, another consumes, at most 256 elements between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from queue import Queue
from threading import Event, Thread

import reactivex
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler
from streamable import stream as streamable

from benchmarks.workload import (
    AIOSTREAM,
    HAND,
    PENSTOCK,
    REACTIVEX,
    STREAMABLE,
    Bound,
    Check,
    Contender,
    Finding,
    Missing,
    Target,
    Workload,
)
from penstock import Stream, thread

BOUND = 256
PATIENCE = 10.0


def expected(size: int) -> int:
    return sum(range(size))


def hand(size: int) -> int:
    queue: Queue[int | None] = Queue(BOUND)

    def produce() -> None:
        for x in range(size):
            queue.put(x)
        queue.put(None)

    producer = Thread(target=produce)
    producer.start()
    total = 0
    while (x := queue.get()) is not None:
        total = add(total, x)
    producer.join()
    return total


def across(source: Stream[int]) -> Stream[int]:
    """Let a stream be produced in one thread and consumed in another."""
    return source.subscribe_on(thread("producer")).publish_on(thread("consumer"), prefetch=BOUND)


def with_penstock(size: int) -> object:
    return across(Stream.range(size)).reduce(add, 0).get()


def with_reactivex(size: int) -> object:
    # `run` subscribes in a new thread; the event loop scheduler is the one that does not start a thread per element
    consumer = EventLoopScheduler()
    try:
        return reactivex.from_iterable(range(size)).pipe(ops.observe_on(consumer), ops.reduce(add, 0)).run()
    finally:
        consumer.dispose()


def with_streamable(size: int) -> object:
    return reduce(add, streamable(range(size)).buffer(BOUND), 0)


def most_held(run: Callable[[Iterable[int], Callable[[int], int]], object], count: int = 4_000) -> int:
    """Count how many elements were ever taken from a source and not yet handed to the consumer."""
    full = Event()
    taken = 0
    given = 0
    most = 0

    def source() -> Iterator[int]:
        nonlocal taken
        for x in range(count):
            taken += 1
            if taken == BOUND:
                full.set()
            yield x

    def consume(x: int) -> int:
        nonlocal given, most
        if x == 0:
            full.wait(PATIENCE)  # the producer fills the window first, and goes beyond it if nothing holds it
        most = max(most, taken - given)
        given += 1
        return x

    run(source(), consume)
    return most


def penstock_passes(source: Iterable[int], consume: Callable[[int], int]) -> object:
    return across(Stream.from_iterable(source)).map(consume).count().get()


def bound_is_kept() -> Finding:
    most = most_held(penstock_passes)
    return Finding(most <= BOUND, f"at most {most} elements held, {BOUND} allowed")


def lone_element_arrives() -> Finding:
    """Send one element, then nothing until it has arrived: a boundary that waits for a full chunk never delivers it."""
    arrived = Event()
    in_time: list[bool] = []

    def source() -> Iterator[int]:
        yield 1
        in_time.append(arrived.wait(PATIENCE))

    def consume(x: int) -> int:
        arrived.set()
        return x

    penstock_passes(source(), consume)
    passed = in_time == [True]
    return Finding(passed, "delivered while the source waited" if passed else f"not delivered within {PATIENCE:g} s")


WORKLOAD = Workload(
    name="thread_boundary",
    title="thread boundary of 256, sum",
    size=50_000,
    quick_size=10_000,
    expected=expected,
    contenders=(
        Contender(HAND, hand, Bound(kept=True, why="queue.Queue(256) blocks the producer when it is full")),
        Contender(PENSTOCK, with_penstock, Bound(kept=True, why="credit of 256: no more is requested than fits")),
        Contender(STREAMABLE, with_streamable, Bound(kept=True, why="buffer(256) counts free slots with a semaphore")),
        Contender(REACTIVEX, with_reactivex, Bound(kept=False, why="observe_on queues in a list without limit")),
    ),
    missing=(Missing(AIOSTREAM, "runs in one event loop; has no thread boundary"),),
    targets=(Target(at_most=0.2),),
    checks=(Check("bound is kept", bound_is_kept), Check("lone element is delivered at once", lone_element_arrives)),
)
