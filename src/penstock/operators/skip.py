"""skip: leave out the first elements.

Group: let some through
Marble: a.skip(2) over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Skip(Stage[T, T]):
    """Emit every element after the first `count`.

    Emits when upstream emits, from the element after `count` on. Backpressures when downstream does; an element that is
    left out is replaced by asking for one more. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    count: int
    loop: ClassVar[Body] = Body(
        "if {left}:\n    {left} -= 1\n    skip", state=(("left", "{count}"),), lacks="{left} + 1"
    )

    def __post_init__(self) -> None:
        count_given("skip", "count", self.count, 0)
