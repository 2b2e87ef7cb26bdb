"""delivery: rows of many writers to one taker, each once, as they are asked for.

A batch is counted as delivered the moment it is taken, under the lock that also says which attempt of its partition may
write. So an attempt that comes after another is told how many rows to leave out, and the one before it is refused from
then on: nothing twice, nothing lost, as long as a partition repeats its rows in the same order.

What is held is bounded: a writer has at most `ahead` batches that were not taken, the first of them at the door and
the others on the wire, and a batch has as many rows as `spark.sql.execution.arrow.maxRecordsPerBatch` says.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import flight

from penstock.spark.wire.gate import Caller, DoorAddress, DoorCall, GateError, Message, whole

AHEAD = 2
"""Batches of one task on their way or waiting."""
CLOSING = 1.0
"""Seconds for tasks to hear that the gate is closing."""
_OVER = b'{"over": true}'


class StreamOver(Exception):
    """The end of a stream whose subscriber has gone, as a task hears of it."""


def send(address: DoorAddress, ahead: int, schema: pa.Schema, batches: Iterable[bytes]) -> Iterator[Any]:
    """Write a partition to the gate, keeping at most `ahead` batches in flight; runs in an executor."""
    from pyspark import TaskContext  # noqa: PLC0415  only a task has it

    task = TaskContext.get()
    assert task is not None
    with address.connect() as caller:  # not one that is kept: what fails half-way must close its connection
        sender = BatchSender(caller, task.partitionId(), task.taskAttemptId(), ahead)
        try:
            sender.open(schema)  # a task that comes too late ends before Spark has made anything for it
            for batch in batches:
                sender.send(pa.ipc.read_record_batch(pa.py_buffer(batch), schema))
            sender.finish()
        except StreamOver:
            pass  # to Spark it has ended well: a task that fails or is killed costs a log entry, or memory
    yield from ()


class BatchSender:
    """The writer of one attempt at one partition."""

    def __init__(self, caller: Caller, partition: int, attempt: int, ahead: int = AHEAD) -> None:
        self._caller = caller
        self._partition = partition
        self._attempt = attempt
        self._ahead = ahead
        self._unanswered = 0
        self._skip = 0
        self._writer: Any = None
        self._answers: Any = None

    def open(self, schema: pa.Schema) -> None:
        """Say that this attempt has begun, and learn how many rows to leave out."""
        self._writer, self._answers = self._caller.put(schema, partition=self._partition, attempt=self._attempt)
        self._skip = int(self._answer()["skip"])

    def send(self, batch: pa.RecordBatch) -> None:
        """Write a batch once there is credit, without the rows that an earlier attempt delivered."""
        if self._answers is None:
            self.open(batch.schema)
        if self._skip:
            leave_out = min(self._skip, batch.num_rows)
            self._skip -= leave_out
            batch = batch.slice(leave_out)
        if not batch.num_rows:
            return
        while self._unanswered >= self._ahead:
            self._answer()
            self._unanswered -= 1
        self._unanswered += 1
        try:
            self._writer.write_batch(batch)
        except Exception:
            self._hear_out()
            raise

    def finish(self) -> None:
        """Wait until all batches were taken."""
        if self._writer is None:
            return
        try:
            self._writer.done_writing()
        except Exception:
            self._hear_out()
            raise
        while self._unanswered:
            self._answer()
            self._unanswered -= 1
        self._writer.close()

    def _hear_out(self) -> None:
        """Raise StreamOver if that is why the gate has hung up."""
        while self._unanswered:
            self._answer()
            self._unanswered -= 1

    def _answer(self) -> Message:
        answer = self._answers.read()
        if answer is None:
            self._writer.close()  # raises what the gate refused with
            raise flight.FlightCancelledError("egress: the gate hung up")
        message: Message = json.loads(answer.to_pybytes())
        if "over" in message:
            with suppress(pa.ArrowException, flight.FlightError):
                self._writer.done_writing()  # the gate reads up to here
            raise StreamOver
        return message


@dataclass(slots=True)
class PartitionRecord:
    """How many rows of a partition were delivered, and which attempt may write."""

    attempt: int = -1
    rows: int = 0


@dataclass(slots=True, eq=False)
class _Offer:
    """A batch at the door; its writer waits until it is settled, and it is refused if it was not taken by then."""

    part: PartitionRecord
    attempt: int
    batch: pa.RecordBatch
    settled: threading.Event = field(default_factory=threading.Event)
    taken: bool = False


class Delivery:
    """The door that tasks write to, with the batch that each of them offers until it is taken."""

    def __init__(
        self,
        arrived: Callable[[], None],
        hear: Callable[[Message], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._arrived = arrived
        self._hear = hear
        self._fail = fail
        self._lock = threading.Lock()
        self._offers: deque[_Offer] = deque()
        self._parts: dict[int, PartitionRecord] = {}
        self._refuses = False
        self._writers = 0
        self._left = threading.Condition(self._lock)
        self.most_waiting = 0
        """The most batches that ever waited at the door at once."""

    # What the gate calls.

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        """Hear of a task's exception."""
        if verb != "failed":
            raise flight.FlightServerError(f"egress: unknown verb {verb!r}")
        self._hear(body)
        return {}

    def get(self, body: Message, /) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Refuse: there is nothing to read here."""
        raise flight.FlightServerError("egress: there is nothing to read here")

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        """Take the batches of one attempt, one at a time."""
        with self._lock:
            self._writers += 1
        try:
            self._put(whole(body, "partition"), whole(body, "attempt"), reader, writer)
        finally:
            with self._lock:
                self._writers -= 1
                self._left.notify_all()

    def _put(self, number: int, attempt: int, reader: Any, writer: Any) -> None:
        with self._lock:
            over = self._refuses
            part = self._parts.setdefault(number, PartitionRecord())
            self._check(part, attempt)
            part.attempt = attempt
            skip = part.rows
            # An older attempt's batch that still waits was not counted, so it must never be taken.
            self._settle([offer for offer in self._offers if offer.part is part and offer.attempt < attempt])
        writer.write(_OVER if over else json.dumps({"skip": skip}).encode())
        while not over:
            try:
                batch = reader.read_chunk().data
            except StopIteration:
                return
            over = bool(batch.num_rows) and not self.offer(part, attempt, batch)
            writer.write(_OVER if over else b"{}")
        with suppress(StopIteration, pa.ArrowException, flight.FlightError):
            while True:  # a call that is ended with something unread in it may lose the answer
                reader.read_chunk()

    def close(self) -> None:
        """Fail the stream, which then ends its job: the gate is closing, so nothing more can come."""
        self._fail(GateError("stream: the Spark session was closed"))
        self.refuse()
        with self._lock:  # else tasks would find the gate hung up, and Spark would log that
            self._left.wait_for(lambda: not self._writers, CLOSING)

    # Between the tasks and the taker.

    def refuse(self) -> None:
        """Tell the tasks that wait, and those that come later, that the stream is over."""
        with self._lock:
            self._refuses = True
            self._settle(list(self._offers))

    def _settle(self, refused: list[_Offer]) -> None:
        """Refuse some batches; hold the lock."""
        for offer in refused:
            self._offers.remove(offer)
            offer.settled.set()

    def _check(self, part: PartitionRecord, attempt: int) -> None:
        if attempt < part.attempt:
            raise flight.FlightCancelledError(f"egress: attempt {attempt} was replaced by attempt {part.attempt}")

    def offer(self, part: PartitionRecord, attempt: int, batch: pa.RecordBatch) -> bool:
        """Wait until a batch is taken; tell whether it was, or else the stream is over."""
        offer = _Offer(part, attempt, batch)
        with self._lock:
            self._check(part, attempt)
            if self._refuses:
                return False
            self._offers.append(offer)
            self.most_waiting = max(self.most_waiting, len(self._offers))
        self._arrived()
        offer.settled.wait()
        if not offer.taken:
            with self._lock:
                self._check(part, attempt)
        return offer.taken

    @property
    def waiting(self) -> int:
        """Return how many batches wait at the door."""
        return len(self._offers)

    def poll(self) -> pa.RecordBatch | None:
        """Take the batch that has waited longest, if any waits."""
        with self._lock:
            if not self._offers:
                return None
            offer = self._offers.popleft()
            offer.part.rows += offer.batch.num_rows
            offer.taken = True
        offer.settled.set()
        return offer.batch
