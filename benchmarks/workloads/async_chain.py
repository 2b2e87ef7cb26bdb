"""async_chain: an async source, map, filter, map, consumed with `async for`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from operator import add

import reactivex
from reactivex import abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from streamable import stream as streamable

from benchmarks.functions import double, numbers, step, wanted
from benchmarks.peers import DEMAND, IN_HAND, PULLED, PUSHED, aio, awaited, pipe
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Target, Workload
from penstock import Stream


def expected(size: int) -> int:
    return sum(2 * (x + 1) for x in range(size) if (x + 1) % 3)


async def mapped(fn: Callable[[int], int], xs: AsyncIterable[int]) -> AsyncIterator[int]:
    async for x in xs:
        yield fn(x)


async def filtered(keep: Callable[[int], bool], xs: AsyncIterable[int]) -> AsyncIterator[int]:
    async for x in xs:
        if keep(x):
            yield x


async def total_of(xs: AsyncIterable[int]) -> int:
    total = 0
    async for x in xs:
        total = add(total, x)
    return total


def hand(size: int) -> int:
    return awaited(total_of(mapped(double, filtered(wanted, mapped(step, numbers(size))))))


def with_penstock(size: int) -> object:
    return awaited(total_of(Stream.from_async_iterable(numbers(size)).map(step).filter(wanted).map(double)))


def with_reactivex(size: int) -> object:
    # it has no async source and no `async for`: a task that pushes, and an awaited reduce, is how it is done there
    def subscribe(observer: abc.ObserverBase[int], _: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        async def push() -> None:
            async for x in numbers(size):
                observer.on_next(x)
            observer.on_completed()

        task = asyncio.ensure_future(push())

        def dispose() -> None:
            task.cancel()

        return Disposable(dispose)

    chain = reactivex.create(subscribe).pipe(ops.map(step), ops.filter(wanted), ops.map(double), ops.reduce(add, 0))
    return awaited(chain)


def with_aiostream(size: int) -> object:
    async def main() -> object:
        xs = aio.iterate(numbers(size)) | pipe.map(step) | pipe.filter(wanted) | pipe.map(double)
        async with xs.stream() as streamer:
            return await total_of(streamer)

    return awaited(main())


def with_streamable(size: int) -> object:
    return awaited(total_of(streamable(numbers(size)).map(step).filter(wanted).map(double)))


WORKLOAD = Workload(
    name="async_chain",
    title="async source, map, filter, map, async for",
    size=50_000,
    quick_size=10_000,
    expected=expected,
    contenders=(
        Contender(HAND, hand, IN_HAND),
        Contender(PENSTOCK, with_penstock, DEMAND),
        Contender(STREAMABLE, with_streamable, PULLED),
        Contender(REACTIVEX, with_reactivex, PUSHED),
        Contender(AIOSTREAM, with_aiostream, PULLED),
    ),
    targets=(Target(at_most=1.3),),
)
