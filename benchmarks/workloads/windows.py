"""windows: count windows of 100, each digested, then a sum."""

from __future__ import annotations

from functools import reduce
from operator import add

import reactivex
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import digest, numbers
from benchmarks.peers import DEMAND, PUSHED, aio, awaited, last_of, pipe
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Bound, Contender, Target, Workload
from penstock import Stream

COUNT = 100
ONE_WINDOW = Bound(kept=True, why="holds the one window it fills")


def expected(size: int) -> int:
    return sum(digest(range(start, min(start + COUNT, size))) for start in range(0, size, COUNT))


def hand(size: int) -> int:
    total = 0
    window: list[int] = []
    for x in range(size):
        window.append(x)
        if len(window) == COUNT:
            total = add(total, digest(window))
            window = []
    if window:
        total = add(total, digest(window))
    return total


def with_penstock(size: int) -> object:
    return Stream.range(size).buffer(COUNT).map(digest).reduce(add, 0).get()


def with_reactivex(size: int) -> object:
    return last_of(
        reactivex.from_iterable(range(size)).pipe(ops.buffer_with_count(COUNT), ops.map(digest), ops.reduce(add, 0))
    )


def with_aiostream(size: int) -> object:
    return awaited(aio.iterate(numbers(size)) | pipe.chunks(COUNT) | pipe.map(digest) | pipe.reduce(add, 0))


def with_streamable(size: int) -> object:
    return reduce(add, streamable(range(size)).group(COUNT).map(digest), 0)


WORKLOAD = Workload(
    name="windows",
    title="windows of 100, digest, sum",
    size=100_050,  # the last window is not full
    quick_size=20_050,
    expected=expected,
    contenders=(
        Contender(HAND, hand, ONE_WINDOW),
        Contender(PENSTOCK, with_penstock, DEMAND),
        Contender(STREAMABLE, with_streamable, ONE_WINDOW),
        Contender(REACTIVEX, with_reactivex, PUSHED),
        Contender(AIOSTREAM, with_aiostream, ONE_WINDOW),
    ),
    targets=(Target(at_most=1.5),),
)
