"""part: what is explored: a part, how it is built, the states in which its calls overlap, and what may differ.

A part is built of feeds (publishers driven by hand), of takers (subscribers that look at everything) and of the thing
itself. A feed brings the calls `a.next`, `a.complete`, `a.error` and `a.fails` (an element, then an error), which never
overlap each other; a taker brings `down.ask`, `down.all`, `down.cancel` and `down.bad` (an illegal request), which may
overlap anything. Where a taker subscribes late, `subscribe` is a call like the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.explore.bench import Bench

State = tuple[str, ...]
FRESH: State = ()
ASKED: State = ("down.ask",)
OPEN: State = ("down.all",)
FULL: State = ("a.next", "a.next")
BOTH: State = ("a.next", "b.next")
USED: State = ("down.ask", "down.ask", "a.next")


@dataclass(frozen=True, slots=True)
class Part:
    """Name a part, how it is built, and the states in which its calls overlap."""

    name: str
    build: Callable[[Bench], object]
    states: tuple[State, ...]
    loose: bool = False
    """Whether what comes out depends on the moment by design, so that orders of calls say how it may end, no more."""
    late: bool = True
    """Whether `subscribe` is tried as a call."""
    ends: tuple[str, ...] = ()
    """Ends that are right when calls overlap and only then."""
    even: bool = False
    """Whether the feeds `a` and `b` are alike, so that one of two pairs says what both do."""


PARTS: dict[str, Part] = {}


def part(
    *states: State, loose: bool = False, late: bool = True, ends: tuple[str, ...] = (), even: bool = False
) -> Callable[[Callable[[Bench], object]], Callable[[Bench], object]]:
    """Add a part to the table."""

    def add(build: Callable[[Bench], object]) -> Callable[[Bench], object]:
        name = build.__name__.strip("_")
        PARTS[name] = Part(name, build, states, loose, late, ends, even)
        return build

    return add
