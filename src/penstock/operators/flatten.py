"""flatten: emit the items of each element.

Group: change each element
Marble: a.map(lambda n: [n] * n).flatten() over -1--2--3-|
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Gives, Sight, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Flatten(Stage[Iterable[T], T]):
    """Emit the items of each element, one element after the other.

    Emits when the current element has another item. Backpressures when downstream does, in the middle of an element if
    need be. Completes when upstream has completed and its last element is used up. Cancels when downstream cancels,
    closing the current element.
    """

    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.EACH
    loop: ClassVar[Body] = Body(each="v")

    def demand(self, n: int) -> int:
        """Ask for one element at a time, since one may hold many items."""
        return n if n == UNBOUNDED else 1
