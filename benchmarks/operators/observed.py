"""observed: what a listener costs that sees every step, also behind joints."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

from benchmarks.functions import double, product, step, wanted
from benchmarks.operators.joints import KEYS, LANES, digit, tens
from benchmarks.peers import DEMAND
from benchmarks.workload import PEERS, PENSTOCK, Contender, Missing, Target, Workload
from benchmarks.workloads.observed import NO_LISTENER, UNSEEN
from penstock import Recorder, Stream, observe, thread

AT_MOST = 1.1
SIZE = 50_000
QUICK_SIZE = 10_000


def total(stream: Stream[int]) -> object:
    return stream.map(step).filter(wanted).map(double).reduce(add, 0).get()


def behind_nothing(size: int) -> object:
    return total(Stream.range(size))


def behind_do_finally(size: int) -> object:
    return total(Stream.range(size).do_finally(bool))


def behind_flat_map(size: int) -> object:
    return total(Stream.range(size // 10).flat_map(tens, concurrency=LANES))


def behind_group_by(size: int) -> object:
    groups = Stream.range(size).group_by(digit)
    return groups.flat_map(lambda group: group.reduce(add, 0), concurrency=KEYS).reduce(add, 0).get()


def behind_merge(size: int) -> object:
    return total(Stream.range(size).merge(Stream.range(size)))


def behind_publish_on(size: int) -> object:
    return total(Stream.range(size).publish_on(thread()))


def behind_share(size: int) -> object:
    return total(Stream.range(size).share())


def behind_zip(size: int) -> object:
    return Stream.range(size).zip(Stream.range(size)).map(product).reduce(add, 0).get()


def seen(run: Callable[[int], object]) -> Callable[[int], object]:
    """Return the same with a listener."""

    def run_seen(size: int) -> object:
        with observe(Recorder()):
            return run(size)

    return run_seen


def workload_of(run: Callable[[int], Any]) -> Workload:
    """Return what measures a chain with a listener against the same without."""
    place = run.__name__.removeprefix("behind_")
    return Workload(
        name=f"observed behind {place}",
        title=f"a listener behind {place}, against none",
        size=SIZE,
        quick_size=QUICK_SIZE,
        expected=run,
        contenders=(Contender(UNSEEN, run, DEMAND), Contender(PENSTOCK, seen(run), DEMAND)),
        missing=tuple(Missing(peer, NO_LISTENER) for peer in PEERS),
        baseline=UNSEEN,
        targets=(Target(at_most=AT_MOST, against=UNSEEN),),
    )


WORKLOADS = tuple(
    map(
        workload_of,
        (
            behind_nothing,
            behind_do_finally,
            behind_flat_map,
            behind_group_by,
            behind_merge,
            behind_publish_on,
            behind_share,
            behind_zip,
        ),
    )
)
