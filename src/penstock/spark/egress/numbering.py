"""numbering: which micro-batch a row came with, and which row of it it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Numbered(Generic[T_co]):
    """A row that comes back from Spark, with its place: the micro-batch and its number there, both from 0 on.

    A micro-batch that was not delivered whole comes again after a failure or a restart, with the same number and the
    same rows, from the first on; their order in it is the same unless Spark has shuffled them. `last` marks its last
    row, behind which it counts as delivered.
    """

    batch: int
    number: int
    last: bool
    row: T_co


def numbered_rows(rows: Sequence[Any], batch: int, first: int, *, ends: bool) -> list[Numbered[Any]]:
    """Give rows their places, from number `first` on; the micro-batch ends with the last of them, or goes on."""
    last = first + len(rows) - 1 if ends else -1
    return [Numbered(batch, number, number == last, row) for number, row in enumerate(rows, first)]


class NumberedByEnd:
    """The places of rows of one micro-batch that several ends share; rows come in pairs with the number of their end.

    Each of the `ends` that want them has its own count. Its last row is known when all have come, so one row of each is
    held back.
    """

    def __init__(self, batch: int, ends: Set[int]) -> None:
        self._batch = batch
        self._ends = ends
        self._given: dict[int, int] = {}
        self._held: dict[int, Any] = {}

    def rows(self, pairs: Iterable[tuple[int, Any]], *, ends: bool) -> list[tuple[int, Any]]:
        """Give rows their places, as far as they are known; `ends` tells that these are the last."""
        found: list[tuple[int, Any]] = []
        for end, row in pairs:
            if end not in self._ends:
                found.append((end, row))
                continue
            if end in self._held:
                found.append((end, self._placed(end, last=False)))
            self._held[end] = row
        if ends:
            found.extend((end, self._placed(end, last=True)) for end in list(self._held))
        return found

    def _placed(self, end: int, *, last: bool) -> Numbered[Any]:
        number = self._given.get(end, 0)
        self._given[end] = number + 1
        return Numbered(self._batch, number, last, self._held.pop(end))


__all__ = ["Numbered", "NumberedByEnd", "numbered_rows"]
