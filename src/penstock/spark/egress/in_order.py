"""in_order: the record batches of a DataFrame, partition after partition, of which few are in this process at a time.

The tasks of the job run side by side and write to the gate, which holds some rows of them all together, so that a
small micro-batch leaves no task behind that waits on a core for a slow subscriber. Taken are those of the first
partition that is not through; beyond what is held, the others stand still meanwhile. A task that fails is run again,
and might not get a core while those behind it stand still on all of them: when they do, and the partition whose turn it
is has had no task for a moment after one that failed, what the others hold is taken, out of order. A task that has not
come yet is only slow to begin, since Spark begins them in order, and is waited for much longer.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import flight
from pyspark.util import InheritableThread

from penstock.spark.egress.arrow_partitions import arrow_partitions
from penstock.spark.egress.delivery import AHEAD, BatchSender
from penstock.spark.wire.gate import DoorAddress, DoorCall, Gate, GateError, Message, whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HELD = 64_000
"""Rows of all partitions together that wait here without holding their tasks up."""
LOOK = 0.1
"""Seconds between two looks whether the subscriber is still there."""
GRACE = 1.0
"""Seconds that the partition whose turn it is may be without a task, after one that failed, before others are taken."""
BEGINNING = 60.0
"""The same before its first task has come; on a busy machine a task takes long to begin."""
ENDING = 10.0
"""Seconds for a job to end whose rows are not wanted any more."""


@dataclass(slots=True, eq=False)
class PartitionState:
    """How many rows of a partition were taken, which attempt may write, and what of it waits."""

    rows: int = 0
    attempt: int = -1
    present: bool = False
    finished: bool = False
    offers: deque[pa.RecordBatch] = field(default_factory=deque)


class OrderedDoor:
    """The door that tasks write to, a few batches ahead of what is taken."""

    def __init__(self, now: Callable[[], float] = time.monotonic, held: int | None = None) -> None:
        self._changed = threading.Condition()
        self._now = now
        self._states: dict[int, PartitionState] = {}
        self._turn = 0
        self._absent_since: float | None = None
        self._refuses = False
        self._held, self._most = 0, HELD if held is None else held
        self.over = False
        """Whether the job has ended."""
        self.error: Exception | None = None
        self.most_held = 0
        """The most rows that ever waited here at once."""

    # What the gate calls.

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        """Refuse: failures are reported elsewhere."""
        raise GateError(f"stream: unknown verb {verb!r}")

    def get(self, body: Message, /) -> Any:
        """Refuse: there is nothing to read here."""
        raise GateError("stream: there is nothing to read here")

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        """Take the batches of one attempt."""
        number, attempt = whole(body, "partition"), whole(body, "attempt")
        state, skip = self.begin(number, attempt)
        writer.write(json.dumps({"skip": skip}).encode())
        finished = False
        try:
            while True:
                try:
                    batch = reader.read_chunk().data
                except StopIteration:
                    finished = True
                    return
                if batch.num_rows:
                    self.offer(state, attempt, batch)
                writer.write(b"{}")
        finally:
            self.end(state, attempt, finished=finished)

    def close(self) -> None:
        """Refuse everything: the gate is closing."""
        self.refuse()

    # The tasks' side.

    def begin(self, number: int, attempt: int) -> tuple[PartitionState, int]:
        """Let an attempt write; return how many rows of its partition were taken already."""
        with self._changed:
            state = self._states.setdefault(number, PartitionState())
            self._check(state, attempt)
            state.attempt, state.present = attempt, True
            if state.offers:  # an older attempt's, which were not counted
                self._drop(state)
                state.finished = False
            self._changed.notify_all()
            return state, state.rows

    def end(self, state: PartitionState, attempt: int, *, finished: bool) -> None:
        """Note that an attempt writes no more."""
        with self._changed:
            if state.attempt == attempt:
                state.present = False
                state.finished = state.finished or finished
                self._changed.notify_all()

    def offer(self, state: PartitionState, attempt: int, batch: pa.RecordBatch) -> None:
        """Put a batch down; where there are too many, wait until those of this partition were taken."""
        with self._changed:
            self._check(state, attempt)
            state.offers.append(batch)
            self._held += batch.num_rows
            self.most_held = max(self.most_held, self._held)
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._held <= self._most or not state.offers or self._refuses or attempt < state.attempt
            )
            self._check(state, attempt)

    def _check(self, state: PartitionState, attempt: int) -> None:
        if self._refuses:
            raise flight.FlightCancelledError("egress: the stream has ended")
        if attempt < state.attempt:
            raise flight.FlightCancelledError(f"egress: attempt {attempt} was replaced by attempt {state.attempt}")

    def _drop(self, state: PartitionState) -> None:
        self._held -= sum(batch.num_rows for batch in state.offers)
        state.offers.clear()

    # The taker's side.

    def refuse(self) -> None:
        """Refuse the tasks that wait and those that come later."""
        with self._changed:
            self._refuses = True
            for state in self._states.values():
                self._drop(state)
            self._changed.notify_all()

    def ended(self, error: Exception | None) -> None:
        """Note that the job is over."""
        with self._changed:
            self.over, self.error = True, error
            self._changed.notify_all()

    def take(self, seconds: float = LOOK) -> pa.RecordBatch | None:
        """Take the next batch, waiting for it; None if there is none yet, or none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._next() is not None or self.over, seconds)
            state = self._next()
            if state is None:
                return None
            batch = state.offers.popleft()
            self._held -= batch.num_rows
            state.rows += batch.num_rows
            self._changed.notify_all()
            return batch

    def _next(self) -> PartitionState | None:
        """Return the partition whose batch is to be taken, if it has one; hold the lock."""
        if self.error is not None:
            return None
        states = self._states
        while self._turn in states and states[self._turn].finished and not states[self._turn].offers:
            self._turn += 1
            self._absent_since = None
        state = states.get(self._turn)
        if state is not None and (state.present or state.offers):
            self._absent_since = None
            return state if state.offers else None
        others = [each for _, each in sorted(states.items()) if each.offers]
        if not others or (self._held <= self._most and not self.over):
            return None  # no task stands still, so that one which is missing finds a core
        if self._absent_since is None:
            self._absent_since = self._now()
        patience = BEGINNING if state is None else GRACE
        return others[0] if self.over or self._now() - self._absent_since >= patience else None


