"""contains: say whether an element is among those of the stream.

Group: ask one thing of all
Marble: a.contains(3) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.words.arguments import elements_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class Contains(Stage[Any, bool]):
    """Emit one element: whether one of the elements equals the given one.

    Emits when one does, or upstream completes. Backpressures never: it asks for everything and holds nothing. Completes
    with its element. Cancels when downstream cancels, and upstream as soon as the answer is known.
    """

    results: ClassVar[Results] = Results.ONE
    element: object
    loop: ClassVar[Body] = Body(
        "if not v == {element}: skip\n{known} = v = True",
        state=(("known", "False"),),
        ends="{known}",
        tail="() if {known} else (False,)",
    )

    def __post_init__(self) -> None:
        elements_given("contains", self.element)

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED


@dataclass(frozen=True, slots=True)
class EqualTo:
    """The test whether an element equals the one that is looked for, by a function; a value, unlike a partial call."""

    equal: Callable[[Any, Any], object]
    element: object

    def __call__(self, other: object, /) -> object:
        return self.equal(other, self.element)
