"""single: emit the only element, and make sure that it is.

Group: collect
Marble: a.single() over -1---2--|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from penstock.engine.words.arguments import Missing, elements_given
from penstock.errors import EmptyError
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Single(Stage[T, T]):
    """Emit the only element; fail if there are more, and if there is none unless there is a default.

    Emits when upstream completes; fails with ValueError when a second element comes, and with EmptyError when upstream
    completes without any. Backpressures when downstream does; it asks for two elements at the most and holds one.
    Completes when upstream completes. Cancels when downstream cancels, and upstream when a second element has come.
    """

    results: ClassVar[Results] = Results.ONE
    default: T | Literal[Missing.MISSING] = Missing.MISSING
    # None is never an element, so it can stand for "nothing yet".
    loop: ClassVar[Body] = Body(
        "if {found} is not None: raise {refused}({found}, v)\n{found} = v\nskip",
        state=(("found", "None"),),
        tail="{otherwise}() if {found} is None else ({found},)",
    )

    def __post_init__(self) -> None:
        elements_given("single", self.default)

    def otherwise(self) -> tuple[object, ...]:
        """Return what to emit if there is no element, or fail."""
        if self.default is Missing.MISSING:
            raise EmptyError("single: the stream completed without an element")
        return (self.default,)

    def refused(self, first: T, second: T) -> ValueError:
        """Return the error for a second element."""
        return ValueError(f"single: the stream must have one element, got {first!r} and then {second!r}")

    def demand(self, n: int) -> int:
        """Ask for a second element too, since only then it is known."""
        return 2

    @property
    def cap(self) -> int:
        """Return two."""
        return 2
