"""pull_chain: a million values through the modules of pull-stream, against the same chain of generators."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from benchmarks.functions import step, wanted
from benchmarks.workload import (
    AIOSTREAM,
    HAND,
    PENSTOCK,
    REACTIVEX,
    STREAMABLE,
    Bound,
    Check,
    Contender,
    Finding,
    Missing,
    Target,
    Workload,
)
from penstock import pull

GENERATORS = Bound(kept=True, why="each generator holds the one value it works on")
ASKED = Bound(kept=True, why="holds no more than was asked for, one value")
FRAMES = 60


def expected(size: int) -> int:
    return sum(x + 1 for x in range(size) if (x + 1) % 3)


def values(items: Iterable[int]) -> Iterator[int]:
    yield from items


def mapped(items: Iterable[int]) -> Iterator[int]:
    for item in items:
        yield step(item)


def filtered(items: Iterable[int]) -> Iterator[int]:
    for item in items:
        if wanted(item):
            yield item


def taken(items: Iterable[int], count: int) -> Iterator[int]:
    for item in items:
        yield item
        count -= 1
        if not count:
            return


class Total:
    """Add up."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, value: int) -> None:
        self.total += value


def hand(size: int) -> int:
    total = Total()
    for item in taken(filtered(mapped(values(range(size)))), size):
        total.add(item)
    return total.total


def with_penstock(size: int) -> int:
    total = Total()
    pull.pull(pull.values(range(size)), pull.map(step), pull.filter(wanted), pull.take(size), pull.drain(total.add))
    return total.total


def stack_stays() -> Finding:
    """Look at the depth of the stack as values pass, looped over and asked for one by one."""

    def depth(_: object = None) -> None:
        nonlocal deepest
        frame, count = sys._getframe(), 0
        while frame.f_back is not None:
            frame, count = frame.f_back, count + 1
        deepest = max(deepest, count)

    deepest = 0
    depth()
    first, size = deepest, 20_000
    for between in (pull.through(), pull.probe([])):
        modules = (pull.map(step), between, pull.filter(wanted), pull.take(size))
        pull.pull(pull.values(range(size)), *modules, pull.drain(depth))
    grown = deepest - first
    return Finding(passed=grown <= FRAMES, text=f"{grown} frames for {size:,} values")


OTHER = "it does not speak pull-stream"

WORKLOAD = Workload(
    name="pull_chain",
    title="pull-stream: values, map, filter, take, drain, against generators",
    size=1_000_000,
    quick_size=100_000,
    expected=expected,
    contenders=(Contender(HAND, hand, GENERATORS), Contender(PENSTOCK, with_penstock, ASKED)),
    missing=(Missing(REACTIVEX, OTHER), Missing(AIOSTREAM, OTHER), Missing(STREAMABLE, OTHER)),
    targets=(Target(at_most=1.5),),
    checks=(Check("the stack does not grow with the values", stack_stays),),
)
