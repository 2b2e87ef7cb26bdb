"""publish: let several subscribers take part in one run that is begun by hand.

Group: share one run
Marble: a.publish() over -1-2-3-4-|, late 6
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.engine.many.broadcast import Connection, Hub, Terms
from penstock.engine.many.shared_run import Slow
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Publish(Source[Any]):
    """Run the stream once for all subscribers, from the time `connect` is called until it ends or is cancelled there.

    Emits to each subscriber what comes from the time it subscribed. Backpressures by `slow`: a subscriber that is
    `size` elements behind fails with OverflowedError, or misses elements, or holds back all others if told to WAIT;
    while there is no subscriber nothing is read. Completes when the stream completes. Cancels the stream when the
    connection is cancelled, whose subscribers then fail with RunCancelledError, and not when subscribers cancel.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.SHARED
    stream: Chain
    size: int = 256
    slow: Slow = Slow.ERROR
    hub: Hub = field(default_factory=Hub, compare=False, repr=False)
    once: bool = field(default=False, repr=False)
    """Whether subscribers that come after the end are told of it, and wait for no other run."""

    def __post_init__(self) -> None:
        count_given("publish", "size", self.size, 1)
        if not isinstance(self.slow, Slow):
            raise TypeError(f"publish: slow must be a Slow, got {self.slow!r}")

    @property
    def terms(self) -> Terms:
        """Return the terms of the run."""
        return Terms("publish", self.size, self.slow, by_hand=True, once=self.once)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Join the run, begun or not."""
        self.hub.join(self.terms, self.stream, downstream)

    def begin(self) -> Connection:
        """Begin the run."""
        return self.hub.begin(self.terms, self.stream)
