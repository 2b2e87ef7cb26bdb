"""range: emit numbers in order.

Group: make a stream
Marble: Stream.range(1, 4)
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import ClassVar

from penstock.engine.words.steps import Steps
from penstock.stage import Again, Opener, Source


@dataclass(frozen=True, slots=True)
class Range(Source[int]):
    """Emit the numbers of a range.

    Emits when downstream asks. Backpressures by waiting. Completes with the last number. Cancels at once.
    """

    numbers: builtins.range | Steps
    clean: ClassVar[bool] = True

    @property
    def again(self) -> Again:
        """Give the same numbers."""
        return Again.SAME

    def opener(self) -> Opener[int]:
        """Iterate over the numbers."""
        numbers = self.numbers
        return numbers.open if isinstance(numbers, Steps) else lambda _: iter(numbers)

    def after(self, count: int) -> Range | None:
        """Begin with a later number."""
        return Range(self.numbers[count:]) if isinstance(self.numbers, builtins.range) else None

    def length(self) -> int | None:
        """Return how many there are, if `len` can tell."""
        try:
            return len(self.numbers)
        except OverflowError:
            return None
