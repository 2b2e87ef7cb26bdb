"""partition: send each element to one of two streams.

Group: split a stream
Marble: a.partition(lambda n: n % 2) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.engine.many.partition_run import Fork
from penstock.engine.many.shared_run import Slow
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Partition(Source[Any]):
    """Emit one side of one run: the elements for which the predicate is true, or the others.

    Emits when the stream does and the element is for this side. Backpressures when both sides do; elements that the
    other side has not asked for wait, up to `size`, also before it is subscribed. Then by `slow` that side fails with
    OverflowedError and this one goes on, or it misses elements, or if told to WAIT this one waits for it, for a
    subscriber that is yet to come too. Completes when the stream completes. Cancels the stream when no side is left.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.STREAMS
    stream: Chain
    predicate: Callable[[Any], object]
    wanted: bool
    size: int = 256
    slow: Slow = Slow.ERROR
    fork: Fork = field(default_factory=Fork, compare=False, repr=False)
    passes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        function_given("partition", "predicate", self.predicate)
        count_given("partition", "size", self.size, 1)
        if not isinstance(self.slow, Slow):
            raise TypeError(f"partition: slow must be a Slow, got {self.slow!r}")

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Take this side of a run, or start one."""
        place = 0 if self.wanted else 1
        self.fork.join(place, "partition", self.stream, downstream, self._choose, self.size, self.slow)

    def _choose(self, element: Any) -> int:
        try:
            return 0 if self.predicate(element) else 1
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise blamed(error, self, self.predicate)  # noqa: B904  it is the same error, unless it was a stop
