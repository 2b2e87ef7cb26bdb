"""inlets: how the live sources of a plan enter Spark, each once, however many queries read it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.engine.many.broadcast import Connection
from penstock.engine.many.shared_run import Slow
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.watching.observe import observed
from penstock.flow import Sink
from penstock.operators.publish import Publish
from penstock.run import Valve, Valved
from penstock.run.watchers import RunPart, current_run
from penstock.spark.ingest.frames import frame, retire
from penstock.spark.ingest.letters import Rejected
from penstock.spark.pipeline.build import OpenLive
from penstock.spark.pipeline.checkpoint import SPOOL, check_apart, check_shared, is_spooled
from penstock.spark.pipeline.nodes import Live, SparkPlan
from penstock.spark.session.held import HeldSession
from penstock.spark.wire.storage import Folder
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Source
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.pipeline.work import Work

AHEAD = 1024
"""Elements by which one query may have taken more than another."""


@dataclass(slots=True, eq=False)
class _Meeting:
    """The queries that read one source; it begins when all are there."""

    shared: Publish
    expected: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: Connection | None = None
    over: bool = False
    context: Context = field(default_factory=copy_context)
    """That of the run, whose event loop an asynchronous source uses."""

    def arrive(self) -> None:
        with self.lock:
            self.expected -= 1
            last = self.expected == 0
        if last:
            # The source may do all its work inside of this call, and the thread that makes it answers Spark.
            threading.Thread(target=self.context.run, args=(self._begin,), name="penstock-shared", daemon=True).start()

    def _begin(self) -> None:
        connection = self.shared.begin()
        with self.lock:
            self.connection = connection
            over = self.over
        if over:
            connection.cancel()

    def end(self) -> None:
        with self.lock:
            self.over = True
            connection = self.connection
        if connection is not None:
            connection.cancel()


@dataclass(frozen=True, slots=True, eq=False)
class _Shared(Source[Any]):
    """A source that several queries read, in one run of it.

    Emits when the source does and all ask. Backpressures when any of them does. Completes when the source does. Cancels
    nothing but itself; the run ends the source.
    """

    meeting: _Meeting

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Join the others; the last one begins."""
        self.meeting.shared.connect(downstream)
        self.meeting.arrive()


@dataclass(frozen=True, slots=True, eq=False)
class _Through:
    """What is put behind a source that is opened; by it the gate knows which source it is to forget."""

    valve: Valve | None
    context: Context
    """Where the run began: there may be a listener, and the gate opens sources elsewhere."""
    place: int
    """The place of the source in the plan."""

    def __call__(self, opened: Stream[Any]) -> Publisher[Any]:
        if self.valve is None:
            return _AsItIs(opened._chain)
        chain = self.context.copy().run(_observed, opened._chain, self.place)
        return _AsItIs(Chain(Valved(chain, self.valve, iterates=False)))


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """A chain as a publisher that no listener sees: the source inside of it is seen, as a part of the run."""

    chain: Chain

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Start a run of the chain."""
        connect(self.chain, subscriber)


def _observed(chain: Chain, place: int) -> Chain:
    return observed(chain, RunPart(current_run(), (place,)))


class Entrance:
    """The way of one live source into a run.

    It has one valve, or one for each query that reads the source by itself; each of those sees the same rows, so they
    are not added up.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._valves: list[Valve] = []
        self._closed = False

    def valve(self, *, another: bool = False) -> Valve:
        """Return the valve, or another one for a query that reads by itself."""
        with self._lock:
            if another or not self._valves:
                self._valves.append(Valve())
                if self._closed:
                    self._valves[-1].close()
            return self._valves[-1]

    @property
    def rows(self) -> int:
        """Return how many elements have come, by the query that is furthest ahead."""
        return max((each.rows for each in self._valves), default=0)

    @property
    def demand(self) -> int:
        """Return how many elements are asked for and have not come, by the query that asks for most."""
        return max((each.demand for each in self._valves), default=0)

    def close(self) -> None:
        """Let nothing more in."""
        with self._lock:
            self._closed = True
            valves = list(self._valves)
        for each in valves:
            each.close()


def _left_out(_: Rejected) -> None:
    """Do nothing with a row that another query tells of."""


class Inlets:
    """The live sources of one run."""

    def __init__(self, plan: SparkPlan, entries: dict[int, Entrance]) -> None:
        self._plan = plan
        self._entries = entries
        (self._places, _), _ = plan.order()
        self.context = Context()
        """Where the run began."""
        self._meetings: dict[int, _Meeting] = {}
        self._apart: set[int] = set()
        """The sources that several queries read, each by itself."""
        self._lettered: set[int] = set()
        """The sources whose rows that do not fit are told of by one query, and left out by the others."""
        self._leave: list[Callable[[], None]] = []
        """Each lets the gate forget a source."""

    def share(self, readers: list[set[int]], *, apart: bool) -> None:
        """Let several queries read the sources together, each of which may read some of them.

        With a checkpoint they read `apart`, each by itself, since each goes on from its own row. What only one of them
        would get, or would commit for all, is refused then.
        """
        for at, entry in self._entries.items():
            count = sum(at in some for some in readers)
            if count < 2:
                continue
            live = self._plan.nodes[at].work
            assert isinstance(live, Live)
            if apart:
                check_apart(live)
                self._apart.add(at)
            else:
                check_shared(live)
                seen = self.context.copy().run(_observed, live.stream._chain, self._places[at])
                chain = Chain(Valved(seen, entry.valve(), iterates=False))
                self._meetings[at] = _Meeting(Publish(chain, AHEAD, Slow.WAIT), count)

    def opened(self, spark: HeldSession, work: Work) -> OpenLive:
        """Return how one query reads a live source."""

        def open_live(at: int, live: Live) -> DataFrame:
            meeting = self._meetings.get(at)
            valve = self._entries[at].valve(another=at in self._apart) if meeting is None else None
            through = _Through(valve, self.context, self._places[at])
            self._leave.append(partial(retire, spark.gate, through))
            place = list(self._entries).index(at)
            spool: Folder | None = None
            if work.folder is not None and is_spooled(live):
                spool = work.folder / (SPOOL if not place else f"{SPOOL}-{place + 1}")
            return frame(
                spark,
                live.stream if meeting is None else Stream(Chain(_Shared(meeting))),
                live.schema,
                capacity=live.entry.capacity,
                latency=live.entry.latency,
                spool=spool,
                dead_letter=self._letters(at, live),
                again=live.entry.said if meeting is None else None,
                through=through,
                together=work.together,
            )

        return open_live

    def _letters(self, at: int, live: Live) -> Sink[Rejected, Any] | None:
        letters = live.entry.dead_letter
        if letters is None or at not in self._lettered:
            self._lettered.add(at)
            return letters
        return Sink.for_each(_left_out)

    def close(self) -> None:
        """Let go of the sources."""
        self._lettered.clear()
        leave, self._leave = self._leave, []
        for each in leave:
            each()
        meetings, self._meetings = self._meetings, {}
        for meeting in meetings.values():
            meeting.end()


__all__ = ["Entrance", "Inlets"]
