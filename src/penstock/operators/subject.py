"""subject: emit what is handed to it, to everybody who is subscribed.

Group: make a stream
Marble: Stream.subject(), late 5
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from penstock.engine.many.emitter import Overflow
from penstock.engine.many.multicast import Hot
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SubjectSource(Source[T]):
    """Emit to each subscriber what is handed to the subject while it is subscribed, and the last `kept` before that.

    Emits when downstream asks and there is an element. Backpressures by `overflow`, for each subscriber by itself: one
    that is `size` elements behind fails with OverflowedError, misses elements, or has only the latest, and the others
    go on; with BUFFER an element that one of them has no room for is refused for all. Completes when the subject does,
    at once for those who come later. Cancels by being forgotten.
    """

    overflow: Overflow = Overflow.ERROR
    size: int = 256
    kept: int = 0
    hot: Hot = field(default_factory=Hot, repr=False)
    """Who is subscribed, and what is kept: two subjects are never equal, and neither is a copy of the other."""

    def __post_init__(self) -> None:
        if not isinstance(self.overflow, Overflow):
            raise TypeError(f"subject: overflow must be an Overflow, got {self.overflow!r}")
        count_given("subject", "size", self.size, 1)
        count_given("subject", "kept", self.kept, 0)

    @property
    def again(self) -> Again:
        """Give what is handed to the subject from then on."""
        return Again.LATER

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Add a subscriber."""
        self.hot.join(downstream, self.overflow, self.size)
