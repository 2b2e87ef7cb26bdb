"""branches: one stream that several sinks take, in one run of it; and the place of a source that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, ClassVar

from penstock.engine.grounds.outlet import Outlet
from penstock.engine.many.broadcast import Connection
from penstock.engine.many.shared_run import Slow
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.watching.observe import observed
from penstock.engine.words.trampoline import cancelling, working
from penstock.operators.publish import Publish
from penstock.run.gathering import Gathering
from penstock.run.graft import graft
from penstock.run.result import ResultSubscriber
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source

AHEAD = 256
"""Elements by which one branch may be ahead of another."""


@dataclass(frozen=True, slots=True)
class Hole(Source[Any]):
    """The place of the source that a Flow or a Sink does not have yet."""

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run without a source."""
        raise TypeError(
            "flow: this chain has no source yet; put one in front of it: stream | flow. A function of a flow describes"
            " the chain with operators, as stream.map(...), and does not run it"
        )


def fill(chain: Chain, start: Chain) -> Chain:
    """Put a chain in the place of the source that another one does not have yet."""
    return graft(chain, lambda source: start if isinstance(source, Hole) else None)


@dataclass(frozen=True, slots=True)
class Branches(Source[tuple[Any, ...]]):
    """The results of several sinks that take one stream, in one run of it.

    Emits one tuple, the results in the order of the sinks, when the last of them has come. Backpressures the stream
    when any sink does: one is at most 256 elements ahead of another, and the stream is read when all have subscribed to
    it, or need no more. Completes after the tuple, and fails with the first failure. Cancels the stream and all sinks;
    the stream is let go of when all have what they need.
    """

    results: ClassVar[Results] = Results.ONE
    stream: Chain
    ends: tuple[Any, ...]
    """Sinks; they are not chains here, so that what fills the place of the source leaves theirs alone."""

    def connect(self, downstream: Subscriber[tuple[Any, ...]], /) -> None:
        """Prepare a run, which begins with the first request."""
        _Branching(self, downstream).open()


class _Branching:
    """One run of several branches."""

    def __init__(self, branches: Branches, downstream: Subscriber[Any]) -> None:
        outlet = self._outlet = Outlet(downstream)
        outlet.on_request = self._requested
        outlet.on_cancel = self._let_go
        self._shared = Publish(branches.stream, AHEAD, Slow.WAIT, once=True)
        self._chains = [fill(end._chain, Chain(self._shared)) for end in branches.ends]
        self._ends = [ResultSubscriber(str(chain), partial(self._settle, at)) for at, chain in enumerate(self._chains)]
        self._lock = Lock()
        self._begun = self._over = False
        self._results: dict[int, Any] = {}
        self._connection: Connection | None = None

    def open(self) -> None:
        self._outlet.open()

    def _requested(self, _: int) -> None:
        with self._lock:
            begun, self._begun = self._begun, True
        if begun:
            return
        gathering = Gathering(self._is_shared, self._begin, Branches)
        for chain, end in zip(self._chains, self._ends, strict=True):
            connect(gathering.awaited(observed(chain)), end)
        gathering.begin()

    def _is_shared(self, source: Source[Any]) -> bool:
        return isinstance(source, Publish) and source.hub is self._shared.hub

    def _begin(self) -> None:
        """Begin to read the stream, of which a subscriber that comes later would miss the first elements."""
        if self._over:
            return
        connection = self._shared.begin()
        with self._lock:
            self._connection = connection
            over = self._over
        if over:
            connection.abandon()

    def _settle(self, at: int, result: Any, error: Exception | None) -> None:
        with self._lock:
            if self._over:
                return
            self._results[at] = result
            self._over = error is not None or len(self._results) == len(self._ends)
            if not self._over:
                return
        self._let_go()
        if error is None:
            self._outlet.queue.append(tuple(self._results[each] for each in range(len(self._ends))))
        working(partial(self._outlet.complete, error))  # it may be one of other branches, and those of others

    def _let_go(self) -> None:
        with self._lock:
            self._over = True
            connection = self._connection
        for end in self._ends:
            cancelling(end.cancel)
        if connection is not None:
            cancelling(connection.abandon)


__all__ = ["Branches", "Hole", "fill"]
