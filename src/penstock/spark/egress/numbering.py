"""numbering: which micro-batch a row came with, and which row of it it is."""

from __future__ import annotations

from collections.abc import Sequence
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


__all__ = ["Numbered", "numbered_rows"]
