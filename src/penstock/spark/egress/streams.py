"""streams: a DataFrame as a Stream, under demand.

Each task of the job writes its batches to the gate, a few ahead of what was taken here; when no rows are asked for, the
tasks stand still. Rows of different partitions come in any order, those of one partition in theirs. A task that is run
again repeats nothing, provided that its partition has the same rows in the same order the second time.

A loop over the rows takes a batch when it comes to its end of the one before, and makes rows of it on its own thread,
one at a time. A subscriber's rows are made as they are asked for, a few hundred at a time, by the thread that asks or
the one that brings them. Either way no more than one batch is open in this process; the others that it holds are those
at the door.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, ClassVar, cast

from pyspark.sql import DataFrame

from penstock.engine.grounds.outlet import Outlet
from penstock.engine.runs.chain import Chain
from penstock.spark.egress.arrow_partitions import arrow_partitions
from penstock.spark.egress.at_work import AtWork
from penstock.spark.egress.batch_write import Write, written
from penstock.spark.egress.decoding import Decode, decoder
from penstock.spark.egress.delivery import AHEAD, Delivery, send
from penstock.spark.egress.draining import cause_of
from penstock.spark.egress.job import Job
from penstock.spark.egress.microbatch import QuerySource
from penstock.spark.egress.pump import CHUNK, Pump
from penstock.spark.egress.task_failures import TaskFailures
from penstock.spark.session.held import HeldSession
from penstock.spark.wire import failure
from penstock.spark.wire.gate import Gate
from penstock.spark.wire.places import NamedFolder, folder
from penstock.spec.interfaces import Subscriber
from penstock.stage import Opener, Source
from penstock.stream import Stream

MOMENT = 0.005
"""Seconds that a loop may take for rows without looking for an error."""


class _Work:
    """The job of one run, the door that its tasks write to, and the failures that they report."""

    def __init__(
        self,
        source: FrameSource,
        arrived: Callable[[], None],
        fail: Callable[[Exception], None],
        done: Callable[[Exception | None], None],
    ) -> None:
        context = source.frame.sparkSession.sparkContext
        self._gate = source.gate
        self._done = done
        self._reports = TaskFailures(context, fail)
        self.door = Delivery(arrived, self._reports.hear, fail)
        address = self._address = source.gate.admit(self.door)
        frame, ahead = source.frame, source.ahead

        def work() -> None:
            with written(frame, source.also, 0):
                # A function of this shape is shipped by value, and what it calls by name.
                shaped = frame if source.shape is None else source.shape(frame)
                if shaped is None:
                    return
                parts, schema = arrow_partitions(shaped)
                parts.mapPartitions(lambda batches: send(address, ahead, schema, batches)).collect()

        self._context = context
        self._job = Job(context, address, work, self._over)
        self._at_work = source.at_work

    def start(self) -> None:
        """Begin the job, unless it was cancelled."""
        self._at_work.begin()
        try:
            self._job.start()
        except Exception:
            self._at_work.end()
            raise
        self._job.afterwards(self._at_work.end)

    def _over(self, error: Exception | None) -> None:
        if error is not None:
            error = self._reports.last or cause_of(self._context, failure.original(error))
        self._done(error)

    def cancel(self) -> None:
        """End the job, if it has begun."""
        self.door.refuse()
        self._job.cancel()

    def dismiss(self) -> None:
        """Close the door for good, once no task is under way to it; Spark would log that it was turned away."""
        self._job.afterwards(lambda: self._gate.dismiss(self._address))


class _Subscription:
    """One subscription to a DataFrame: its outlet, its job, and the pump between them."""

    def __init__(self, source: FrameSource, downstream: Subscriber[Any]) -> None:
        outlet = self._outlet = Outlet(downstream)
        work = self._work = _Work(source, self._arrived, outlet.fail_now, self._done)
        self._pump = Pump(outlet, work.door.poll, source.decode)
        outlet.on_request = self._requested
        outlet.on_cancel = work.cancel
        outlet.on_close = work.dismiss
        self._started = threading.Lock()

    def open(self) -> None:
        self._outlet.open()

    def _arrived(self) -> None:
        self._pump.run()

    def _requested(self, _: int) -> None:
        if self._started.acquire(blocking=False):  # never released: the first request starts the job
            self._work.start()
        self._pump.run()

    def _done(self, error: Exception | None) -> None:
        self._pump.end(None if self._outlet.closed else error)  # a cancelled job fails because it was cancelled


class _Rows(chain[Any]):
    """The rows of one loop, which a loop takes without a call of Python for each; closing it ends the run."""

    parts: Generator[Iterator[Any], None, None]

    def close(self) -> None:
        """End the run; no row comes any more."""
        self.parts.close()
        deque(self, 0)  # what is left of the part that was begun


class _Iteration:
    """One loop over a DataFrame, on a thread that waits for its rows."""

    def __init__(self, source: FrameSource) -> None:
        self._source = source
        self._changed = threading.Condition()
        self._over = False
        self._error: Exception | None = None

    def rows(self) -> Iterator[Any]:
        """Return an iterator over the rows; its first step starts the job, and closing it ends the job."""
        parts = self._parts()
        rows = cast("_Rows", _Rows.from_iterable(parts))
        rows.parts = parts
        return rows

    def _parts(self) -> Generator[Iterator[Any], None, None]:
        """Start the job and give its rows, some at a time: as many as the loop takes in a moment.

        So an error is raised ahead of rows that were taken from the door, however long the loop takes for one.
        """
        decode, some = self._source.decode, 1
        # Not before: an iterator that is closed unused has no other end.
        work = self._work = _Work(self._source, self._wake, self._fail, self._done)
        try:
            work.start()
            while self._waited():
                batch = work.door.poll()
                if batch is None:
                    continue  # it was refused meanwhile
                rows, left = iter(decode(batch)), batch.num_rows
                while left > 0 and self._error is None:
                    since = time.monotonic()
                    yield islice(rows, some)
                    left -= some
                    some = min(2 * some, CHUNK) if time.monotonic() - since < MOMENT else 1
            if self._error is not None:
                raise self._error
        finally:
            if not self._over and self._error is None:
                work.cancel()
            work.dismiss()

    def _waited(self) -> bool:
        """Wait for a batch; tell whether there is one, or else the end."""
        door = self._work.door
        with self._changed:
            self._changed.wait_for(lambda: door.waiting or self._over or self._error is not None)
            return not self._over and self._error is None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify()
        self._work.cancel()  # the loop may take its time to look

    def _done(self, error: Exception | None) -> None:
        with self._changed:
            self._error = self._error or error
            self._over = True
            self._changed.notify()


@dataclass(frozen=True, slots=True)
class FrameSource(Source[Any]):
    """The rows of a batch DataFrame; each subscription runs the job once.

    Emits when downstream asks and a task has rows. Backpressures by leaving the tasks without credit. Completes when
    the job does. Cancels the job.
    """

    clean: ClassVar[bool] = True
    gate: Gate = field(repr=False)
    frame: DataFrame
    decode: Decode = field(repr=False)
    ahead: int = AHEAD
    also: Write | None = None
    shape: Callable[[DataFrame], DataFrame | None] | None = None
    """What is delivered of the DataFrame, where that is not all of it; None for nothing."""
    at_work: AtWork = field(default_factory=AtWork, compare=False, repr=False)
    """What works for all subscriptions."""

    def waiting_opener(self) -> Opener[Any]:
        """Iterate on the caller's own thread, which waits for the tasks."""
        return lambda _: _Iteration(self).rows()

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Start a subscription; the job itself starts with the first request."""
        _Subscription(self, downstream).open()


def stream(
    spark: HeldSession,
    frame: DataFrame,
    *,
    rows: Any = None,
    ahead: int = AHEAD,
    checkpoint: NamedFolder | None = None,
    trigger: Mapping[str, Any] | None = None,
    also: Write | None = None,
    numbered: bool = False,
) -> Stream[Any]:
    """Make a Stream of a DataFrame's rows: named tuples, or by `rows` "tuple", a class of rows, or "arrow" for batches.

    For a streaming DataFrame `checkpoint` is a folder that remembers which micro-batches were delivered, and `trigger`
    is what Spark's own `trigger` takes. `also` is a function that writes a micro-batch, given with its number, before
    its rows are delivered; a batch DataFrame is given whole, as number 0. With `numbered`, each row of a streaming
    DataFrame comes with the number of its micro-batch and its number in it, as a `Numbered`.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"stream: df must be a DataFrame, got {frame!r}")
    if type(ahead) is not int or ahead < 1:
        raise ValueError(f"stream: ahead must be a whole number >= 1, got {ahead!r}")
    if numbered and rows == "arrow":
        raise ValueError("stream: numbered is for rows, and rows='arrow' gives record batches; leave one of them out")
    decode = decoder(frame, rows)
    if frame.isStreaming:
        kept = None if checkpoint is None else folder(checkpoint, spark.session, "stream: checkpoint")
        return Stream(Chain(QuerySource(spark.gate, frame, decode, kept, dict(trigger or {}), also, numbered)))
    for name, value in (("checkpoint", checkpoint), ("trigger", trigger)):
        if value is not None:
            raise ValueError(f"stream: {name} is for streaming DataFrames, and this one is not")
    if numbered:
        raise ValueError("stream: numbered is for streaming DataFrames, which have micro-batches, and this one is not")
    return Stream(Chain(FrameSource(spark.gate, frame, decode, ahead, also)))
