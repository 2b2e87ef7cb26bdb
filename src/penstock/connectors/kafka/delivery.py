"""delivery: the end of a pipeline that writes records to topics, each batch confirmed by the brokers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, repeat
from operator import length_hint
from threading import Event
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from penstock.connectors.kafka.client_thread import ClientThread
from penstock.connectors.kafka.link import LOGGER, BrokerLink, Complaints, told, topics_there
from penstock.connectors.kafka.positions import Place
from penstock.connectors.kafka.record import Record
from penstock.connectors.kafka.topics_reader import ConsumingReader
from penstock.connectors.writing import telling, writing
from penstock.engine.words.arguments import count_given
from penstock.sinks.sink import Sink

SIZE = 10_000
TIMEOUT = 60.0
SLICE = 0.1
"""Seconds of a wait, after which it is looked whether the run was cancelled."""
ATTEMPTS = 3
"""How often a transaction is begun for a batch."""
OWN = {
    "bootstrap.servers": "give servers",
    "transactional.id": "give transactional_id",
    "enable.idempotence": "give idempotent",
    "acks": "every batch is confirmed by all replicas in sync",
    "message.timeout.ms": "give timeout",
    "delivery.report.only.error": "a batch is done when no record of it has failed",
    "on_delivery": "a batch is done when no record of it has failed",
}


def sink(
    topic: str | None = None,
    *,
    servers: str | Sequence[str],
    transactional_id: str | None = None,
    with_offsets: bool = False,
    idempotent: bool = True,
    size: int = SIZE,
    seconds: float | None = 1.0,
    timeout: float = TIMEOUT,
    options: Mapping[str, Any] | None = None,
) -> Sink[Record | bytes, int]:
    """Write records in batches, each of them confirmed by the brokers before it counts as done.

    It holds at most `size` elements, and as many that are being written. The result is how many were written.

    Args:
        topic: Where they go. If it is not said, each record names its topic, and perhaps its partition. Otherwise the
            key decides the partition, and a record that was read goes on with its key, value, headers and timestamp.
        servers: The brokers, as `host:port`.
        transactional_id: A name, by which each batch is one transaction: readers of committed records see all of it or
            nothing. A second producer with this name ends the first one.
        with_offsets: Whether the transactions commit the offsets of the source, a `source` or `partition` with a group
            at the same brokers: then each record that is read is written for once, whatever dies in between. Elements
            wait until all that was made of the records before them has come. It needs brokers from 2.5 on.
        idempotent: Whether the brokers leave out what the client sends again after a lost answer; brokers before 0.11
            cannot.
        size: How many elements a batch has at most.
        seconds: How long the first element of a batch waits until the batch is written, full or not.
        timeout: Seconds in which the brokers have to confirm a batch; the run fails if they do not.
        options: Other settings of librdkafka, such as `security.protocol` or `compression.type`.

    Raises:
        TypeError: A number is none.
        ValueError: A number is too small, a name is empty, or an option is set that an argument is for.
    """
    for name, given in (("topic", topic), ("transactional_id", transactional_id)):
        if given is not None and not (isinstance(given, str) and given):
            raise ValueError(f"kafka: {name} must be a name, got {given!r}")
    count_given("kafka", "size", size, 1)
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(f"kafka: timeout must be > 0 seconds, got {timeout!r}")
    if transactional_id is not None and not idempotent:
        raise ValueError("kafka: transactions need idempotent=True")
    opens = OpenTopic(BrokerLink.of(servers, options, OWN), topic, transactional_id, idempotent, float(timeout), size)
    if not with_offsets:
        return writing(opens, size=size, seconds=seconds, ahead=True)
    if transactional_id is None or seconds is None:
        raise ValueError("kafka: with_offsets needs a transactional_id, and seconds")
    return telling(opens, size=size, seconds=seconds)


@dataclass(frozen=True, slots=True)
class OpenTopic:
    """What the writer of a run is opened by; a value that pickles."""

    link: BrokerLink
    topic: str | None
    transactional_id: str | None
    idempotent: bool
    timeout: float
    size: int

    async def __call__(self) -> TopicWriter:
        writer = TopicWriter(self)
        await writer.open()
        return writer

    def producer(self, complaints: Complaints, failed: Callable[[KafkaError | None, Message], None]) -> Producer:
        """Make a producer, which tells of records that were not confirmed; it has not connected yet."""
        own: dict[str, Any] = {
            "acks": "all",
            "enable.idempotence": self.idempotent,
            "message.timeout.ms": int(self.timeout * 1000),
            "queue.buffering.max.messages": max(100_000, 2 * self.size),
            "linger.ms": 5,
            "delivery.report.only.error": True,  # each call back of a record that is confirmed takes longer than it
            "on_delivery": failed,
        }
        if not self.idempotent:
            own["max.in.flight.requests.per.connection"] = 1  # else one that is sent again comes behind the next
        if self.transactional_id is not None:
            own["transactional.id"] = self.transactional_id
            own["transaction.timeout.ms"] = max(1000, int(self.timeout * 1000))
        return Producer(self.link.config(own, complaints), logger=LOGGER)


class TopicWriter:
    """The producer of one run."""

    def __init__(self, how: OpenTopic) -> None:
        self._how = how
        self._complaints = Complaints()
        self._worker = ClientThread("penstock-kafka")
        self._left = Event()
        self._producer: Any = None
        self._failures = 0
        self._failure: KafkaError | None = None
        self._in_transaction = False

    async def open(self) -> None:
        """Connect; with a name for transactions, end those that another producer of this name has left open."""
        ready = False
        try:
            await self._worker.do(self._open)
            ready = True
        finally:
            if not ready:
                self._left.set()
                self._worker.end(self._close)

    def _open(self) -> None:
        self._producer = self._how.producer(self._complaints, self._failed)
        topics_there(self._producer, self._how.link, self._complaints, self._left)
        if self._how.transactional_id is not None:
            self._in_steps("init_transactions", self._producer.init_transactions)

    async def write(self, batch: list[Record | bytes], /) -> None:
        """Write a batch; the brokers have confirmed all of it when this returns."""
        await self._worker.do(self._write, batch)

    async def write_done(self, batch: list[Record | bytes], reader: Any, position: Any, /) -> None:
        """Write a batch and the offsets of the source behind it, in one transaction."""
        source = _offsets_source(reader, self._how.link)
        await self._worker.do(self._write, batch, source, position)

    async def close(self, error: BaseException | None, /) -> None:
        """Let go of the producer; what is not confirmed is given up."""
        self._left.set()
        try:
            await self._worker.do(self._close)
        finally:
            self._worker.end()

    # On the worker's thread.

    def _write(self, batch: list[Record | bytes], source: ConsumingReader | None = None, position: Any = None) -> None:
        if self._how.transactional_id is None:
            self._deliver(batch)
            return
        offsets: dict[Place, int] = {}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._in_transaction = True
                self._producer.begin_transaction()
                self._deliver(batch)
                if source is not None and position is not None:
                    offsets, group = source.to_send(position)
                    self._send_offsets(offsets, group)
                self._in_steps("commit_transaction", self._producer.commit_transaction)
            except KafkaException as error:
                reason = error.args[0]
                if not reason.txn_requires_abort() or attempt == ATTEMPTS or self._left.is_set():
                    about = f"the transaction {self._how.transactional_id!r} of {len(batch)} records"
                    raise told(reason, self._how.link, about) from error
                LOGGER.warning("the transaction of a batch is tried again: %s", reason)
                self._abort()
            else:
                self._in_transaction = False
                if source is not None:
                    source.sent(offsets)
                return

    def _send_offsets(self, offsets: Mapping[Place, int], group: Any) -> None:
        given = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        if given:
            send = partial(self._producer.send_offsets_to_transaction, given, group)
            self._in_steps("send_offsets_to_transaction", send)

    def _deliver(self, batch: list[Record | bytes]) -> None:
        self._failures = 0
        self._failure = None
        deadline = time.monotonic() + self._how.timeout + 5.0  # the client gives up first, and says why
        topic, begun = self._how.topic, 0
        if topic is not None and type(batch) is list and {*map(type, batch)} == {bytes}:  # nothing to look up for any
            begun = self._send_values(topic, batch)
        for element in islice(batch, begun, None):
            self._send(element, deadline)
        while (open_ones := self._producer.flush(SLICE)) and not self._left.is_set() and time.monotonic() < deadline:
            if self._complaints.refusal is not None:
                self._producer.purge()
        if open_ones or self._failures:
            raise self._unconfirmed(open_ones + self._failures, len(batch))

    def _send_values(self, topic: str, values: list[Any]) -> int:
        """Hand values to the client until its queue is full; return how many it has taken."""
        left = iter(values)
        try:
            deque(map(self._producer.produce, repeat(topic), left), 0)
        except BufferError:
            return len(values) - length_hint(left) - 1  # the last one that was read was not taken
        return len(values)

    def _send(self, element: Record | bytes, deadline: float) -> None:
        target: Any = self._how.topic
        given: dict[str, Any] = {}
        if isinstance(element, bytes):
            given["value"] = element
        elif isinstance(element, Record):
            given = {"value": element.value, "key": element.key}
            if element.headers:
                given["headers"] = list(element.headers)
            if element.timestamp is not None:
                given["timestamp"] = element.timestamp
            if target is None and element.partition >= 0:
                given["partition"] = element.partition
            target = target or element.topic
        else:
            raise TypeError(f"kafka: records or bytes are written, got {element!r:.100}; make one with Record.of")
        if not target:
            raise ValueError(f"kafka: {element!r:.100} names no topic; give one to sink, or to Record.of")
        while True:
            try:
                self._producer.produce(target, **given)
            except BufferError:  # larger than the client's queue
                if self._left.is_set() or time.monotonic() > deadline:
                    raise
                self._producer.poll(SLICE)
            else:
                return

    def _failed(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            return
        self._failures += 1
        if self._failure is None or self._failure.code() in _PURGED:
            self._failure = error

    def _unconfirmed(self, lost: int, count: int) -> Exception:
        about = f"{lost} of {count} records were not confirmed"
        reason = self._failure
        if self._complaints.refusal is not None and (reason is None or reason.code() in _PURGED):
            reason = self._complaints.refusal
        if reason is None:
            return ConnectionError(f"kafka: {about} ({self._how.link.servers})")
        if reason.txn_requires_abort():
            return KafkaException(reason)
        return told(reason, self._how.link, about)

    def _in_steps(self, name: str, call: Any) -> None:
        """Make a call that waits for the brokers, a little at a time, so that a cancel is seen."""
        deadline = time.monotonic() + self._how.timeout
        while True:
            try:
                call(1.0)
            except KafkaException as error:
                reason = error.args[0]
                self._producer.poll(0)
                refusal = self._complaints.refusal
                if refusal is not None and not reason.txn_requires_abort():
                    raise told(refusal, self._how.link, name) from error
                if reason.txn_requires_abort():
                    raise
                if not reason.retriable() or self._left.is_set() or time.monotonic() > deadline:
                    raise told(reason, self._how.link, name) from error
            else:
                return

    def _abort(self) -> None:
        self._in_transaction = False
        try:
            self._producer.purge()
            self._producer.abort_transaction(5.0)
        except KafkaException as error:
            LOGGER.warning("a transaction was not aborted, and ends by its timeout: %s", error)

    def _close(self) -> None:
        if self._producer is None:
            return
        if self._in_transaction:
            self._abort()
        producer, self._producer = self._producer, None  # it goes with the last that holds it, if it does not close
        for call in (producer.purge, partial(producer.flush, 1.0), producer.close):
            try:
                call()
            except (KafkaException, SystemError) as error:  # what it was ended by, told again; the run knows it
                LOGGER.info("%s", error)


def _offsets_source(reader: Any, link: BrokerLink) -> ConsumingReader:
    """Check that the offsets of a source can go into a transaction."""
    if not isinstance(reader, ConsumingReader) or reader.how.group is None:
        raise TypeError("kafka: with_offsets is for a kafka.source or kafka.partition with a group, got another source")
    if reader.how.link.servers != link.servers:
        raise ValueError(
            f"kafka: a transaction holds offsets of the same brokers: the source reads from {reader.how.link.servers}, "
            f"and the sink writes to {link.servers}; give both the same servers"
        )
    return reader


_PURGED = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}

__all__ = ["OpenTopic", "sink"]
