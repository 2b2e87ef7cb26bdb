"""flat_map: each element becomes ten, then a sum."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import reduce
from operator import add

import reactivex
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import numbers, spread
from benchmarks.peers import DEMAND, IN_HAND, PULLED, PUSHED, aio, awaited, last_of, pipe
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Target, Workload
from penstock import Stream


def expected(size: int) -> int:
    return sum(10 * x + 45 for x in range(size))


def hand(size: int) -> int:
    total = 0
    for x in range(size):
        for y in spread(x):
            total = add(total, y)
    return total


def with_penstock(size: int) -> object:
    return Stream.range(size).flat_map(spread).reduce(add, 0).get()


def with_reactivex(size: int) -> object:
    def inner(x: int) -> reactivex.Observable[int]:
        return reactivex.from_iterable(spread(x))

    return last_of(reactivex.from_iterable(range(size)).pipe(ops.flat_map(inner), ops.reduce(add, 0)))


def with_aiostream(size: int) -> object:
    async def inner(x: int) -> AsyncIterator[int]:
        for y in spread(x):
            yield y

    # one sequence at a time: without a limit it opens them all at once and keeps no bound
    return awaited(aio.iterate(numbers(size)) | pipe.concatmap(inner, task_limit=1) | pipe.reduce(add, 0))


def with_streamable(size: int) -> object:
    return reduce(add, streamable(range(size)).map(spread).flatten(), 0)


WORKLOAD = Workload(
    name="flat_map",
    title="flat_map to ten, sum",
    size=10_000,
    quick_size=2_000,
    expected=expected,
    contenders=(
        Contender(HAND, hand, IN_HAND),
        Contender(PENSTOCK, with_penstock, DEMAND),
        Contender(STREAMABLE, with_streamable, PULLED),
        Contender(REACTIVEX, with_reactivex, PUSHED),
        Contender(AIOSTREAM, with_aiostream, PULLED),
    ),
    targets=(Target(at_most=1.5),),
)
