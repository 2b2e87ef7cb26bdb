"""delivery: rows of many writers to one subscriber, each once, as they are asked for.

A batch is counted as delivered the moment it is taken for the subscriber, under the lock that also says which attempt
of its partition may write. So an attempt that comes after another is told how many rows to leave out, and the one
before it is refused from then on: nothing twice, nothing lost, as long as a partition repeats its rows in the same
order.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import flight

from penstock.engine.outlet import Outlet
from penstock.spark.gate import Address, Call, Caller, GateError, Message, whole

AHEAD = 2
"""Batches of one task on their way or waiting."""
Decode = Callable[[pa.RecordBatch], Iterable[Any]]


def send(address: Address, ahead: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write a partition to the gate, keeping at most `ahead` batches in flight; runs in an executor."""
    from pyspark import TaskContext  # noqa: PLC0415  only a task has it

    task = TaskContext.get()
    assert task is not None
    with address.connect() as caller:
        sender = Sender(caller, task.partitionId(), task.taskAttemptId(), ahead)
        for batch in batches:
            sender.send(batch)
        sender.finish()
    yield from ()


class Sender:
    """Write the batches of one attempt at one partition."""

    def __init__(self, caller: Caller, partition: int, attempt: int, ahead: int = AHEAD) -> None:
        self._caller = caller
        self._partition = partition
        self._attempt = attempt
        self._ahead = ahead
        self._unanswered = 0
        self._skip = 0
        self._writer: Any = None
        self._answers: Any = None

    def send(self, batch: pa.RecordBatch) -> None:
        """Write a batch once there is credit, without the rows that an earlier attempt delivered."""
        if self._writer is None:
            self._writer, self._answers = self._caller.put(
                batch.schema, partition=self._partition, attempt=self._attempt
            )
            self._skip = int(self._answer()["skip"])
        if self._skip:
            leave_out = min(self._skip, batch.num_rows)
            self._skip -= leave_out
            batch = batch.slice(leave_out)
        if not batch.num_rows:
            return
        while self._unanswered >= self._ahead:
            self._answer()
            self._unanswered -= 1
        self._writer.write_batch(batch)
        self._unanswered += 1

    def finish(self) -> None:
        """Wait until all batches were taken."""
        if self._writer is None:
            return
        self._writer.done_writing()
        while self._unanswered:
            self._answer()
            self._unanswered -= 1
        self._writer.close()

    def _answer(self) -> Message:
        answer = self._answers.read()
        if answer is None:
            self._writer.close()  # raises what the gate refused with
            raise flight.FlightCancelledError("egress: the gate hung up")
        return json.loads(answer.to_pybytes())  # type: ignore[no-any-return]


@dataclass(slots=True)
class Part:
    """Remember what was delivered of a partition, and whose word counts."""

    attempt: int = -1
    rows: int = 0


@dataclass(slots=True)
class _Offer:
    """Be a batch at the door."""

    part: Part
    attempt: int
    batch: pa.RecordBatch
    taken: bool = False


class Delivery:
    """Be the door that tasks write to, and pass their rows to an outlet as they are asked for."""

    def __init__(self, outlet: Outlet[Any], decode: Decode, fail: Callable[[Message], None]) -> None:
        self._outlet = outlet
        self._decode = decode
        self._fail = fail
        self._changed = threading.Condition()
        self._offers: deque[_Offer] = deque()
        self._parts: dict[int, Part] = {}
        self._closed = False
        self._busy = False
        self._again = False
        self.most_waiting = 0
        """The most batches that ever waited at the door at once."""

    # What the gate calls.

    def act(self, call: Call, verb: str, body: Message, /) -> Message:
        """Hear of a task's exception."""
        if verb != "failed":
            raise flight.FlightServerError(f"egress: unknown verb {verb!r}")
        self._fail(body)
        return {}

    def get(self, body: Message, /) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Refuse: nothing is to be had here."""
        raise flight.FlightServerError("egress: there is nothing to read here")

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        """Take the batches of one attempt, one at a time."""
        number, attempt = whole(body, "partition"), whole(body, "attempt")
        with self._changed:
            part = self._parts.setdefault(number, Part())
            self._check(part, attempt)
            part.attempt = attempt
            skip = part.rows  # whatever of an older attempt still waits will be refused, so it is not counted
            self._changed.notify_all()
        writer.write(json.dumps({"skip": skip}).encode())
        while True:
            try:
                batch = reader.read_chunk().data
            except StopIteration:
                return
            if batch.num_rows:
                self.offer(part, attempt, batch)
            writer.write(b"{}")

    def close(self) -> None:
        """Fail the stream: the gate is closing, so nothing more can come."""
        self.refuse()
        self._outlet.fail_now(GateError("stream: the Spark session was closed"))

    def refuse(self) -> None:
        """Refuse whoever waits and whoever comes."""
        with self._changed:
            self._closed = True
            self._offers.clear()
            self._changed.notify_all()

    # Between the tasks and the subscriber.

    def _check(self, part: Part, attempt: int) -> None:
        if self._closed:
            raise flight.FlightCancelledError("egress: the stream has ended")
        if attempt < part.attempt:
            raise flight.FlightCancelledError(f"egress: attempt {attempt} was replaced by attempt {part.attempt}")

    def offer(self, part: Part, attempt: int, batch: pa.RecordBatch) -> None:
        """Wait until a batch is taken."""
        offer = _Offer(part, attempt, batch)
        with self._changed:
            self._check(part, attempt)
            self._offers.append(offer)
            self.most_waiting = max(self.most_waiting, len(self._offers))
        self.pump()
        with self._changed:
            while not offer.taken:
                self._check(part, attempt)
                self._changed.wait()

    def _next(self) -> _Offer | None:
        """Take the next batch if its rows are asked for; hold the lock."""
        outlet = self._outlet
        while self._offers and not self._closed and outlet.demand > len(outlet.queue):
            offer = self._offers.popleft()
            if offer.attempt == offer.part.attempt:
                offer.part.rows += offer.batch.num_rows
                offer.taken = True
                self._changed.notify_all()
                return offer
        return None

    def pump(self) -> None:
        """Move rows to the outlet while they are asked for, unless somebody does already."""
        with self._changed:
            if self._busy:
                self._again = True
                return
            self._busy = True
        while True:
            with self._changed:
                self._again = False
                offer = self._next()
            if offer is not None:
                try:
                    self._outlet.queue.extend(self._decode(offer.batch))
                except Exception as error:  # noqa: BLE001  rule 1.4
                    self._outlet.fail_now(error)
            if offer is not None:
                self._outlet.wake()
                continue
            with self._changed:
                if not self._again:
                    self._busy = False
                    return
