"""map_async: 2,000 awaits of 5 ms, 50 at a time, results in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import reactivex
from reactivex import Observable
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import numbers
from benchmarks.peers import aio, awaited, pipe
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
    Measure,
    Target,
    Workload,
)
from penstock import Stream

CONCURRENCY = 50
SECONDS = 0.005
IN_FLIGHT = Bound(kept=True, why="at most 50 elements are in flight")


def expected(size: int) -> list[int]:
    return list(range(1, size + 1))


def ideal(size: int) -> float:
    return SECONDS * -(-size // CONCURRENCY)


async def answer(x: int) -> int:
    await asyncio.sleep(SECONDS)
    return x + 1


def hand(size: int) -> list[int]:
    async def main() -> list[int]:
        results = [0] * size
        todo = iter(range(size))

        async def work(todo: Iterator[int]) -> None:
            for x in todo:
                results[x] = await answer(x)

        await asyncio.gather(*(work(todo) for _ in range(CONCURRENCY)))
        return results

    return awaited(main())


def penstock_answers(size: int, fn: Callable[[int], Awaitable[int]]) -> list[int]:
    async def main() -> list[int]:
        return await Stream.range(size).map_async(fn, concurrency=CONCURRENCY, ordered=True).to_list()

    return awaited(main())


def with_penstock(size: int) -> object:
    return penstock_answers(size, answer)


def with_reactivex(size: int) -> object:
    def started(x: int) -> Observable[int]:
        return reactivex.defer(lambda _: reactivex.from_future(asyncio.ensure_future(answer(x))))

    async def main() -> list[Any]:
        source = reactivex.from_iterable(range(size))
        # results come as they are done: it has no ordered form with a limit
        return sorted(await source.pipe(ops.map(started), ops.merge(max_concurrent=CONCURRENCY), ops.to_list()))

    return awaited(main())


def with_aiostream(size: int) -> object:
    return awaited(aio.iterate(numbers(size)) | pipe.map(answer, task_limit=CONCURRENCY) | pipe.list())


def with_streamable(size: int) -> object:
    async def main() -> list[int]:
        return [x async for x in streamable(range(size)).map(answer, concurrency=CONCURRENCY)]

    return awaited(main())


def concurrency_is_kept() -> Finding:
    """Count how many awaits run at once."""
    running = 0
    most = 0

    async def counted(x: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return x

    penstock_answers(10 * CONCURRENCY, counted)
    return Finding(most <= CONCURRENCY, f"at most {most} awaits at once, {CONCURRENCY} allowed")


WORKLOAD = Workload(
    name="map_async",
    title="2,000 awaits of 5 ms, 50 at a time",
    size=2_000,
    quick_size=1_000,
    expected=expected,
    contenders=(
        Contender(HAND, hand, IN_FLIGHT),
        Contender(PENSTOCK, with_penstock, IN_FLIGHT),
        Contender(STREAMABLE, with_streamable, IN_FLIGHT),
        Contender(
            REACTIVEX,
            with_reactivex,
            Bound(kept=False, why="50 run at once, but merge queues all the rest of the source"),
        ),
        Contender(AIOSTREAM, with_aiostream, IN_FLIGHT),
    ),
    targets=(
        Target(at_most=1.25, against="the ideal", ideal=ideal),
        Target(at_most=1.5, measure=Measure.CPU),
    ),
    checks=(Check("concurrency is kept", concurrency_is_kept),),
)
