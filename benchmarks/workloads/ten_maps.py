"""ten_maps: ten maps one after the other, then a sum."""

from __future__ import annotations

from functools import reduce
from operator import add

import reactivex
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import numbers, step
from benchmarks.peers import DEMAND, IN_HAND, PULLED, PUSHED, aio, awaited, last_of, pipe
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Target, Workload
from penstock import Stream

MAPS = 10


def expected(size: int) -> int:
    return sum(range(MAPS, size + MAPS))


def hand(size: int) -> int:
    total = 0
    for x in range(size):
        total = add(total, step(step(step(step(step(step(step(step(step(step(x)))))))))))
    return total


def with_penstock(size: int) -> object:
    chain = Stream.range(size)
    for _ in range(MAPS):
        chain = chain.map(step)
    return chain.reduce(add, 0).get()


def with_reactivex(size: int) -> object:
    chain = reactivex.from_iterable(range(size))
    for _ in range(MAPS):
        chain = chain.pipe(ops.map(step))
    return last_of(chain.pipe(ops.reduce(add, 0)))


def with_aiostream(size: int) -> object:
    chain = aio.iterate(numbers(size))
    for _ in range(MAPS):
        chain = chain | pipe.map(step)
    return awaited(chain | pipe.reduce(add, 0))


def with_streamable(size: int) -> object:
    chain = streamable(range(size))
    for _ in range(MAPS):
        chain = chain.map(step)
    return reduce(add, chain, 0)


WORKLOAD = Workload(
    name="ten_maps",
    title="ten maps, sum",
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
    targets=(Target(at_most=1.25),),
)
