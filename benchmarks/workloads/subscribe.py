"""subscribe: what it costs to subscribe to a chain of one element and see it through."""

from __future__ import annotations

from operator import add

import reactivex
from reactivex import operators as ops
from streamable import stream as streamable

from benchmarks.functions import double, step, wanted
from benchmarks.peers import DEMAND, IN_HAND, PULLED, PUSHED, aio, awaited, pipe, raise_error
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Workload
from benchmarks.workloads.demand import AllAtOnce
from penstock import Stream

BUILT_ANEW = "penstock, built anew"


def expected(size: int) -> int:
    return 4 * size


def hand(size: int) -> int:
    total = 0
    for _ in range(size):
        for x in (1,):
            y = step(x)
            if wanted(y):
                total = add(total, double(y))
    return total


def chain() -> Stream[int]:
    return Stream.just(1).map(step).filter(wanted).map(double)


def with_penstock(size: int) -> object:
    total = 0
    once = chain()
    for _ in range(size):
        subscriber = AllAtOnce()
        once.subscribe(subscriber)
        total = add(total, subscriber.total)
    return total


def built_anew(size: int) -> object:
    total = 0
    for _ in range(size):
        subscriber = AllAtOnce()
        chain().subscribe(subscriber)
        total = add(total, subscriber.total)
    return total


def with_reactivex(size: int) -> object:
    total = 0

    def on_next(x: int) -> None:
        nonlocal total
        total = add(total, x)

    once = reactivex.just(1).pipe(ops.map(step), ops.filter(wanted), ops.map(double))
    for _ in range(size):
        once.subscribe(on_next, raise_error)
    return total


def with_aiostream(size: int) -> object:
    async def main() -> int:
        total = 0
        once = aio.just(1) | pipe.map(step) | pipe.filter(wanted) | pipe.map(double)
        for _ in range(size):
            total = add(total, await once)
        return total

    return awaited(main())


def with_streamable(size: int) -> object:
    total = 0
    once = streamable((1,)).map(step).filter(wanted).map(double)
    for _ in range(size):
        for x in once:
            total = add(total, x)
    return total


WORKLOAD = Workload(
    name="subscribe",
    title="subscribe to map, filter, map of one element",
    size=2_000,
    quick_size=500,
    expected=expected,
    contenders=(
        Contender(HAND, hand, IN_HAND),
        Contender(PENSTOCK, with_penstock, DEMAND),
        Contender(BUILT_ANEW, built_anew, DEMAND),
        Contender(STREAMABLE, with_streamable, PULLED),
        Contender(REACTIVEX, with_reactivex, PUSHED),
        Contender(AIOSTREAM, with_aiostream, PULLED),
    ),
)
