"""skip_last: leave out the last elements.

Group: let some through
Marble: a.skip_last(2) over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SkipLast(Stage[T, T]):
    """Emit every element but the last `count`.

    Emits an element when `count` others have come after it. Backpressures when downstream does; it holds `count`
    elements. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    count: int
    loop: ClassVar[Body] = Body(
        "{items}.append(v)\nif len({items}) <= {count}: skip\nv = {items}.popleft()", state=(("items", "deque()"),)
    )

    def __post_init__(self) -> None:
        count_given("skip_last", "count", self.count, 0)
