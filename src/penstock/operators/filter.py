"""filter: let only some elements through.

Group: let some through
Marble: a.filter(lambda n: n % 2) over -1-2-3-4-5|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.stage import Body, Gives, Results, Sight, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Filter(Stage[T, T]):
    """Emit the elements for which the predicate is true.

    Emits when the predicate is true for an element. Backpressures when downstream does; an element that is rejected is
    replaced by asking for one more. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    predicate: Callable[[T], object]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.EACH
    loop: ClassVar[Body] = Body("if not {predicate}(v): skip")

    def __post_init__(self) -> None:
        function_given("filter", "predicate", self.predicate)
