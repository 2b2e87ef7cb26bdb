"""last: emit the last element alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.demand import UNBOUNDED
from penstock.stage import Body, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Last(Stage[T, T]):
    """Emit the last element; nothing if there is none.

    Emits when upstream completes. Backpressures never: it asks for everything and holds one element. Completes when
    upstream completes. Cancels when downstream cancels.
    """

    # None is never an element, so it can stand for "nothing yet".
    loop: ClassVar[Body] = Body(
        "{newest} = v\nskip", state=(("newest", "None"),), tail="() if {newest} is None else ({newest},)"
    )

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
