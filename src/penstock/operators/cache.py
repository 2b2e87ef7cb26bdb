"""cache: run a stream once and give all of it to everybody.

Group: share one run
Marble: a.cache() over -1-2-3-4-|, late 6
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.engine.many.broadcast import Hub, Terms
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Cache(Source[Any]):
    """Run the stream for the first subscriber and keep all its elements for those who come later.

    Emits to each subscriber all elements from the first on. Backpressures when the most eager subscriber does; a slow
    one holds back no other. At most `size` elements are kept; one more fails it with OverflowedError. Completes when
    the stream completes, which is kept too; a failure is not: the next subscriber after it starts anew. Cancels the
    stream when the last subscriber has cancelled before it completed.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.SHARED
    stream: Chain
    size: int = 10_000
    hub: Hub = field(default_factory=Hub, compare=False, repr=False)
    passes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count_given("cache", "size", self.size, 1)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Join the run, or start it."""
        self.hub.join(Terms("cache", self.size, kept=self.size, whole=True), self.stream, downstream)
