"""merge: emit the elements of several streams as they come.

Group: bring streams together
Marble: a.merge(b) over -1--2---3| and --x--y-z--|
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from penstock.engine.grounds.merging import Gather
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull_all, reads_nothing
from penstock.engine.weaving.iterators import in_turns
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Opener, Source, Tie


@dataclass(frozen=True, slots=True)
class Merge(Source[Any]):
    """Emit the elements of all streams in the order they come; streams that can be iterated take turns.

    Emits when any stream does. Backpressures when downstream does: at most `prefetch` elements of each stream are held,
    and none before downstream asks. Completes when all streams have completed; fails with the first failure, after what
    has come by then and ahead of what the others would still give. Cancels all streams.
    """

    tie: ClassVar[Tie] = Tie.INPUTS
    streams: tuple[Chain, ...]
    prefetch: int = 32
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count_given("merge", "prefetch", self.prefetch, 1)

    def length(self) -> int | None:
        """Return zero if nothing has to be read of any stream."""
        return 0 if all(map(reads_nothing, self.streams)) else None

    def opener(self) -> Opener[Any] | None:
        """Iterate in turns, if each can be iterated."""
        openers = pull_all(self.streams)
        return None if openers is None else partial(in_turns, openers)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to all."""
        gather = Gather(downstream, self.prefetch)
        gather.subscribed()
        for chain in self.streams:
            source = gather.add()
            if source is None:
                return
            connect(chain, source)
        gather.close()
