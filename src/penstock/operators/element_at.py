"""element_at: emit the element at one place alone.

Group: collect
Marble: a.element_at(2) over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from penstock.engine.words.arguments import Missing, count_given, elements_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ElementAt(Stage[T, T]):
    """Emit the element at `index`, counted from 0; if there is none, the default, or nothing without one.

    Emits when that element comes, or the default when upstream completes before. Backpressures when downstream does;
    it asks for no element after that one. Completes with its element, or when upstream completes before. Cancels when
    downstream cancels, and upstream once it has its element.
    """

    results: ClassVar[Results] = Results.ONE
    index: int
    default: T | Literal[Missing.MISSING] = Missing.MISSING
    loop: ClassVar[Body] = Body(
        "if {left}:\n    {left} -= 1\n    skip\n{found} = True",
        state=(("left", "{index}"), ("found", "False")),
        ends="{found}",
        room="{left} + 1",
        tail="() if {found} else {otherwise}",
    )

    def __post_init__(self) -> None:
        count_given("element_at", "index", self.index, 0)
        elements_given("element_at", self.default)

    @property
    def otherwise(self) -> tuple[object, ...]:
        """Return what to emit if there is no such element."""
        return () if self.default is Missing.MISSING else (self.default,)

    def demand(self, n: int) -> int:
        """Ask for that element and those before it."""
        return self.cap

    @property
    def cap(self) -> int:
        """Return the place of the element, counted from one."""
        return self.index + 1
