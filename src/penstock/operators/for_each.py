"""for_each: call a function with each element and say how many there were.

Group: collect
Marble: a.for_each(seen.append) over -1-2-3-4-|
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
class ForEach(Stage[T, int]):
    """Emit one element: the number of elements that the function was called with, one after the other.

    Emits when upstream completes; fails if the function raises. Backpressures never: it asks for everything, as fast as
    the function returns, and holds a number. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    fn: Callable[[T], object]
    loop: ClassVar[Body] = Body("{fn}(v)\n{total} += 1\nskip", state=(("total", "0"),), tail="({total},)")

    def __post_init__(self) -> None:
        function_given("for_each", "fn", self.fn)

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
