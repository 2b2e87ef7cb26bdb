"""microbatch: a streaming DataFrame as a Stream, each micro-batch once.

Spark hands over one micro-batch after the other and waits for each. A micro-batch counts as delivered when `on_next`
has returned for its last element; its number is then on disk before Spark hears of it. A restart from the checkpoint
leaves out what was delivered and repeats, from its first row, the one micro-batch that was not yet delivered whole.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.engine.grounds.outlet import Outlet
from penstock.engine.words.dropped import drop
from penstock.spark.egress.arrow_partitions import schema_on_the_way
from penstock.spark.egress.at_work import AtWork, StoppedElsewhereError
from penstock.spark.egress.batch_write import Write, written
from penstock.spark.egress.decoding import Decode
from penstock.spark.egress.draining import cause_of, stop_now
from penstock.spark.egress.in_order import batches_in_order
from penstock.spark.egress.numbering import NumberedByEnd, numbered_rows
from penstock.spark.egress.remembering import keep_states, stateful_steps
from penstock.spark.egress.task_failures import TaskFailures, report_to
from penstock.spark.versions.active_sessions import be_active
from penstock.spark.versions.callbacks import STOPPED, BatchCall, CallEndedError, answered
from penstock.spark.versions.listener_buses import forget_listener
from penstock.spark.versions.planner_threads import query_ended
from penstock.spark.versions.query_ends import PREFIX, UNTIL_END, start, streaming_sources
from penstock.spark.wire import failure
from penstock.spark.wire.gate import DoorCall, Gate, GateError, Message
from penstock.spark.wire.storage import Folder, StorageError
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame

ROWS = 10_000
"""Rows that are made into Python objects at a time."""


PATIENCE = 10.0
"""Seconds that a query may take to begin or to end before it is left alone."""
_STOPPED = f"stream: the subscriber has gone\n{STOPPED}"


_DELIVERED = re.compile(r"penstock-delivered-(\d+)")
_BEFORE = "penstock-delivered"
"""The one file in which versions before this one kept the number."""


class Ledger:
    """The number of the last micro-batch that was delivered, kept in a folder as the name of a file.

    A file that is replaced would have to be replaced at one stroke, which not every file system can; a new one appears.
    """

    def __init__(self, folder: Folder | None) -> None:
        self._folder = folder
        self._held: list[str] = []
        self.last = -1
        if folder is None:
            return
        try:
            folder.make()
            for name in folder.names():
                if found := _DELIVERED.fullmatch(name):
                    self._note(name, int(found[1]))
                elif name == _BEFORE:
                    self._note(name, self._number_in(folder, name))
        except StorageError as error:
            raise ValueError(
                f"stream: checkpoint must be a folder that can be written, got {folder}: {error.reason}"
            ) from error

    def _note(self, name: str, batch: int) -> None:
        self._held.append(name)
        self.last = max(self.last, batch)

    @staticmethod
    def _number_in(folder: Folder, name: str) -> int:
        text = folder.read(name).to_pybytes().decode(errors="replace")
        if not text.strip().isdigit():
            raise ValueError(f"stream: {folder}/{name} must hold the number of a micro-batch, got {text[:40]!r}")
        return int(text)

    def deliver(self, batch: int) -> None:
        """Write a micro-batch down; it is safe when this returns."""
        if self._folder is not None:
            name = f"penstock-delivered-{batch}"
            self._folder.write(name, str(batch).encode())
            for older in self._held:
                self._folder.delete(older)
            self._held = [name]
        self.last = batch


class _Run:
    """One subscription to a streaming DataFrame: its outlet, its door for reports, and its query."""

    def __init__(self, source: QuerySource, downstream: Subscriber[Any]) -> None:
        outlet = self._outlet = Outlet(downstream)
        outlet.on_request = self._requested
        outlet.on_taken = self._taken
        outlet.on_cancel = self._cancel
        outlet.on_close = self._closed
        self._source = source
        self._changed = threading.Condition()
        self._chunks: deque[pa.RecordBatch] = deque()
        self._owed = 0
        """Elements made for the subscriber and not yet through its on_next."""
        self._over = False
        self._before: int | None = None
        """Rows of the micro-batch before this one."""
        self._query: Any = None
        self._stopper: threading.Thread | None = None
        self._raised: Exception | None = None
        self._ledger: Ledger
        context = source.frame.sparkSession.sparkContext
        self._context = context
        self._reports = TaskFailures(context, outlet.fail_now)
        self._address = source.gate.admit(self)
        self._started = threading.Lock()
        self._call = BatchCall(self._batch)

    def open(self) -> None:
        self._outlet.open()

    # What the gate calls.

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        if verb == "failed":
            self._reports.hear(body)
        return {}

    def get(self, body: Message, /) -> Any:
        raise GateError("stream: there is nothing to read here")

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        raise GateError("stream: nothing is to be written here")

    def close(self) -> None:
        self._outlet.fail_now(GateError("stream: the Spark session was closed"))
        if self._stopper is not None:
            self._stopper.join(PATIENCE)  # a query that outlives its session logs long errors

    # The subscriber's side.

    def _requested(self, _: int) -> None:
        if self._started.acquire(blocking=False):  # never released: the first request starts the query
            self._source.at_work.start("penstock-query", self._run)
        with self._changed:
            self._changed.notify_all()

    def _taken(self, count: int) -> None:
        with self._changed:
            self._owed -= count
            self._changed.notify_all()

    def _cancel(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._stopper = self._source.at_work.start("penstock-query-stop", self._stop)

    def _closed(self) -> None:
        if self._stopper is None:  # else the session has to know of this run until its query has ended
            self._source.gate.dismiss(self._address)

    # Spark's side.

    def _run(self) -> None:
        source = self._source
        try:
            be_active(source.frame.sparkSession)
            self._ledger = Ledger(source.checkpoint)
            report_to(self._context, self._address)
            writer = source.frame.writeStream.outputMode(source.mode).foreachBatch(self._call)
            writer = writer.queryName(f"{PREFIX}{self._address.door}")
            if source.checkpoint is not None:
                writer = writer.option("checkpointLocation", source.checkpoint.location)
            trigger = source.trigger or default_trigger(source.frame)
            if self._over:
                return  # to start it would stop the query of another run that goes on from this checkpoint
            query = start(writer, trigger, source.frame, source.gate.ended)
            with self._changed:
                self._query = query
                over = self._over
            if over:
                stop_now(query)
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001  it is delivered
            error = self._reports.last or cause_of(self._context, failure.original(self._raised or error))
            self._call.let_go()
            self._outlet.complete(
                None if self._outlet.closed or isinstance(error, failure.StoppedShortError) else error
            )
        else:
            self._call.let_go()
            short = not self._over and not self._source.at_work.whole()
            self._outlet.complete(StoppedElsewhereError() if short else None)
        if self._query is not None:
            forget_listener(self._context, self._query)
        query_ended(self._context)

    def _stop(self) -> None:
        with self._changed:
            query = self._query
        try:
            if query is not None:
                stop_now(query)
        except Exception as error:  # noqa: BLE001  the subscriber has gone, so it is only logged
            drop("stream: the query could not be stopped", error)
        finally:
            self._source.gate.dismiss(self._address)

    def _batch(self, frame: DataFrame, number: int) -> None:
        """Deliver a micro-batch; called by Spark, which waits."""
        try:
            with answered():
                self._deliver_once(frame, number)
        except Exception as error:  # noqa: BLE001  it is delivered
            if not self._over and self._was_stopped():
                raise CallEndedError(_STOPPED) from None
            self._raised = error  # Spark puts so much text around it that it cannot be read any more
        else:
            return
        if not self._over:
            raise CallEndedError("stream: a micro-batch has failed; its error is raised where the stream is read")
        self._wait(lambda: False)  # it was stopped in the middle of its work, which has raised this error

    def _was_stopped(self) -> bool:
        """Tell whether the run has stopped the query, which interrupts its work; one that fails is active yet."""
        try:
            return self._source.at_work.stopping and self._query is not None and not self._query.isActive
        except Exception:  # noqa: BLE001  what was raised before says more
            return False

    def _deliver_once(self, frame: DataFrame, number: int) -> None:
        if number <= self._ledger.last:
            if stateful_steps(self._source.frame):
                keep_states(frame)  # Spark refuses a micro-batch whose states were not brought up to date
            return
        shape = self._source.shape
        with written(frame, self._source.also, number):
            rows = 0
            shaped = frame if shape is None else shape(frame)
            if shaped is not None:
                place = self._places(number)
                with closing(self._batches_of(shaped)) as chunks:  # lets go of the tasks that wait
                    for chunk, last in _with_last(chunks):
                        self._deliver(chunk, partial(place, rows, ends=last))
                        rows += chunk.num_rows
        self._wait(lambda: not self._owed)
        self._ledger.deliver(number)
        self._before = rows

    def _batches_of(self, frame: DataFrame) -> Generator[pa.RecordBatch, None, None]:
        """Return the rows in partition order, a few batches at a time; whole where the micro-batch before was small.

        The size of a micro-batch is known only afterwards. A small one comes faster whole; large ones do not follow
        small ones without notice, and if one does, the next is not held whole.
        """
        if self._before is None or self._before > ROWS:
            return batches_in_order(self._source.gate, frame, lambda: self._over or self._outlet.closed)
        found = frame.toArrow().cast(schema_on_the_way(frame))  # PySpark puts moments into UTC
        return (chunk for chunk in found.to_batches(max_chunksize=ROWS) if chunk.num_rows)

    def _places(self, batch: int) -> Callable[..., list[Any]]:
        """Return what gives the elements of a micro-batch their places: a function of its rows before, and of them."""
        numbered = self._source.numbered
        if isinstance(numbered, bool):
            if not numbered:
                return lambda _, elements, **__: elements
            return lambda first, elements, *, ends: numbered_rows(elements, batch, first, ends=ends)
        by_end = NumberedByEnd(batch, numbered)
        return lambda _, elements, *, ends: by_end.rows(elements, ends=ends)

    def _deliver(self, chunk: pa.RecordBatch, place: Callable[[list[Any]], list[Any]]) -> None:
        outlet = self._outlet
        self._wait(lambda: outlet.demand > len(outlet.queue))
        elements = place(list(self._source.decode(chunk)))
        with self._changed:
            self._owed += len(elements)
        outlet.queue.extend(elements)
        outlet.wake()

    def _wait(self, ready: Any) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._over or self._outlet.closed or ready())
            if not (self._over or self._outlet.closed):
                return
            self._changed.wait_for(lambda: self._query is not None, PATIENCE)
            query = self._query
        pause = threading.Event()
        for _ in range(int(PATIENCE * 100)):
            # Before Spark knows that the query is to stop, it would take what is raised here for a failure.
            if query is None or not query.isActive:
                break
            pause.wait(0.01)
        raise CallEndedError(_STOPPED)


def _with_last(chunks: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Say of each batch whether it is the last, which is known once there is another or none."""
    before = next(chunks, None)
    for chunk in chunks:
        yield before, False
        before = chunk
    if before is not None:
        yield before, True


