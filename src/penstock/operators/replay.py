"""replay: let late subscribers see what came before.

Group: share one run
Marble: a.replay(1) over -1-2-3-4-|, late 6
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.engine.many.broadcast import Hub, Terms
from penstock.engine.many.shared_run import Slow
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Replay(Source[Any]):
    """Run the stream once for all subscribers, and give each the last `count` elements first.

    Emits to each subscriber the elements kept, then what comes. Backpressures by `slow`: a subscriber that is `size`
    live elements behind fails with OverflowedError, or misses elements, or holds back all others if told to WAIT.
    Completes when the stream completes; a later subscriber still gets the elements kept and the end. Cancels the
    stream when the last subscriber has cancelled.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.SHARED
    stream: Chain
    count: int
    size: int = 256
    slow: Slow = Slow.ERROR
    hub: Hub = field(default_factory=Hub, compare=False, repr=False)

    def __post_init__(self) -> None:
        count_given("replay", "count", self.count, 1)
        count_given("replay", "size", self.size, 1)
        if not isinstance(self.slow, Slow):
            raise TypeError(f"replay: slow must be a Slow, got {self.slow!r}")

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Join the run, or start it."""
        self.hub.join(Terms("replay", self.size, self.slow, self.count), self.stream, downstream)
