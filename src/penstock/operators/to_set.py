"""to_set: collect all elements into one set.

Group: collect
Marble: a.to_set() over -1-2-1-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToSet(Stage[T, set[T]]):
    """Emit one element: the set of all elements.

    Emits when upstream completes. Backpressures never: it asks for everything and holds each distinct element.
    Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    loop: ClassVar[Body] = Body("{items}.add(v)\nskip", state=(("items", "set()"),), tail="({items},)")

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
