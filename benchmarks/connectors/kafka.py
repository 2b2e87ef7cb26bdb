"""kafka: reading and writing a million records, by hand and by penstock, over the same client and batch size.

    python -m benchmarks.connectors.kafka

Both run in turn against one broker. By hand means the shortest loop that does the same: the reader takes the value of
each message, keeps the offsets and commits them for each batch; the writer waits for the confirmation of each batch.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from penstock import Sink, Stream
from penstock.connectors import kafka
from penstock.connectors.kafka.topics import HELD, HELD_KBYTES
from tests.connectors.kafka.server import OLD, OPTIONS, PARTITIONS, Broker

COUNT = 1_000_000
BATCH = 1000
ROUNDS = 5


def read_by_hand(servers: str, topic: str, group: str) -> int:
    """Sum the values of a topic with the client alone, committing each batch."""
    own: dict[str, Any] = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False}
    own |= {"queued.min.messages": HELD, "queued.max.messages.kbytes": HELD_KBYTES, "fetch.queue.backoff.ms": 10}
    consumer = Consumer({**OPTIONS, **own, "fetch.wait.max.ms": 20})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    total = count = 0
    offsets: dict[int, int] = {}
    while count < COUNT:
        for message in consumer.consume(BATCH, 0.1):
            if message.error() is None:
                total += int(message.value() or b"")
                offsets[message.partition() or 0] = (message.offset() or 0) + 1
                count += 1
        given = [TopicPartition(topic, number, offset) for number, offset in offsets.items()]
        if given:
            consumer.commit(offsets=given, asynchronous=True)
    consumer.close()
    return total


def read_by_penstock(servers: str, topic: str, group: str) -> int:
    """Sum the values of a topic in a pipeline, which commits what is done."""
    total = 0

    def add(record: kafka.Record) -> None:
        nonlocal total
        total += int(record.value or b"")

    source = kafka.source(topic, servers=servers, group=group, live=False, most=BATCH, options=OPTIONS)
    (source | Sink.for_each(add)).run().wait()
    return total


def write_by_hand(servers: str, topic: str, _: str) -> int:
    """Write numbers with the client alone, waiting for the confirmation of each batch."""
    producer = Producer({**OLD, "bootstrap.servers": servers, "acks": "all", "linger.ms": 5})
    confirmed = 0

    def delivered(error: object, _: object) -> None:
        nonlocal confirmed
        confirmed += error is None

    for first in range(0, COUNT, BATCH):
        for n in range(first, first + BATCH):
            producer.produce(topic, b"%d" % n, on_delivery=delivered)
        producer.flush()
    producer.close()
    return confirmed


def write_by_penstock(servers: str, topic: str, _: str) -> int:
    """Write numbers in a pipeline."""
    sink = kafka.sink(topic, servers=servers, idempotent=False, size=BATCH, options=OLD)
    return (Stream.range(COUNT).map(lambda n: b"%d" % n) | sink).run().wait()


def ratio(
    by_hand: Callable[..., int], by_penstock: Callable[..., int], servers: str, topic: str
) -> tuple[float, float]:
    """Return the median ratio of pairs of runs, and the seconds by hand."""
    ratios, seconds = [], []
    for n in range(ROUNDS):
        times = []
        for run in (by_hand, by_penstock):
            began = time.perf_counter()
            run(servers, topic, f"{topic}-{run.__name__}-{n}")
            times.append(time.perf_counter() - began)
        ratios.append(times[1] / times[0])
        seconds.append(times[0])
    return statistics.median(ratios), statistics.median(seconds)


def main() -> None:
    """Print both ratios."""
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder))
        try:
            broker.start()
            broker.create("read")
            broker.create("written")
            broker.produce("read", (b"%d" % n for n in range(COUNT)))
            for name, topic, by_hand, by_penstock in (
                ("source", "read", read_by_hand, read_by_penstock),
                ("sink", "written", write_by_hand, write_by_penstock),
            ):
                found, seconds = ratio(by_hand, by_penstock, broker.servers, topic)
                print(f"kafka.{name}: {found:.2f}x of the loop by hand, which takes {seconds:.2f} s", flush=True)
        finally:
            broker.stop()


if __name__ == "__main__":
    main()
