"""any: say whether any element satisfies a predicate.

Group: ask one thing of all
Marble: a.any(lambda n: n > 2) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Any(Stage[T, bool]):
    """Emit one element: whether the predicate is true for any of the elements; False if there is none.

    Emits when it is true for one, or upstream completes. Backpressures never: it asks for everything and holds nothing.
    Completes with its element. Cancels when downstream cancels, and upstream as soon as the answer is known.
    """

    results: ClassVar[Results] = Results.ONE
    predicate: Callable[[T], object]
    loop: ClassVar[Body] = Body(
        "if not {predicate}(v): skip\n{known} = True\nv = True",
        state=(("known", "False"),),
        ends="{known}",
        tail="() if {known} else (False,)",
    )

    def __post_init__(self) -> None:
        function_given("any", "predicate", self.predicate)

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
