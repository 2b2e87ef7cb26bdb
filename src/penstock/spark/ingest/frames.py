"""frames: a Stream, or another Publisher, as a streaming DataFrame.

Each query that reads the DataFrame is a separate run, with its own subscription. It begins when the query first asks,
and ends when the process that plans the query goes away, for whatever reason.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.engine.many.emitter import EmitResult, Emitter
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock
from penstock.errors import OverflowedError
from penstock.flow import Sink, subscriber
from penstock.spark.ingest.data_source import source_for
from penstock.spark.ingest.intake import IngestError, Intake
from penstock.spark.ingest.pace import Pace
from penstock.spark.ingest.spool import Spool, SpoolBusy
from penstock.spark.ingest.together import Together
from penstock.spark.session.held import HeldSession
from penstock.spark.wire.failure import KEPT, described
from penstock.spark.wire.gate import DoorCall, Gate, Message, whole
from penstock.spark.wire.schema import Schema, SchemaError
from penstock.spec.interfaces import Publisher
from penstock.spec.predicates import is_publisher
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POLL_SECONDS = 1.0
BUSY_TRIALS = 50
FIRST_BATCH = 10_000
"""Rows of the first micro-batches, before their pace is known."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that does not fit the schema, and why."""

    row: Any
    error: SchemaError


Given = Publisher[Any] | Callable[[int], Publisher[Any]]


@dataclass(frozen=True, slots=True)
class FrameFeed:
    """What a streaming DataFrame is made of."""

    given: Given
    schema: Schema
    capacity: int
    latency: float
    spool: Path | None
    dead_letter: Sink[Rejected, Any] | None
    clock: Clock
    together: Together | None = None

    def publisher(self, row: int) -> Publisher[Any]:
        """Return the publisher whose first row has the given number."""
        made = self.given if is_publisher(self.given) else self.given(row)
        if isinstance(made, Stream):
            return made
        if not is_publisher(made):
            raise TypeError(f"frame: the function must return a Publisher, got {made!r}")
        return Stream.from_publisher(made)  # holds it to the contract


class Letters:
    """A sink for rejected rows, and the stream that feeds it."""

    def __init__(self, sink: Sink[Rejected, Any], size: int) -> None:
        emitters: list[Emitter[Rejected]] = []
        self._receiver = subscriber(sink)
        Stream.create(emitters.append, size=size).subscribe(self._receiver)
        self._emitter = emitters[0]

    def reject(self, row: Any, error: SchemaError) -> None:
        """Pass a row on; a sink that takes no more fails the stream, for no row is dropped silently."""
        result = self._emitter.emit(Rejected(row, error))
        if result is EmitResult.OVERFLOW:
            raise OverflowedError("frame: the dead-letter sink does not keep up with the rows that do not fit")
        if result is not EmitResult.OK:
            raise IngestError("frame: the dead-letter sink has ended, and a row does not fit") from error

    def close(self) -> None:
        """End the sink's stream."""
        self._emitter.complete()


@dataclass(slots=True)
class _Query:
    """What one query has at the gate."""

    intake: Intake
    letters: Letters | None
    together: Together
    leases: int = 0

    def close(self) -> None:
        self.intake.close()
        if self.letters is not None:
            self.letters.close()


