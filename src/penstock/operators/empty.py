"""empty: complete without an element.

Group: make a stream
Marble: Stream.empty()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.stage import Again, Opener, Results, Source


@dataclass(frozen=True, slots=True)
class Empty(Source[Any]):
    """Complete at once.

    Emits never. Backpressures never. Completes when subscribed, without being asked. Cancels at once.
    """

    results: ClassVar[Results] = Results.ONE
    clean: ClassVar[bool] = True

    @property
    def again(self) -> Again:
        """Give nothing, again."""
        return Again.SAME

    def opener(self) -> Opener[Any]:
        """Iterate over nothing."""
        return lambda _: iter(())

    def length(self) -> int:
        """Return zero."""
        return 0
