"""zip: two sources side by side, multiplied, then a sum."""

from __future__ import annotations

from functools import reduce
from operator import add

import reactivex
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import numbers, product
from benchmarks.peers import DEMAND, aio, awaited, last_of, pipe
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Bound, Contender, Workload
from penstock import Stream

ONE_PAIR = Bound(kept=True, why="holds at most one element of each source")


def expected(size: int) -> int:
    return sum(x * (x + size) for x in range(size))


def hand(size: int) -> int:
    total = 0
    for pair in zip(range(size), range(size, 2 * size), strict=True):
        total = add(total, product(pair))
    return total


def with_penstock(size: int) -> object:
    return Stream.range(size).zip(Stream.range(size, 2 * size)).map(product).reduce(add, 0).get()


def with_reactivex(size: int) -> object:
    left, right = (reactivex.from_iterable(range(start, start + size)) for start in (0, size))
    return last_of(reactivex.zip(left, right).pipe(ops.map(product), ops.reduce(add, 0)))


def with_aiostream(size: int) -> object:
    return awaited(aio.zip(numbers(size), numbers(size, size)) | pipe.map(product) | pipe.reduce(add, 0))


def with_streamable(size: int) -> object:
    # it has no zip of its own, but its streams are iterables, so the builtin is how it is done there
    pairs = zip(streamable(range(size)), streamable(range(size, 2 * size)), strict=True)
    return reduce(add, streamable(pairs).map(product), 0)


WORKLOAD = Workload(
    name="zip",
    title="zip of 2, multiply, sum",
    size=10_000,
    quick_size=2_000,
    expected=expected,
    contenders=(
        Contender(HAND, hand, ONE_PAIR),
        Contender(PENSTOCK, with_penstock, DEMAND),
        Contender(STREAMABLE, with_streamable, ONE_PAIR),
        Contender(REACTIVEX, with_reactivex, Bound(kept=False, why="queues the faster source in a list without limit")),
        Contender(AIOSTREAM, with_aiostream, ONE_PAIR),
    ),
)
