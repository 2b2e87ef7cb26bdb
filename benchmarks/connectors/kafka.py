"""kafka: reading and writing a million records, by hand and by penstock, over the same client and batch size.

    python -m benchmarks.connectors.kafka

Both run in turn against one broker. By hand means the shortest loop that does the same: the reader takes the value of
each message, keeps the offsets and commits them for each batch, as a member of a group, hears of a commit that fails
and waits for the last one; the writer waits for the confirmation of each batch, and has one request under way at a
time, without which records change their order when a request is sent again. Both sides call a function of the user's
for each record. The source commits less often than for each batch, so it is compared as well with a loop that commits
less often still.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from benchmarks.connectors import pairs
from penstock import Sink, Stream
from penstock.connectors import kafka
from penstock.connectors.kafka.topics import HELD, HELD_KBYTES
from tests.connectors.kafka.server import OLD, PATIENT, Broker

COUNT = 1_000_000
BATCH = 1000
ROUNDS = 7
_NUMBERS = count()
SELDOM = 5
"""For how many batches there is one commit in the loop that commits seldom; the source has one for about three."""


def encoded(n: int) -> bytes:
    """Return what is written for a number."""
    return b"%d" % n


def read_by_hand(servers: str, topic: str, group: str, every: int = 1) -> int:
    """Sum the values of a topic with the client alone, committing each batch, or one of several."""
    failures: list[object] = []

    def committed(error: object, _: object) -> None:
        if error is not None:
            failures.append(error)

    own: dict[str, Any] = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False}
    own |= {"on_commit": committed}
    own |= {"queued.min.messages": HELD, "queued.max.messages.kbytes": HELD_KBYTES, "fetch.queue.backoff.ms": 10}
    consumer = Consumer({**PATIENT, **own, "fetch.wait.max.ms": 20, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    total = taken = batches = 0
    offsets: dict[int, int] = {}

    def add(message: Message) -> None:
        nonlocal total
        total += int(message.value() or b"")

    while taken < COUNT:
        for message in consumer.consume(BATCH, 0.1):
            if message.error() is None:
                add(message)
                offsets[message.partition() or 0] = (message.offset() or 0) + 1
                taken += 1
        given = [TopicPartition(topic, number, offset) for number, offset in offsets.items()]
        batches += 1
        if given and (batches % every == 0 or taken >= COUNT):
            consumer.commit(offsets=given, asynchronous=taken < COUNT)
    consumer.close()
    if failures:
        raise RuntimeError(f"{len(failures)} commits have failed")
    return total


def read_by_hand_seldom(servers: str, topic: str, group: str) -> int:
    """Sum the values of a topic with the client alone, committing more seldom than the source does."""
    return read_by_hand(servers, topic, group, SELDOM)


def read_by_penstock(servers: str, topic: str, group: str) -> int:
    """Sum the values of a topic in a pipeline, which commits what is done."""
    total = 0

    def add(record: kafka.Record) -> None:
        nonlocal total
        total += int(record.value or b"")

    source = kafka.source(topic, servers=servers, group=group, live=False, most=BATCH, options=PATIENT)
    (source | Sink.for_each(add)).run().wait()
    return total


def write_by_hand(servers: str, topic: str, _: str) -> int:
    """Write numbers with the client alone, waiting for the confirmation of each batch."""
    failures: list[object] = []

    def failed(error: object, _: object) -> None:
        failures.append(error)

    own: dict[str, Any] = {"bootstrap.servers": servers, "acks": "all", "linger.ms": 5}
    own |= {"max.in.flight.requests.per.connection": 1}
    producer = Producer({**OLD, **own, "delivery.report.only.error": True, "on_delivery": failed})
    for first in range(0, COUNT, BATCH):
        for n in range(first, first + BATCH):
            producer.produce(topic, encoded(n))
        left = producer.flush()
        if left or failures:
            raise RuntimeError(f"{left + len(failures)} records were not confirmed")
    producer.close()
    return COUNT


def write_by_penstock(servers: str, topic: str, _: str) -> int:
    """Write numbers in a pipeline."""
    sink = kafka.sink(topic, servers=servers, idempotent=False, size=BATCH, options=OLD)
    return (Stream.range(COUNT).map(encoded) | sink).run().wait()


def fresh(run: Callable[..., int], servers: str, topic: str) -> Callable[[], int]:
    """Return a run that reads in the name of another group each time."""
    return lambda: run(servers, topic, f"{topic}-{run.__name__}-{next(_NUMBERS)}")


def main() -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder))
        try:
            broker.start()
            broker.create("read")
            broker.create("written")
            broker.produce("read", (b"%d" % n for n in range(COUNT)))
            for name, topic, by_hand, by_penstock in (
                ("source", "read", read_by_hand, read_by_penstock),
                ("source, seldom committed", "read", read_by_hand_seldom, read_by_penstock),
                ("sink", "written", write_by_hand, write_by_penstock),
            ):
                both = (fresh(run, broker.servers, topic) for run in (by_hand, by_penstock))
                print(f"kafka.{name}:", pairs(*both, ROUNDS), flush=True)
        finally:
            broker.stop()


if __name__ == "__main__":
    main()
