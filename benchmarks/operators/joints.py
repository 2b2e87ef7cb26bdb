"""joints: what brings streams together or splits them, beside the peers on the same work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import add
from typing import Any

import reactivex
from reactivex import operators as ops

from benchmarks.functions import numbers, spread, step
from benchmarks.peers import DEMAND, PUSHED, aio, awaited, last_of, pipe
from benchmarks.workload import AIOSTREAM, PENSTOCK, REACTIVEX, STREAMABLE, Bound, Contender, Missing, Target, Workload
from benchmarks.workloads import merge
from benchmarks.workloads import zip as zip_
from penstock import Slow, Stream, Subscription

KEYS = 10
LANES = 4
UNBOUNDED = 2**63 - 1
NO_PUBLISHERS = Missing(STREAMABLE, "has iterables, and no publishers")


def five_times_faster_than(*peers: str) -> tuple[Target, ...]:
    return tuple(Target(at_most=0.2, against=peer) for peer in peers)


def faster_than(*peers: str) -> tuple[Target, ...]:
    return tuple(Target(at_most=1.0, against=peer) for peer in peers)


def against_peers(workload: Workload) -> Workload:
    """Return a workload of the other benchmark, held against the two peers that are asked for here."""
    return replace(
        workload,
        contenders=tuple(each for each in workload.contenders if each.name != STREAMABLE),
        missing=(*workload.missing, Missing(STREAMABLE, "is measured by `make bench`")),
        targets=(*workload.targets, *five_times_faster_than(REACTIVEX, AIOSTREAM)),
    )


# flat_map


def tens(x: int) -> Stream[int]:
    return Stream.range(x, x + 10)


def flat_map_expected(size: int) -> int:
    return sum(10 * x + 45 for x in range(size))


def flat_map_penstock(size: int) -> object:
    return Stream.range(size).flat_map(tens, concurrency=LANES).reduce(add, 0).get()


def flat_map_reactivex(size: int) -> object:
    def inner(x: int) -> reactivex.Observable[int]:
        return reactivex.from_iterable(spread(x))

    return last_of(reactivex.from_iterable(range(size)).pipe(ops.flat_map(inner), ops.reduce(add, 0)))


def flat_map_aiostream(size: int) -> object:
    spreads = pipe.flatmap(lambda x: numbers(10, x), task_limit=LANES)
    return awaited(aio.iterate(numbers(size)) | spreads | pipe.reduce(add, 0))


FLAT_MAP = Workload(
    name="flat_map",
    title="flat_map to publishers of ten, 4 at a time, sum",
    size=2_000,
    quick_size=400,
    expected=flat_map_expected,
    contenders=(
        Contender(PENSTOCK, flat_map_penstock, Bound(kept=True, why="4 publishers at a time, 32 elements of each")),
        Contender(REACTIVEX, flat_map_reactivex, PUSHED),
        Contender(AIOSTREAM, flat_map_aiostream, Bound(kept=True, why="4 tasks at a time, one element of each")),
    ),
    missing=(NO_PUBLISHERS,),
    baseline=PENSTOCK,
    targets=five_times_faster_than(REACTIVEX, AIOSTREAM),
)

# combine_latest


def combined_expected(size: int) -> tuple[int, int]:
    return size - 1, size - 1


def combined_penstock(size: int) -> object:
    return Stream.range(size).combine_latest(Stream.range(size)).last().get()


def combined_reactivex(size: int) -> object:
    # it runs the first source to its end before the second: half as many pairs, and the same last one
    first, second = (reactivex.from_iterable(range(size)) for _ in range(2))
    return last_of(reactivex.combine_latest(first, second))


def combined_aiostream(size: int) -> object:
    return tuple(awaited(aio.ziplatest(numbers(size), numbers(size), partial=False)))  # type: ignore[arg-type]


COMBINE_LATEST = Workload(
    name="combine_latest",
    title="combine_latest of 2, the last pair",
    size=5_000,
    quick_size=1_000,
    expected=combined_expected,
    contenders=(
        Contender(PENSTOCK, combined_penstock, DEMAND),
        Contender(REACTIVEX, combined_reactivex, PUSHED),
        Contender(AIOSTREAM, combined_aiostream, Bound(kept=True, why="one element of each source")),
    ),
    missing=(Missing(STREAMABLE, "has no counterpart"),),
    baseline=PENSTOCK,
    targets=faster_than(REACTIVEX, AIOSTREAM),
)

# group_by


def digit(x: int) -> int:
    return x % KEYS


def grouped_expected(size: int) -> int:
    return sum(range(size))


def grouped_penstock(size: int) -> object:
    groups = Stream.range(size).group_by(digit)
    return groups.flat_map(lambda group: group.reduce(add, 0), concurrency=KEYS).reduce(add, 0).get()


def grouped_reactivex(size: int) -> object:
    def total(group: Any) -> Any:
        return group.pipe(ops.reduce(add, 0))

    numbers_of = reactivex.from_iterable(range(size))
    return last_of(numbers_of.pipe(ops.group_by(digit), ops.flat_map(total), ops.reduce(add, 0)))


GROUP_BY = Workload(
    name="group_by",
    title="group_by of 10 keys, sum of each, sum",
    size=20_000,
    quick_size=4_000,
    expected=grouped_expected,
    contenders=(
        Contender(PENSTOCK, grouped_penstock, Bound(kept=True, why="256 elements in all groups together")),
        Contender(REACTIVEX, grouped_reactivex, PUSHED),
    ),
    missing=(Missing(AIOSTREAM, "has no counterpart"), Missing(STREAMABLE, "groups into lists, and not into streams")),
    baseline=PENSTOCK,
    targets=faster_than(REACTIVEX),
)

# share


@dataclass(slots=True)
class Total:
    """Sum what arrives; everything is asked for, but not before `begin`."""

    total: int = 0
    subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = subscription

    def begin(self) -> None:
        if self.subscription is not None:
            self.subscription.request(UNBOUNDED)

    def on_next(self, element: int, /) -> None:
        self.total += element

    def on_error(self, error: Exception, /) -> None:
        raise error

    def on_complete(self) -> None:
        pass


def shared_expected(size: int) -> tuple[int, int]:
    return (sum(range(1, size + 1)),) * 2


def shared_penstock(size: int) -> object:
    shared = Stream.range(size).map(step).share(slow=Slow.WAIT)
    totals = Total(), Total()
    for total in totals:
        shared.subscribe(total)
    for total in totals:
        total.begin()
    return tuple(total.total for total in totals)


def shared_reactivex(size: int) -> object:
    # its share would run for the first subscriber alone, since the source sends all at once; this is what it is made of
    shared = reactivex.from_iterable(range(size)).pipe(ops.map(step), ops.publish())
    totals = Total(), Total()
    for total in totals:
        shared.subscribe(total.on_next, total.on_error)
    shared.connect()  # type: ignore[attr-defined]
    return tuple(total.total for total in totals)


SHARE = Workload(
    name="share",
    title="share of one run by 2, sum of each",
    size=20_000,
    quick_size=4_000,
    expected=shared_expected,
    contenders=(
        Contender(PENSTOCK, shared_penstock, Bound(kept=True, why="256 elements for each subscriber")),
        Contender(REACTIVEX, shared_reactivex, PUSHED),
    ),
    missing=(Missing(AIOSTREAM, "has no counterpart"), Missing(STREAMABLE, "has no counterpart")),
    baseline=PENSTOCK,
    targets=faster_than(REACTIVEX),
)

WORKLOADS: tuple[Workload, ...] = (
    against_peers(merge.WORKLOAD),
    against_peers(zip_.WORKLOAD),
    FLAT_MAP,
    COMBINE_LATEST,
    GROUP_BY,
    SHARE,
)
