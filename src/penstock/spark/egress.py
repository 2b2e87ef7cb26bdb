"""egress: a DataFrame as a Stream, under demand.

Each task of the job writes its batches to the gate, a few ahead of what was taken here; when nobody asks, the tasks
stand still. Rows of different partitions come in any order, those of one partition in theirs. A task that is run again
repeats nothing, provided that its partition has the same rows in the same order the second time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from penstock.engine.chain import Chain
from penstock.engine.outlet import Outlet
from penstock.spark import failure
from penstock.spark.delivery import AHEAD, Decode, Delivery, send
from penstock.spark.gate import Gate
from penstock.spark.job import Job, Reports
from penstock.spark.microbatch import QuerySource
from penstock.spark.schema import Form, Schema
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.session import Spark


class _Run:
    """Be one subscription to a DataFrame: its outlet, its door and its job."""

    def __init__(self, source: FrameSource, downstream: Subscriber[Any]) -> None:
        outlet = self._outlet = Outlet(downstream)
        outlet.on_request = self._requested
        outlet.on_cancel = self._cancel
        outlet.on_close = self._closed
        context = source.frame.sparkSession.sparkContext
        self._gate = source.gate
        self._reports = Reports(context, outlet.fail_now)
        self._delivery = Delivery(outlet, source.decode, self._reports.hear)
        address = self._address = source.gate.admit(self._delivery)
        frame, ahead = source.frame, source.ahead

        def work() -> None:
            # A function of this shape is shipped by value, and what it calls by name.
            frame.mapInArrow(lambda batches: send(address, ahead, batches), "none int").collect()

        self._job = Job(context, address, work, self._done)
        self._started = threading.Lock()

    def open(self) -> None:
        self._outlet.open()

    def _requested(self, _: int) -> None:
        if self._started.acquire(blocking=False):  # never released: the first request starts the job
            self._job.start()
        self._delivery.pump()

    def _done(self, error: Exception | None) -> None:
        if self._outlet.closed:
            error = None  # what a cancelled job says is no news
        elif error is not None:
            error = self._reports.last or failure.original(error)
        self._outlet.complete(error)

    def _cancel(self) -> None:
        self._job.cancel(self._delivery.refuse)

    def _closed(self) -> None:
        self._gate.dismiss(self._address)


@dataclass(frozen=True, slots=True)
class FrameSource(Source[Any]):
    """Deliver the rows of a batch DataFrame; each subscription runs the job once.

    Emits when downstream asks and a task has rows. Backpressures by leaving the tasks without credit. Completes when
    the job does. Cancels the job.
    """

    gate: Gate = field(repr=False)
    frame: DataFrame
    decode: Decode = field(repr=False)
    ahead: int = AHEAD

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Start a subscription; the job itself starts with the first request."""
        _Run(self, downstream).open()


def _decoder(frame: DataFrame, rows: Any) -> Decode:
    """Return how record batches become elements."""
    schema = Schema.of(frame.schema)
    if isinstance(rows, str) and rows == "arrow":
        return lambda batch: (schema.fitted(batch),)
    return schema.reader(cast("Form | None", rows))  # which checks it


def stream(
    spark: Spark,
    frame: DataFrame,
    *,
    rows: Any = None,
    ahead: int = AHEAD,
    checkpoint: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
) -> Stream[Any]:
    """Make a Stream of a DataFrame's rows: named tuples, or by `rows` "tuple", a class of rows, or "arrow" for batches.

    For a streaming DataFrame `checkpoint` is a folder that remembers which micro-batches were delivered, and `trigger`
    is what Spark's own `trigger` takes.
    """
    if type(ahead) is not int or ahead < 1:
        raise ValueError(f"stream: ahead must be a whole number >= 1, got {ahead!r}")
    decode = _decoder(frame, rows)
    if frame.isStreaming:
        folder = None if checkpoint is None else Path(checkpoint)
        return Stream(Chain(QuerySource(spark.gate, frame, decode, folder, dict(trigger or {}))))
    for name, value in (("checkpoint", checkpoint), ("trigger", trigger)):
        if value is not None:
            raise ValueError(f"stream: {name} is for streaming DataFrames, and this one is not")
    return Stream(Chain(FrameSource(spark.gate, frame, decode, ahead)))