class Ingest:
    """The door of one streaming DataFrame."""

    def __init__(self, feed: FrameFeed) -> None:
        self._feed = feed
        self._lock = threading.Lock()
        self._queries: dict[str, _Query] = {}
        self._closed = threading.Event()
        self._idle: Callable[[], None] | None = None

    def reads(self, given: object) -> bool:
        """Tell whether this is the door of a publisher."""
        return self._feed.given is given

    def retire(self, idle: Callable[[], None]) -> None:
        """Call `idle` once no query reads here any more; none will begin."""
        with self._lock:
            self._idle = idle
            now = not self._queries
        if now:
            idle()

    @property
    def intakes(self) -> list[Intake]:
        """Return the intakes of the queries that run."""
        return [query.intake for query in self._queries.values()]

    # What the gate calls.

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        """Answer a planner."""
        run = str(body.get("run"))
        if verb == "lease":
            return self._lease(call, run)
        row = 0 if verb == "begin" else whole(body, "row")
        try:
            query = self._query(run, row)
            if verb == "begin":
                return {"row": 0}
            if verb == "poll":
                return self._poll(query, run, row, body)
            return {}
        except Exception as error:  # noqa: BLE001  it stays here, and its name travels
            return self._failed(error)

    def get(self, body: Message, /) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Give an executor its rows."""
        query = self._queries.get(str(body.get("run")))
        if query is None:  # its planner has gone, and with it the lease that would end what is begun now
            raise IngestError("frame: the query that planned this task has ended")
        return self._feed.schema.arrow, query.intake.rows(whole(body, "row"), whole(body, "end"))

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        """Refuse: rows come from the publisher."""
        raise IngestError("frame: nothing is to be written here")

    def close(self) -> None:
        """End all queries' subscriptions."""
        self._closed.set()
        with self._lock:
            queries = list(self._queries.values())
            self._queries.clear()
        for query in queries:
            query.close()

    # One query.

    def _query(self, run: str, row: int) -> _Query:
        """Return a query's intake, opened at the first row that it asks for."""
        for trial in range(BUSY_TRIALS + 1):
            with self._lock:
                query = self._queries.get(run)
                if query is not None:
                    return query
                if self._closed.is_set():
                    break
                try:
                    query = self._queries[run] = self._opened(row)
                except SpoolBusy:
                    if trial == BUSY_TRIALS:
                        raise
                else:
                    return query
            self._closed.wait(0.1)  # the query before this one may be on its way out
        raise IngestError("frame: the Spark session was closed")

    def _opened(self, row: int) -> _Query:
        feed = self._feed
        if row and feed.spool is None and is_publisher(feed.given):
            raise IngestError(
                f"frame: the checkpoint is at row {row}, and a publisher cannot be asked for rows from there;"
                " give spool=, or a function from a row's number to a publisher"
            )
        spool = None if feed.spool is None else Spool(feed.spool, feed.schema.arrow)
        try:
            if spool is not None and not spool.first <= row <= spool.end:
                raise IngestError(
                    f"frame: the query is at row {row}, and {spool.folder} holds rows {spool.first} to {spool.end};"
                    " give it the checkpoint that goes with the spool, or another spool"
                )
            next_row = row if spool is None else spool.end
            letters = None if feed.dead_letter is None else Letters(feed.dead_letter, feed.capacity)
            pace = Pace(feed.latency, min(FIRST_BATCH, feed.capacity), feed.clock)
            first = row if spool is None else spool.first
            intake = Intake(feed.schema, feed.capacity, first, pace, spool, letters.reject if letters else None)
            intake.start(feed.publisher(next_row))
        except Exception:
            if spool is not None:
                spool.close()
            raise
        return _Query(intake, letters, feed.together or Together())

    def _poll(self, query: _Query, run: str, row: int, body: Message) -> Message:
        intake, most = query.intake, body.get("most")
        answer = query.together.poll(
            run,
            intake,
            row,
            body.get("mark"),
            most if isinstance(most, int) else None,
            POLL_SECONDS,
            waits=bool(body.get("waits")),
        )
        if intake.error is not None and intake.over(answer["row"]) and answer["row"] == row:
            return self._failed(intake.error)
        return answer

    @staticmethod
    def _failed(error: Exception) -> Message:
        name = KEPT.keep(secrets.token_hex(8), error)
        words = described(error)
        return {"failed": f"{words['kind']}: {words['message'][:1000]} ({name})"}

    def _lease(self, call: DoorCall, run: str) -> Message:
        """Stay until the planner goes away, then end its query."""
        while not call.gone() and not self._closed.wait(0.1):
            pass
        with self._lock:
            query = self._queries.pop(run, None)
            idle = None if self._queries else self._idle
        if query is not None:
            query.close()
        if idle is not None:
            idle()
        return {}


def frame(
    spark: HeldSession,
    given: Given,
    schema: Schema,
    *,
    capacity: int = 100_000,
    latency: float = 1.0,
    partitions: int | None = None,
    spool: str | Path | None = None,
    dead_letter: Sink[Rejected, Any] | None = None,
    clock: Clock = SYSTEM_CLOCK,
    together: Together | None = None,
) -> DataFrame:
    """Make a streaming DataFrame of a publisher, or of a function from a row's number to the publisher from there on.

    The publisher is never asked for more than `capacity` rows beyond Spark's last commit. Elements are rows (tuples,
    dicts, dataclasses) or record batches; of the latter one is asked for at a time. Micro-batches are made so large
    that one takes about `latency` seconds. Rows that do not fit go to `dead_letter`, or else fail the stream. With
    `spool`, a folder, a restart from a checkpoint loses nothing that was spooled; a function lets the publisher go on
    from there.
    The query ends with the publisher if its trigger is `availableNow`. `together` is what the streams of one query have
    in common.
    """
    if not is_publisher(given) and not callable(given):
        raise TypeError(f"frame: stream must be a Publisher or a function from a row's number to one, got {given!r}")
    if type(capacity) is not int or capacity < 1:
        raise ValueError(f"frame: capacity must be a whole number >= 1, got {capacity!r}")
    if not isinstance(latency, int | float) or not latency > 0:
        raise ValueError(f"frame: latency must be > 0 seconds, got {latency!r}")
    if partitions is not None and (type(partitions) is not int or partitions < 1):
        raise ValueError(f"frame: partitions must be a whole number >= 1, got {partitions!r}")
    if dead_letter is not None and not isinstance(dead_letter, Sink):
        raise TypeError(f"frame: dead_letter must be a Sink, got {dead_letter!r}")
    session = spark.session
    folder = None if spool is None else Path(spool)
    feed = FrameFeed(given, schema, capacity, latency, folder, dead_letter, clock, together)
    address = spark.gate.admit(Ingest(feed))
    source = source_for(address, schema.struct, partitions or session.sparkContext.defaultParallelism)
    session.dataSource.register(source)
    return session.readStream.format(source.name()).load()


def retire(gate: Gate, given: object) -> None:
    """Let go of a publisher's doors once the queries that read it have ended; no other may be started."""
    for address, door in gate.admitted():
        if isinstance(door, Ingest) and door.reads(given):
            door.retire(partial(gate.dismiss, address))
