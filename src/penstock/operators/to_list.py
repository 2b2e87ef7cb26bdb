"""to_list: collect all elements into one list.

Group: collect
Marble: a.to_list() over -1-2-3-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToList(Stage[T, list[T]]):
    """Emit one element: the list of all elements.

    Emits when upstream completes. Backpressures never: it asks for everything and holds it. Completes when upstream
    completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    loop: ClassVar[Body] = Body("{items}.append(v)\nskip", state=(("items", "[]"),), tail="({items},)")

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
