"""share: let several subscribers take part in one run.

Group: share one run
Marble: a.share() over -1-2-3-4-|, late 4
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
class Share(Source[Any]):
    """Run the stream once for all subscribers that are there: start with the first, cancel after the last.

    Emits to each subscriber what comes from the time it subscribed. Backpressures by `slow`: a subscriber that is
    `size` elements behind fails with OverflowedError, or misses elements, or holds back all others if told to WAIT.
    Completes when the stream completes. Cancels the stream when the last subscriber has cancelled; a later one starts
    it anew.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.SHARED
    stream: Chain
    size: int = 256
    slow: Slow = Slow.ERROR
    hub: Hub = field(default_factory=Hub, compare=False, repr=False)
    passes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count_given("share", "size", self.size, 1)
        if not isinstance(self.slow, Slow):
            raise TypeError(f"share: slow must be a Slow, got {self.slow!r}")

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Join the run, or start it."""
        self.hub.join(Terms("share", self.size, self.slow), self.stream, downstream)
