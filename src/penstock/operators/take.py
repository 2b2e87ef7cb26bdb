"""take: let the first elements through, then complete.

Group: let some through
Marble: a.take(2) over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Take(Stage[T, T]):
    """Emit the first `count` elements and ask upstream for no more than these.

    Emits when upstream emits. Backpressures when downstream does. Completes with the last of the `count` elements, or
    when upstream completes before. Cancels when downstream cancels, and upstream once it has had `count` elements.
    """

    count: int
    loop: ClassVar[Body] = Body("{left} -= 1", state=(("left", "{count}"),), ends="{left} == 0", room="{left}")

    def __post_init__(self) -> None:
        count_given("take", "count", self.count, 0)

    def demand(self, n: int) -> int:
        """Ask for `count` elements at the most."""
        return min(n, self.count)

    @property
    def cap(self) -> int:
        """Return the count."""
        return self.count

    @property
    def results(self) -> Results:  # type: ignore[override]
        """Give one where that is what it takes."""
        return Results.ONE if self.count <= 1 else Results.AS_MANY
