"""iterators: several iterators that are closed together, and what is known of how much they have left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any

from penstock.engine.weaving.segment import close_quietly
from penstock.stage import SIZED, InnerGate, LoopGate, Opener, used_up


class opened:  # noqa: N801  reads as a word: `with opened(openers, gate) as iterators:`
    """A context manager that opens a run of each; if one fails to open, those before it are closed."""

    __slots__ = ("_gate", "_inners", "_openers", "iterators")

    def __init__(self, openers: Sequence[Opener[Any]], gate: LoopGate | None) -> None:
        self._openers = openers
        self._gate = gate
        self.iterators: list[Iterator[Any]] = []
        self._inners: list[object] = []

    def __enter__(self) -> list[Iterator[Any]]:
        complete = False
        try:
            for opener in self._openers:
                iterator, inner = open_inner(opener, self._gate)
                self.iterators.append(iterator)
                self._inners.append(inner)
            complete = True
        finally:
            if not complete:
                self.__exit__()
        return self.iterators

    def __exit__(self, *exc: object) -> None:
        for iterator in self.iterators:
            close_quietly(iterator)

    def left(self) -> bool:
        """Tell whether any of them may have more."""
        return not all(self.over())

    def left_in_first(self) -> bool:
        """Tell whether the first of them may have more."""
        return not self.over()[0]

    def over(self) -> list[bool]:
        """Tell which of them are known to need no reading to find their end, or have come to it."""
        return list(map(_over, self.iterators, self._inners))


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
