"""empty: complete without an element.

Group: make a stream
Marble: Stream.empty()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.stage import Opener, Source


@dataclass(frozen=True, slots=True)
class Empty(Source[Any]):
    """Complete at once.

    Emits never. Backpressures never. Completes when subscribed, without being asked. Cancels at once.
    """

    clean: ClassVar[bool] = True

    def opener(self) -> Opener[Any]:
        """Iterate over nothing."""
        return lambda _: iter(())

    def length(self) -> int:
        """Return zero."""
        return 0
