"""batches: what the sink that takes many elements at a time is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class Lengths(Stage[list[Any], int]):
    """A count of the elements in all batches."""

    results: ClassVar[Results] = Results.ONE
    tallies: ClassVar[bool] = True
    loop: ClassVar[Body] = Body("{total} += len(v)\nskip", state=(("total", "0"),), tail="({total},)")


@dataclass(frozen=True, slots=True)
class Worked:
    """A function that gives a batch when the work on it is done."""

    fn: Callable[[list[Any]], Any]

    async def __call__(self, batch: list[Any]) -> list[Any]:
        await self.fn(batch)
        return batch


__all__ = ["Lengths", "Worked"]
