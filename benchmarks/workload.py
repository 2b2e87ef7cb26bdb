"""workload: what is measured, by whom, and what it has to reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

PENSTOCK = "penstock"
HAND = "hand-written"
REACTIVEX = "reactivex"
AIOSTREAM = "aiostream"
STREAMABLE = "streamable"
PEERS = (REACTIVEX, AIOSTREAM, STREAMABLE)


class Measure(Enum):
    """Name what is read from a sample."""

    WALL = "wall time"
    CPU = "CPU time"


@dataclass(frozen=True, slots=True)
class Bound:
    """Say whether a contender holds a bounded number of elements, and why."""

    kept: bool
    why: str


@dataclass(frozen=True, slots=True)
class Contender:
    """Run the work once for a size and return what it computed."""

    name: str
    run: Callable[[int], object]
    bound: Bound


@dataclass(frozen=True, slots=True)
class Missing:
    """Name a peer that does not offer the work, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Target:
    """Ask that one contender needs at most so many times what another (or the ideal) needs."""

    at_most: float
    contender: str = PENSTOCK
    against: str = HAND
    measure: Measure = Measure.WALL
    ideal: Callable[[int], float] | None = None
    rate: bool = False
    """Whether it is said as a rate: at most half the time is at least twice the rate."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Hold what a check saw."""

    passed: bool
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """Look at something that is not a time."""

    name: str
    run: Callable[[], Finding]


@dataclass(frozen=True, slots=True)
class Workload:
    """Describe one piece of work that every contender does with the same functions."""

    name: str
    title: str
    size: int
    quick_size: int
    expected: Callable[[int], object]
    contenders: tuple[Contender, ...]
    missing: tuple[Missing, ...] = ()
    baseline: str = HAND
    targets: tuple[Target, ...] = ()
    checks: tuple[Check, ...] = ()

    def contender(self, name: str) -> Contender:
        """Find a contender by name."""
        return next(each for each in self.contenders if each.name == name)

    def bounded_peers(self) -> tuple[str, ...]:
        """Name the peers here that keep a bound: the ones penstock has to beat."""
        return tuple(each.name for each in self.contenders if each.name in PEERS and each.bound.kept)
