"""signals: elements that are handed over one by one, beside reactivex; take behind a boundary, beside take_while."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import reactivex
from reactivex import operators as ops
from reactivex.subject import Subject as Pushed

from benchmarks.functions import product, step
from benchmarks.operators.joints import Total, faster_than
from benchmarks.operators.synchronous import always, last_of
from benchmarks.peers import DEMAND, PUSHED
from benchmarks.workload import (
    AIOSTREAM,
    PEERS,
    PENSTOCK,
    REACTIVEX,
    STREAMABLE,
    Bound,
    Contender,
    Missing,
    Target,
    Workload,
)
from penstock import Stream, Subject, thread

SIZE = 20_000
QUICK_SIZE = 4_000
TAKE_WHILE = "penstock, take_while"
WINDOW = Bound(kept=True, why="256 elements for each subscriber")
NO_SUBJECT = "has nothing that elements are handed to"

Totals = tuple[int, ...]


def of_penstock(streams: Iterable[Stream[int]]) -> list[Total]:
    """Subscribe one that sums to each stream, and ask for everything."""
    totals = []
    for stream in streams:
        total = Total()
        stream.subscribe(total)
        total.begin()
        totals.append(total)
    return totals


def of_reactivex(streams: Iterable[Any]) -> list[Total]:
    """Subscribe one that sums to each stream of reactivex."""
    totals = []
    for stream in streams:
        total = Total()
        stream.subscribe(total.on_next, total.on_error)
        totals.append(total)
    return totals


def two_fed(size: int, left: Callable[[int], object], right: Callable[[int], object]) -> None:
    """Hand numbers to two sources in turn."""
    for x in range(size):
        left(x)
        right(x + size)


# subject


def subject_to(count: int) -> Workload:
    """Return what measures a subject of so many subscribers, each behind a map."""

    def with_penstock(size: int) -> Totals:
        subject: Subject[int] = Stream.subject()
        totals = of_penstock(subject.map(step) for _ in range(count))
        for x in range(size):
            subject.emit(x)
        subject.complete()
        return tuple(each.total for each in totals)

    def with_reactivex(size: int) -> Totals:
        subject: Pushed[int] = Pushed()
        totals = of_reactivex(subject.pipe(ops.map(step)) for _ in range(count))
        for x in range(size):
            subject.on_next(x)
        subject.on_completed()
        return tuple(each.total for each in totals)

    return against_reactivex(
        f"subject to {count}",
        f"subject to {count}, map and sum of each",
        lambda size: (sum(range(1, size + 1)),) * count,
        with_penstock,
        with_reactivex,
    )


# merge, zip and share


def merged_expected(size: int) -> Totals:
    return (sum(range(2 * size)),)


def merged_penstock(size: int) -> Totals:
    left, right = subjects()
    (total,) = of_penstock([left.merge(right)])
    two_fed(size, left.emit, right.emit)
    return (total.total,)


def merged_reactivex(size: int) -> Totals:
    left, right = Pushed[int](), Pushed[int]()
    (total,) = of_reactivex([reactivex.merge(left, right)])
    two_fed(size, left.on_next, right.on_next)
    return (total.total,)


def zipped_expected(size: int) -> Totals:
    return (sum(x * (x + size) for x in range(size)),)


def zipped_penstock(size: int) -> Totals:
    left, right = subjects()
    (total,) = of_penstock([left.zip(right).map(product)])
    two_fed(size, left.emit, right.emit)
    return (total.total,)


def zipped_reactivex(size: int) -> Totals:
    left, right = Pushed[int](), Pushed[int]()
    (total,) = of_reactivex([reactivex.zip(left, right).pipe(ops.map(product))])
    two_fed(size, left.on_next, right.on_next)
    return (total.total,)


def shared_expected(size: int) -> Totals:
    return (sum(range(1, size + 1)),) * 2


def shared_penstock(size: int) -> Totals:
    subject: Subject[int] = Stream.subject()
    totals = of_penstock([subject.map(step).share()] * 2)
    for x in range(size):
        subject.emit(x)
    return tuple(each.total for each in totals)


def shared_reactivex(size: int) -> Totals:
    subject: Pushed[int] = Pushed()
    totals = of_reactivex([subject.pipe(ops.map(step), ops.share())] * 2)
    for x in range(size):
        subject.on_next(x)
    return tuple(each.total for each in totals)


def subjects() -> tuple[Subject[int], Subject[int]]:
    return Stream.subject(), Stream.subject()


def against_reactivex(
    name: str,
    title: str,
    expected: Callable[[int], Totals],
    with_penstock: Callable[[int], Totals],
    with_reactivex: Callable[[int], Totals],
) -> Workload:
    """Return what measures penstock against the one peer that elements can be handed to."""
    return Workload(
        name=name,
        title=title,
        size=SIZE,
        quick_size=QUICK_SIZE,
        expected=expected,
        contenders=(Contender(PENSTOCK, with_penstock, WINDOW), Contender(REACTIVEX, with_reactivex, PUSHED)),
        missing=tuple(Missing(peer, NO_SUBJECT) for peer in (AIOSTREAM, STREAMABLE)),
        baseline=PENSTOCK,
        targets=faster_than(REACTIVEX),
    )


# take


def behind_a_boundary(size: int) -> Stream[int]:
    return Stream.range(size).publish_on(thread())


TAKE = Workload(
    name="take behind a boundary",
    title="take behind a thread boundary, against take_while",
    size=SIZE,
    quick_size=QUICK_SIZE,
    expected=lambda size: size - 1,
    contenders=(
        Contender(TAKE_WHILE, lambda size: last_of(behind_a_boundary(size).take_while(always)), DEMAND),
        Contender(PENSTOCK, lambda size: last_of(behind_a_boundary(size).take(size)), DEMAND),
    ),
    missing=tuple(Missing(peer, "is measured at the boundary itself") for peer in PEERS),
    baseline=TAKE_WHILE,
    targets=(Target(at_most=1.1, against=TAKE_WHILE),),
)

WORKLOADS: tuple[Workload, ...] = (
    subject_to(1),
    subject_to(3),
    against_reactivex(
        "merge of subjects", "merge of 2 subjects, sum", merged_expected, merged_penstock, merged_reactivex
    ),
    against_reactivex(
        "zip of subjects", "zip of 2 subjects, multiply, sum", zipped_expected, zipped_penstock, zipped_reactivex
    ),
    against_reactivex(
        "share of a subject", "share of a subject by 2, sum of each", shared_expected, shared_penstock, shared_reactivex
    ),
    TAKE,
)
