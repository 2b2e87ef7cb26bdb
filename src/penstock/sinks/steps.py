"""steps: what sinks are made of that no operator is, under the names of the sinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.operators.reduce import Reduce
from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class Lengths(Stage[list[Any], int]):
    """A count of the elements in all batches."""

    results: ClassVar[Results] = Results.ONE
    tallies: ClassVar[bool] = True
    loop: ClassVar[Body] = Body("{total} += len(v)\nskip", state=(("total", "0"),), tail="({total},)")


@dataclass(frozen=True, slots=True)
class ForeachBatch(Stage[list[Any], int]):
    """A count of the elements in all batches, each of which a function is called with."""

    results: ClassVar[Results] = Results.ONE
    tallies: ClassVar[bool] = True
    fn: Callable[[list[Any]], object]
    loop: ClassVar[Body] = Body("{fn}(v)\n{total} += len(v)\nskip", state=(("total", "0"),), tail="({total},)")


@dataclass(frozen=True, slots=True)
class Fold(Reduce[Any, Any]):
    """A fold of all elements into one."""


__all__ = ["Fold", "ForeachBatch", "Lengths"]
