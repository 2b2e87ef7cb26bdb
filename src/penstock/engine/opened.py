"""opened: several iterators that are closed together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.engine.segment import close_quietly
from penstock.stage import Gate, Opener


class opened:  # noqa: N801  reads as a word: `with opened(openers, gate) as iterators:`
    """Open a run of each for the time of a block; if one fails to open, those before it are closed."""

    __slots__ = ("_gate", "_iterators", "_openers")

    def __init__(self, openers: Sequence[Opener[Any]], gate: Gate | None) -> None:
        self._openers = openers
        self._gate = gate
        self._iterators: list[Iterator[Any]] = []

    def __enter__(self) -> list[Iterator[Any]]:
        complete = False
        try:
            for opener in self._openers:
                self._iterators.append(opener(self._gate))
            complete = True
        finally:
            if not complete:
                self.__exit__()
        return self._iterators

    def __exit__(self, *exc: object) -> None:
        for iterator in self._iterators:
            close_quietly(iterator)
