"""merge: four sources into one, in any order, then a sum."""

from __future__ import annotations

from operator import add

import reactivex
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import numbers
from benchmarks.peers import DEMAND, PUSHED, aio, awaited, last_of, pipe
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Bound, Contender, Workload
from penstock import Stream

SOURCES = 4
ONE_EACH = Bound(kept=True, why="holds at most one element of each source")


def starts(size: int) -> list[int]:
    """Say where each of the four parts of `range(4 * size)` starts."""
    return [index * size for index in range(SOURCES)]


def expected(size: int) -> int:
    return sum(range(SOURCES * size))


def hand(size: int) -> int:
    total = 0
    sources = [iter(range(start, start + size)) for start in starts(size)]
    while sources:
        for source in tuple(sources):
            try:
                x = next(source)
            except StopIteration:
                sources.remove(source)
            else:
                total = add(total, x)
    return total


def with_penstock(size: int) -> object:
    first, *others = [Stream.range(start, start + size) for start in starts(size)]
    return first.merge(*others).reduce(add, 0).get()


def with_reactivex(size: int) -> object:
    sources = [reactivex.from_iterable(range(start, start + size)) for start in starts(size)]
    return last_of(reactivex.merge(*sources).pipe(ops.reduce(add, 0)))


def with_aiostream(size: int) -> object:
    return awaited(aio.merge(*(numbers(size, start) for start in starts(size))) | pipe.reduce(add, 0))


def with_streamable(size: int) -> object:
    # flatten with a concurrency is its merge; over plain iterables it uses four threads and is slower
    async def main() -> int:
        total = 0
        async for x in streamable([numbers(size, start) for start in starts(size)]).flatten(concurrency=SOURCES):
            total = add(total, x)
        return total

    return awaited(main())


WORKLOAD = Workload(
    name="merge",
    title="merge of 4, sum",
    size=5_000,
    quick_size=1_000,
    expected=expected,
    contenders=(
        Contender(HAND, hand, ONE_EACH),
        Contender(PENSTOCK, with_penstock, DEMAND),
        Contender(STREAMABLE, with_streamable, ONE_EACH),
        Contender(REACTIVEX, with_reactivex, PUSHED),
        Contender(AIOSTREAM, with_aiostream, ONE_EACH),
    ),
)
