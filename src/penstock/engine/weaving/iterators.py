"""iterators: several iterators that are closed together, and what is known of how much they have left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any

from penstock.engine.weaving.segment import close_quietly
from penstock.stage import SIZED, InnerGate, LoopGate, Opener, used_up


class opened:  # noqa: N801  reads as a word: `with opened(openers, gate) as iterators:`
    """A context manager that opens a run of each; if one fails to open, those before it are closed."""

    __slots__ = ("_gate", "_inners", "_iterators", "_openers", "looked_at")

    def __init__(self, openers: Sequence[Opener[Any]], gate: LoopGate | None) -> None:
        self._openers = openers
        self._gate = gate
        self._iterators: list[Iterator[Any]] = []
        self._inners: list[object] = []
        self.looked_at = False
        """Whether the end is looked for, which must not read anything."""

    def __enter__(self) -> list[Iterator[Any]]:
        complete = False
        try:
            for opener in self._openers:
                iterator, inner = open_inner(opener, self._gate)
                self._iterators.append(iterator)
                self._inners.append(inner)
            complete = True
        finally:
            if not complete:
                self.__exit__()
        return self._iterators

    def __exit__(self, *exc: object) -> None:
        for iterator in self._iterators:
            close_quietly(iterator)

    def left(self) -> bool:
        """Tell whether any of them may have more."""
        return not all(map(_over, self._iterators, self._inners))

    def left_in_first(self) -> bool:
        """Tell whether the first of them may have more."""
        return not _over(self._iterators[0], self._inners[0])

    def left_in_all(self) -> bool:
        """Tell whether something has to be read to know whether another row of one item of each follows."""
        self.looked_at = any(map(_over, self._iterators, self._inners))
        return not self.looked_at

    def row(self) -> tuple[Any, ...] | None:
        """Return one item of each, of those that need not read for it first; None if one has no more."""
        self.looked_at = False
        over = list(map(_over, self._iterators, self._inners))
        places = sorted(range(len(over)), key=lambda place: not over[place])
        found: dict[int, Any] = {}
        for place in places:
            for item in self._iterators[place]:
                found[place] = item
                break
            else:
                return None
        return tuple([found[place] for place in range(len(places))])


def in_turns(openers: Sequence[Opener[Any]], gate: LoopGate | None) -> Iterator[Any]:
    """Iterate over one item of each, again and again, until all are exhausted."""
    inputs = opened(openers, gate)
    with inputs as iterators:
        if gate is not None:
            gate.left = inputs.left
        turns = cycle(iterators)
        for live in range(len(iterators), 0, -1):
            turns = cycle(islice(turns, live))
            # The first that is exhausted ends this `map`; the turn has passed on, so it is the one left out above.
            yield from map(next, turns)


def _over(iterator: Iterator[Any], inner: object) -> bool:
    """Tell whether an iterator is known to need no reading to find its end, or has come to it."""
    return used_up(inner) or getattr(iterator, "gi_frame", iterator) is None


def left_in(inner: object) -> bool:
    """Tell whether what `open_inner` opened may have more."""
    return not used_up(inner)


def open_through(opener: Opener[Any], gate: LoopGate | None) -> Iterator[Any]:
    """Open the one run that a source passes on element by element."""
    iterator = opener(gate)
    if gate is not None:
        gate.opened(iterator)
    return iterator


def open_inner(opener: Opener[Any], gate: LoopGate | None) -> tuple[Iterator[Any], object]:
    """Open one of several runs that a source is made of; the second of the two knows whether the first is used up."""
    inner = None if gate is None else InnerGate(gate)
    iterator = opener(inner)
    return iterator, iterator if type(iterator) in SIZED else inner
