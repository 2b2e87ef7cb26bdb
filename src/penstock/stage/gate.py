"""gate: what stands between one run and the loops it is made of.

A run may look for its end without a request only where no element has to be read to find it. Everybody who knows
something about that says so at the gate: the source (`left`), and each loop, whose `LoopPlace` holds the iterators it
is in the middle of and whether it reads upstream no more (`done`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

# Iterators that know how many items they have left, exactly and without running a user's code.
SIZED: frozenset[type] = frozenset(
    map(type, (iter([]), iter(()), iter(range(0)), iter(""), iter(b""), iter({}), iter(set()), iter(deque())))
)


class LeftLoop(BaseException):
    """What a loop raises that sees at its gate that the run is over.

    The loops around it are left by it, too: to return would tell them that this one has come to its end.
    """


def _nothing() -> int:
    return 0


class LoopGate:
    """What a run says to its loops: stop (`over`), no demand (`rested`); and what they know of what is left to read."""

    __slots__ = ("_places", "leave", "left", "over", "rested", "stands")

    def __init__(self) -> None:
        self.over = False
        self.rested = False
        self.left: Callable[[], object] | None = None
        """Tells whether the source has more, where that is known; it reads nothing and runs no code of a user."""
        self.leave: Callable[[], object] = _nothing
        """What to call when a loop that is fed by signals reads nothing more of them."""
        self.stands: list[tuple[int, Callable[[], dict[int, int]]]] = []
        """What tells, for each loop that is fed by signals, how its stages stand, and the number of its first stage."""
        self._places: list[LoopPlace] = []

    def place(self, loops: int) -> LoopPlace:
        """Return what a loop says where it is with; the last loop of a run is opened first."""
        place = LoopPlace(loops)
        self._places.append(place)
        return place

    def opened(self, source: object) -> None:
        """Be told of the iterator that is read."""
        if type(source) in SIZED:
            self.left = source.__length_hint__  # type: ignore[attr-defined]

    def finish(self) -> None:
        """Be told by the source that nothing follows the next element."""
        self.left = _nothing

    def let_go(self) -> None:
        """Forget what is read (rule 3.13)."""
        self.left, self.leave = None, _nothing
        self._places, self.stands = [], []

    def spent(self) -> bool:
        """Tell whether it is known that no element has to be read to find the end."""
        for place in self._places:
            for inner in place.inners:
                if not used_up(inner):
                    return False
            if place.done:
                return True
        return self.left is not None and not self.left()


class InnerGate(LoopGate):
    """The gate of a loop inside another run: it is over when that run is, and has its own count of what is left."""

    __slots__ = ("_outer",)

    def __init__(self, outer: LoopGate) -> None:
        self._outer = outer
        self.left, self.leave = None, _nothing
        self._places = []
        self.rested = True  # demand of that run is not demand for the elements of this loop

    @property
    def over(self) -> bool:  # type: ignore[override]
        """Tell whether the run is over."""
        return self._outer.over


class LoopPlace:
    """The place where one loop is: in the middle of which iterators, and whether it reads upstream no more."""

    __slots__ = ("done", "inners")

    def __init__(self, loops: int) -> None:
        self.done = False
        self.inners: list[Any] = [None] * loops

    def finished(self) -> None:
        """Be told that upstream is read no more, and that no inner loop is entered again by it."""
        self.done = True
        self.inners = [None] * len(self.inners)


def used_up(inner: Any) -> bool:
    """Tell whether an iterator, or the gate of a stream that is iterated, is known to have nothing left."""
    if inner is None:
        return True
    if isinstance(inner, LoopGate):
        return inner.spent()
    return type(inner) in SIZED and not inner.__length_hint__()
