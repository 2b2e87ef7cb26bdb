"""sync_chain: map, filter, map, sum."""

from __future__ import annotations

from functools import reduce
from operator import add

import reactivex
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import double, numbers, step, wanted
from benchmarks.peers import DEMAND, IN_HAND, PULLED, PUSHED, aio, awaited, last_of, pipe
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Target, Workload
from penstock import Stream


def expected(size: int) -> int:
    return sum(2 * (x + 1) for x in range(size) if (x + 1) % 3)


def hand(size: int) -> int:
    total = 0
    for x in range(size):
        y = step(x)
        if wanted(y):
            total = add(total, double(y))
    return total


def with_penstock(size: int) -> object:
    return Stream.range(size).map(step).filter(wanted).map(double).reduce(add, 0).get()


def with_reactivex(size: int) -> object:
    # from_iterable loops; reactivex.range schedules each element anew and is slower
    return last_of(
        reactivex.from_iterable(range(size)).pipe(
            ops.map(step), ops.filter(wanted), ops.map(double), ops.reduce(add, 0)
        )
    )


def with_aiostream(size: int) -> object:
    # fed by an async generator: its own source over a range yields to the loop at every element and is slower
    xs = aio.iterate(numbers(size)) | pipe.map(step) | pipe.filter(wanted) | pipe.map(double)
    return awaited(xs | pipe.reduce(add, 0))


def with_streamable(size: int) -> object:
    return reduce(add, streamable(range(size)).map(step).filter(wanted).map(double), 0)


WORKLOAD = Workload(
    name="sync_chain",
    title="map, filter, map, sum",
    size=100_000,
    quick_size=20_000,
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