def send_in_order(address: DoorAddress, schema: pa.Schema, batches: Iterable[bytes]) -> Iterator[Any]:
    """Write a partition to the gate, a few batches ahead of what was taken; runs in an executor."""
    from pyspark import TaskContext  # noqa: PLC0415  only a task has it

    task = TaskContext.get()
    assert task is not None
    with address.connect() as caller:  # not one that is kept: what fails half-way must close its connection
        sender = BatchSender(caller, task.partitionId(), task.taskAttemptId(), AHEAD)
        sender.open(schema)
        for batch in batches:
            sender.send(pa.ipc.read_record_batch(pa.py_buffer(batch), schema))
        sender.finish()
    yield from ()


def batches_in_order(gate: Gate, frame: DataFrame, gone: Callable[[], bool]) -> Generator[pa.RecordBatch, None, None]:
    """Run the job of a DataFrame and return its batches as they are asked for, until the subscriber is `gone`."""
    door = OrderedDoor()
    address = gate.admit(door)

    def work() -> None:
        error: Exception | None = None
        try:
            parts, schema = arrow_partitions(frame)
            parts.mapPartitions(lambda batches: send_in_order(address, schema, batches)).collect()
        except Exception as raised:  # noqa: BLE001  it is raised by the thread that takes
            error = raised
        door.ended(error)

    # It takes over what Spark knows of this thread: the query that may cancel its jobs, and where tasks report.
    job = InheritableThread(target=work, name="penstock-microbatch", daemon=True)
    job.start()
    try:
        while not gone():
            batch = door.take()
            if batch is not None:
                yield batch
            elif door.over:
                if door.error is not None:
                    raise door.error
                return
    finally:
        door.refuse()
        job.join(ENDING)
        gate.dismiss(address)


__all__ = ["OrderedDoor", "batches_in_order", "send_in_order"]
