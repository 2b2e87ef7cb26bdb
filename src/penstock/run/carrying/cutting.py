"""cutting: which elements that have come to a sink can be written as one with the position behind them.

A sink that makes the position of the source durable together with its elements must take neither more nor less than
what was made of the source's elements up to there: else a restart would make something twice, or never. So elements
wait at the sink until everything that was made of those before has come, or was dropped. What was made of several
elements goes with all of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from threading import Lock
from typing import Any

from penstock.run.carrying.entrance import SourceRun
from penstock.run.carrying.marks import Carried, SourceMark


@dataclass(frozen=True, slots=True)
class Taken:
    """Elements that are written as one, and the position behind them; None where that has not moved."""

    elements: list[Carried]
    position: Any

    @property
    def values(self) -> list[Any]:
        """Return the elements as the sink knows them."""
        return [element.value for element in self.elements]


class Cut:
    """The elements that wait at a sink of one run."""

    def __init__(self) -> None:
        self._run: SourceRun | None = None
        self._lock = Lock()
        self._waiting: list[Carried] = []
        self._kept: set[Carried] = set()
        """Those of which the marks know that they wait here."""
        self._position: Any = None

    def begin(self, run: SourceRun) -> None:
        """Take the place of the source's commits: it is told by the sink, and in no other way."""
        self._run = run
        self._position = run.marks.reached
        run.cede()
        run.marks.moves = self._moves

    @property
    def reader(self) -> Any:
        """Return the connection of the source that is told what is done; there is one when an element has come."""
        assert self._run is not None
        return self._run.reader()

    def add(self, elements: list[Carried]) -> None:
        """Take elements that have come."""
        with self._lock:
            self._waiting += elements

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> Taken | None:
        """Return what can be written as one now, None if there is nothing; `done` or a failure of the run follows."""
        assert self._run is not None
        book = self._run.marks
        with self._lock:
            position, chosen, rest = self._parted()
            self._waiting = rest
            kept = [element for element in rest if element.marks and element not in self._kept]
            going = [element for element in chosen if element in self._kept]
            self._kept.update(kept)
            self._kept.difference_update(going)
        for element in going:
            for mark in element.marks:
                book.unhold(mark)
        for element in kept:
            for mark in element.marks:
                book.hold(mark, "the sink")
        return Taken(chosen, position) if chosen or position is not None else None

    def done(self, taken: Taken) -> None:
        """Say that what was taken is written."""
        if taken.position is not None:
            self._position = taken.position
        Carried(None, tuple([mark for element in taken.elements for mark in element.marks])).done()

    def _parted(self) -> tuple[Any, list[Carried], list[Carried]]:
        """Return the position behind what can be written, if it is another one, those elements, and the others."""
        assert self._run is not None
        here = Counter([mark for element in self._waiting for mark in element.marks])
        marks, reached = self._run.marks.under_way()
        whole: dict[SourceMark, int] = {}
        for mark in marks:
            if mark.left > here[mark]:
                break  # something that was made of it is still under way
            whole[mark] = len(whole)
        count = _untorn(whole, self._waiting)
        chosen: list[Carried] = []
        rest: list[Carried] = []
        for element in self._waiting:
            inside = all(whole.get(mark, count) < count for mark in element.marks)
            (chosen if inside else rest).append(element)
        position = marks[count - 1].position if count else reached
        return (None if position == self._position else position), chosen, rest

    def _moves(self) -> bool:
        """Tell whether something could be written that has not been taken yet."""
        with self._lock:
            return bool(self._parted()[1])


def _untorn(whole: dict[SourceMark, int], waiting: list[Carried]) -> int:
    """Return how many of the marks, from the first on, are in no element together with one that is not among them."""
    count = len(whole)
    joint = [[whole.get(mark, count) for mark in element.marks] for element in waiting if len(element.marks) > 1]
    while True:
        torn = [min(places) for places in joint if min(places) < count <= max(places)]
        if not torn:
            return count
        count = min(torn)


__all__ = ["Cut", "Taken"]
