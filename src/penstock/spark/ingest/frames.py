"""frames: a Stream, or another Publisher, as a streaming DataFrame.

Each query that reads the DataFrame is a separate run, with its own subscription. It begins when the query first asks,
and ends when the process that plans the query goes away, for whatever reason.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock
from penstock.engine.words.dropped import drop
from penstock.flow import Sink
from penstock.run.resumption import NotResumableError
from penstock.spark.ingest.data_source import source_for
from penstock.spark.ingest.intake import Intake
from penstock.spark.ingest.letters import Letters, Rejected
from penstock.spark.ingest.pace import Pace
from penstock.spark.ingest.query import FrameQuery
from penstock.spark.ingest.spool import Spool, SpoolBusy
from penstock.spark.ingest.supply import (
    Given,
    IngestError,
    Opening,
    Place,
    SaidAgain,
    Supply,
    Track,
    again_given,
    held_to_contract,
    supply_of,
)
from penstock.spark.ingest.together import Together
from penstock.spark.session.held import HeldSession
from penstock.spark.versions.query_ends import check_trigger
from penstock.spark.versions.registrations import forgotten, live_frame
from penstock.spark.wire.failure import KEPT, described
from penstock.spark.wire.gate import DoorCall, Gate, Message, whole
from penstock.spark.wire.places import NamedFolder, folder
from penstock.spark.wire.schema import Schema
from penstock.spark.wire.storage import Folder
from penstock.spec.interfaces import Publisher
from penstock.spec.predicates import is_publisher
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POLL_SECONDS = 1.0
BUSY_TRIALS = 50
FIRST_BATCH = 10_000
"""Rows of the first micro-batches, before their pace is known."""


Through = Callable[[Stream[Any]], Publisher[Any]]


@dataclass(frozen=True, slots=True)
class FrameFeed:
    """What a streaming DataFrame is made of."""

    given: Given
    schema: Schema
    capacity: int
    latency: float
    spool: Folder | None
    dead_letter: Sink[Rejected, Any] | None
    clock: Clock
    again: SaidAgain | None = None
    through: Through | None = None
    together: Together | None = None
    context: Context = field(default_factory=copy_context, compare=False, repr=False)
    """Where it was made: in a run, whose event loop an asynchronous source uses."""

    def supply(self) -> Supply | None:
        """Return how the stream is opened behind a place; None if that cannot be."""
        try:
            return supply_of(self.given, self.again)
        except NotResumableError:
            return None

    def opened(self, supply: Supply | None, place: Place | None) -> Opening:
        """Open the stream behind a place, None being the beginning."""
        found = Opening(held_to_contract(self.given), Track()) if supply is None else supply.open(place)
        return found if self.through is None else replace(found, publisher=self.through(found.publisher))


class _ReadTwice(IngestError):
    """The error of a second query, which may have to wait until the first has gone."""


class Ingest:
    """The door of one streaming DataFrame."""

    def __init__(self, feed: FrameFeed) -> None:
        self._feed = feed
        self._lock = threading.Lock()
        self._queries: dict[str, FrameQuery] = {}
        self._closed = threading.Event()
        self._idle: Callable[[], None] | None = None
        self.before_first: Callable[[], None] = lambda: None
        """Is called before a query's first rows are asked for; what it raises fails the query."""
        self._patience = POLL_SECONDS
        self._goes_on: Callable[[], bool] | None = None

    def wake(self, seconds: float, when: Callable[[], bool], /) -> None:
        """Send readers back without rows after so many seconds, where `when` says that their queries go on."""
        self._patience = min(self._patience, seconds)
        self._goes_on = when

    def reads(self, given: object) -> bool:
        """Tell whether this is the door of a publisher, or of what it passes through."""
        return given is self._feed.given or given is self._feed.through

    def retire(self, idle: Callable[[], None]) -> None:
        """Call `idle` once no query reads here any more; none will begin."""
        with self._lock:
            self._idle = idle
            now = not self._queries
        if now:
            idle()

    @property
    def ended(self) -> bool:
        """Return whether all queries that read here have come to the end of the stream."""
        queries = list(self._queries.values())
        return bool(queries) and all(query.ended for query in queries)

    @property
    def intakes(self) -> list[Intake]:
        """Return the intakes of the queries that run."""
        return [query.intake for query in self._queries.values()]

    def standing(self) -> list[tuple[object, int, bool, bool]]:
        """Return of each query that reads here how often it has asked, whether there is more, and whether it ended."""
        with self._lock:
            queries = list(self._queries.items())
        return [(run, *query.intake.standing()) for run, query in queries]

    @property
    def stays(self) -> bool:
        """Return whether its streams were stopped, so that another run goes on with what is open at their end."""
        return self._feed.together is not None and self._feed.together.goes_on()

    # What the gate calls.

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        """Answer a planner."""
        run = str(body.get("run"))
        if verb == "lease":
            return self._lease(call, run)
        row = 0 if verb == "begin" else whole(body, "row")
        try:
            if run not in self._queries:
                self.before_first()
            query = self._query(run, row, body)
            if verb == "begin":
                return {"row": 0}
            if verb == "poll":
                return self._poll(query, run, row, body)
            query.together.planned(body.get("mark"))
            return {}
        except Exception as error:  # noqa: BLE001  it stays here, and its name travels
            return self._failed(error)

    def get(self, body: Message, /) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Give an executor its rows."""
        query = self._queries.get(str(body.get("run")))
        if query is None:  # its planner has gone, and with it the lease that would end what is begun now
            raise IngestError("frame: the query that planned this task has ended")
        return self._feed.schema.arrow, self._rows(query.intake, whole(body, "row"), whole(body, "end"))

    def _rows(self, intake: Intake, first: int, end: int) -> Iterator[pa.RecordBatch]:
        try:
            yield from intake.rows(first, end)
        except Exception as error:
            raise IngestError(self._failed(error)["failed"]) from error  # by its name the driver finds it again

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
            self._leave(query)

    def _leave(self, query: FrameQuery) -> None:
        """Let go of a query; a run waits for its own, and of another one a last commit that failed is logged."""
        query.close()
        if self._feed.together is None:
            try:
                query.wait()
            except Exception as error:  # noqa: BLE001  the query has ended
                drop("frame: the stream could not be told what is done at the end", error)

    # One query.

    def _query(self, run: str, row: int, body: Message) -> FrameQuery:
        """Return a query's intake, opened at the first row that it asks for."""
        for trial in range(BUSY_TRIALS + 1):
            with self._lock:
                query = self._queries.get(run)
                if query is not None:
                    return query
                if self._closed.is_set():
                    break
                try:
                    query = self._queries[run] = self._opened(row, body)
                except (SpoolBusy, _ReadTwice):
                    if trial == BUSY_TRIALS:
                        raise
                else:
                    return query
            self._closed.wait(0.1)  # the query before this one may be on its way out
        raise IngestError("frame: the Spark session was closed")

    def _opened(self, row: int, body: Message) -> FrameQuery:
        feed = self._feed
        supply = feed.supply()
        if row and feed.spool is None and supply is None:
            raise IngestError(
                f"frame: the checkpoint is at row {row}, and a publisher cannot be asked for rows from there;"
                " give spool=, a function from a row's number to a publisher, or Stream.resumable"
            )
        if supply is not None and supply.commits and self._queries:
            raise _ReadTwice("frame: a stream that is told what is committed can be read by one query at a time")
        spool = None if feed.spool is None else Spool(feed.spool, feed.schema.arrow)
        try:
            if spool is not None and not spool.first <= row <= spool.end:
                raise IngestError(
                    f"frame: the query is at row {row}, and {spool.folder} holds rows {spool.first} to {spool.end};"
                    " give it the checkpoint that goes with the spool, or another spool"
                )
            place = body.get("at") if spool is None else None
            next_row = row if spool is None else spool.end
            if place is None and next_row and supply is not None:
                if not supply.counts:
                    raise IngestError(f"frame: the checkpoint is at row {row}, without a position of the stream")
                place = supply.at(next_row)
            opening = feed.opened(supply, place)
            letters = None if feed.dead_letter is None else Letters(feed.dead_letter, feed.capacity)
            pace = Pace(feed.latency, min(FIRST_BATCH, feed.capacity), feed.clock)
            first = row if spool is None else spool.first
            reject = letters.reject if letters else None
            intake = Intake(feed.schema, feed.capacity, first, pace, spool, reject, opening.track, lambda: self.stays)
            if body.get("end") is not None:
                intake.need(whole(body, "end"))
            if body.get("end_at") is not None:
                intake.shelf.expect(whole(body, "end"), body["end_at"])
            intake.start(opening.publisher, feed.context.copy())
        except Exception:
            if spool is not None:
                spool.close()
            raise
        together = feed.together or Together()
        query = FrameQuery(intake, letters, supply, -1 if row else 0, together, opening.told)
        together.ends.append(query)
        return query

    def _poll(self, query: FrameQuery, run: str, row: int, body: Message) -> Message:
        intake, most = query.intake, body.get("most")
        query.commit(row, body.get("at"))
        answer = query.together.poll(
            run,
            intake,
            row,
            body.get("mark"),
            most if isinstance(most, int) else None,
            self._patience,
            waits=bool(body.get("waits")),
        )
        query.ended = answer["row"] == row and not answer.keys() & {"mark", "later"} and intake.over(row)
        if query.ended and intake.error is not None:
            return self._failed(intake.error)
        if not answer["done"] and answer["row"] == row and self._goes_on is not None:
            answer["goes_on"] = self._goes_on()
        behind = intake.place(answer["row"]) if answer["row"] > row else None
        if behind is not None:
            answer["at"] = behind
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
            self._leave(query)
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
    spool: NamedFolder | None = None,
    dead_letter: Sink[Rejected, Any] | None = None,
    again: SaidAgain | None = None,
    through: Through | None = None,
    clock: Clock = SYSTEM_CLOCK,
    together: Together | None = None,
) -> DataFrame:
    """Make a streaming DataFrame of a publisher, or of a function from a row's number to the publisher from there on.

    The publisher is never asked for more than `capacity` rows beyond Spark's last commit. Elements are rows (tuples,
    dicts, dataclasses) or record batches; of the latter one is asked for at a time. Micro-batches are made so large
    that one takes about `latency` seconds. Rows that do not fit go to `dead_letter`, or else fail the stream.
    A query that is started again from its checkpoint goes on where it was, if the stream is a function, resumable or
    gives the same again; `again` says that it does ("same"), or that it gives what comes from then on ("later"). With
    `spool`, a folder (by a path, or a URI that Hadoop knows), what was taken from a stream and not yet committed is not
    asked for again. `through` is put behind what is opened. The query ends with the publisher if its trigger is
    `availableNow`. `together` is what the streams of one query have in common.
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
    again_given("frame", again)
    session = spark.session
    kept = None if spool is None else folder(spool, session, "frame: spool")
    feed = FrameFeed(given, schema, capacity, latency, kept, dead_letter, clock, again, through, together)
    if kept is not None:
        _check_spooled(feed)
    door = Ingest(feed)
    address = spark.gate.admit(door)
    if together is not None:
        together.doors.add(address.door)
    if not spark.is_remote:
        door.before_first = partial(check_trigger, session, address.door)
    source = source_for(address, schema.struct, partitions or session.sparkContext.defaultParallelism)
    found = live_frame(session, source)
    spark.gate.look()
    if together is None:  # or else the run whose streams they are lets go of it
        spark.gate.leave_when(forgotten(found), partial(door.retire, partial(spark.gate.dismiss, address)))
    return found


def _check_spooled(feed: FrameFeed) -> None:
    """Refuse a spool where it cannot tell the stream from where to go on; it remembers rows and no positions."""
    supply = feed.supply()
    if supply is not None and (not supply.counts or feed.dead_letter is not None):
        reason = "tells its positions" if not supply.counts else "counts the rows of dead_letter, too"
        raise ValueError(f"frame: spool is not for a stream that {reason} and goes on without one; leave it out")


def retire(gate: Gate, given: object) -> None:
    """Let go of a publisher's doors once the queries that read it have ended; no other may be started."""
    for address, door in gate.admitted():
        if isinstance(door, Ingest) and door.reads(given):
            door.retire(partial(gate.dismiss, address))
