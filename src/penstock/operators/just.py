"""just: emit the given elements.

Group: make a stream
Marble: Stream.just(1, 2, 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.stage import Again, Opener, Results, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Just(Source[T]):
    """Emit the given elements.

    Emits when downstream asks. Backpressures by waiting. Completes with the last element. Cancels at once.
    """

    items: tuple[T, ...]
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if any(item is None for item in self.items):
            raise TypeError("just: None is not an element (rule 2.13)")

    @property
    def again(self) -> Again:
        """Give the same elements."""
        return Again.SAME

    def opener(self) -> Opener[T]:
        """Iterate over the elements."""
        return lambda _: iter(self.items)

    def length(self) -> int:
        """Return how many were given."""
        return len(self.items)

    @property
    def results(self) -> Results:  # type: ignore[override]
        """Give one where it has one at most."""
        return Results.ONE if len(self.items) <= 1 else Results.ANY
