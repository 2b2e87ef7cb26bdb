"""of_type: let only elements of one type through.

Group: let some through
Marble: a.of_type(int) over -1-x-2-y-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.words.arguments import type_given
from penstock.stage import Body, Gives, Results, Sight, Stage

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class OfType(Stage[Any, B]):
    """Emit the elements that are instances of the type.

    Emits when an element is of that type. Backpressures when downstream does; an element that is left out is replaced
    by asking for one more. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    kind: type[B]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.EACH
    loop: ClassVar[Body] = Body("if not isinstance(v, {kind}): skip")

    def __post_init__(self) -> None:
        type_given("of_type", "kind", self.kind)