def default_trigger(frame: DataFrame) -> dict[str, Any]:
    """Return the trigger that ends with its sources, where all of them are streams of ours and so have an end."""
    live = streaming_sources(frame)
    return dict(UNTIL_END) if live and all(name.startswith(PREFIX) for name in live) else {}


@dataclass(frozen=True, slots=True)
class QuerySource(Source[Any]):
    """The rows of a streaming DataFrame; each subscription runs a query.

    Emits when downstream asks and a micro-batch has rows. Backpressures by letting Spark wait inside a micro-batch.
    Completes when the query ends. Cancels by stopping the query.
    """

    gate: Gate = field(repr=False)
    frame: DataFrame
    decode: Decode = field(repr=False)
    checkpoint: Folder | None = None
    trigger: dict[str, Any] = field(default_factory=dict)
    also: Write | None = None
    numbered: bool | frozenset[int] = False
    """Whether rows come with their places; where they come in pairs with the number of an end, which ends want it."""
    mode: str = "append"
    """Spark's output mode."""
    shape: Callable[[DataFrame], DataFrame | None] | None = None
    """What is delivered of a micro-batch, where that is not the batch itself; None for nothing."""
    at_work: AtWork = field(default_factory=AtWork, compare=False, repr=False)
    """What works for all subscriptions."""

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Start a subscription; the query itself starts with the first request."""
        _Run(self, downstream).open()
