"""cast: make sure that every element is of one type.

Group: change each element
Marble: a.cast(int) over -1-2-x-3-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.weaving.blame import function_name
from penstock.engine.words.arguments import type_given
from penstock.stage import Body, Gives, Sight, Stage

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Cast(Stage[Any, B]):
    """Emit every element as it is, and fail at the first that is not an instance of the type.

    Emits when upstream emits; fails with TypeError at an element of another type. Backpressures when downstream does.
    Completes when upstream completes. Cancels when downstream cancels, and upstream when it fails.
    """

    kind: type[B]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body("if not isinstance(v, {kind}): raise {refused}(v)")

    def __post_init__(self) -> None:
        type_given("cast", "kind", self.kind)

    def refused(self, element: object) -> TypeError:
        """Return the error for an element of another type."""
        wanted = function_name(self.kind) if isinstance(self.kind, type) else str(self.kind)
        return TypeError(
            f"cast: each element must be of type {wanted}, got {element!r} of type {function_name(type(element))}"
        )
