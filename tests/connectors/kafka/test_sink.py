"""kafka.sink: batches that the brokers have confirmed, one transaction each where that is asked for."""

from __future__ import annotations

import asyncio
import pickle
import threading
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException

from penstock import Stream
from penstock.connectors import kafka
from penstock.connectors.kafka.delivery import OpenTopic
from penstock.connectors.kafka.link import BrokerLink
from penstock.testing import ManualPublisher
from tests.connectors.kafka.server import OLD, OPTIONS, Broker, MockCluster, until


def into(broker: Broker, topic: str | None, **how: Any) -> Any:
    return kafka.sink(topic, servers=broker.servers, idempotent=False, options=OLD, **how)


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("penstock-kafka")]


def test_writes_bytes_and_records_and_counts_them(broker: Broker, topic: str) -> None:
    values: list[kafka.Record | bytes] = [b"%d" % n for n in range(500)]
    values += [kafka.Record.of(b"%d" % n, key=b"same") for n in range(500, 600)]
    assert (Stream.from_iterable(values) | into(broker, topic, size=64)).run().wait() == 600
    held = broker.values(topic)
    assert sorted(int(value) for one in held for value in one) == list(range(600))
    [keyed] = [one for one in held if b"550" in one]
    assert [int(value) for value in keyed if int(value) >= 500] == list(range(500, 600))  # one key, one partition


def test_records_may_name_topic_and_partition(broker: Broker, topic: str) -> None:
    records = [kafka.Record.of(b"%d" % n, topic=topic, partition=n % 3) for n in range(9)]
    assert (Stream.from_iterable(records) | into(broker, None)).run().wait() == 9
    assert [len(one) for one in broker.values(topic)] == [3, 3, 3, 0]


def test_what_was_read_is_written_on_with_its_key(broker: Broker, topic: str) -> None:
    first = [kafka.Record.of(b"%d" % n, key=b"%d" % (n % 5)) for n in range(50)]
    assert (Stream.from_iterable(first) | into(broker, topic)).run().wait() == 50
    broker.create(f"{topic}-copy")
    source = kafka.source(topic, servers=broker.servers, live=False, options=OPTIONS)
    assert (source | into(broker, f"{topic}-copy")).run().wait() == 50
    copies = kafka.source(f"{topic}-copy", servers=broker.servers, live=False, options=OPTIONS)
    pairs = {(record.key, record.value) for record in copies}
    assert pairs == {(b"%d" % (n % 5), b"%d" % n) for n in range(50)}


@pytest.mark.proves("kafka.sink", "a poison message", "a clear error; what was not confirmed does not count as done")
def test_a_record_that_is_refused_fails_the_run_with_its_number(broker: Broker, topic: str) -> None:
    values = [b"small", b"x" * 2_000_000, b"small too"]
    sink = kafka.sink(
        topic, servers=broker.servers, idempotent=False, options={**OLD, "message.max.bytes": 5_000_000}, timeout=20
    )
    with pytest.raises(KafkaException) as caught:
        (Stream.from_iterable(values) | sink).run().wait()
    assert any("of 3 records were not confirmed" in note for note in caught.value.__notes__)
    assert "MSG_SIZE_TOO_LARGE" in str(caught.value)
    until(lambda: not threads(), "a thread stays")


def test_what_is_neither_record_nor_bytes_is_refused(broker: Broker, topic: str) -> None:
    with pytest.raises(TypeError, match=r"^kafka: records or bytes are written, got 'text'; make one with Record\.of$"):
        (Stream.just("text") | into(broker, topic)).run().wait()
    with pytest.raises(ValueError, match=r"names no topic; give one to sink, or to Record\.of$"):
        (Stream.just(b"a") | into(broker, None)).run().wait()
    until(lambda: not threads(), "a thread stays")


@pytest.mark.proves("kafka.sink", "cancel", "the client and its thread are gone")
def test_cancel_releases_the_client(broker: Broker, topic: str) -> None:
    publisher: ManualPublisher[bytes] = ManualPublisher()
    run = (Stream.from_publisher(publisher) | into(broker, topic, size=1)).run()
    publisher.wait_for_request()
    publisher.next(b"a")
    until(lambda: sum(broker.ends(topic)) == 1, "not written")
    assert threads()
    run.cancel()
    until(lambda: not threads(), "a thread stays")


def test_the_sink_is_a_value(broker: Broker) -> None:
    opens = OpenTopic(BrokerLink(broker.servers), "t", None, idempotent=True, timeout=1.0, size=10)
    assert pickle.loads(pickle.dumps(opens)) == opens


# Idempotent producers and transactions are not known to the broker, so these ask the mock cluster. It has the protocol
# of transactions, and shows aborted records to all readers: what they see is not proven here.


def committed_values(mock: MockCluster, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {"bootstrap.servers": mock.servers, "group.id": f"{topic}-check", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[bytes | None] = []

    def enough() -> bool:
        found.extend(message.value() for message in consumer.consume(1000, 0.2) if message.error() is None)
        return len(found) >= count

    until(enough, f"{count} records do not come")
    consumer.close()
    return found


def test_idempotent_with_headers_and_timestamps(mock: MockCluster) -> None:
    records = [kafka.Record.of(b"%d" % n, headers=[("n", b"%d" % n)], timestamp=1_000 + n) for n in range(20)]
    assert (Stream.from_iterable(records) | kafka.sink("idempotent", servers=mock.servers)).run().wait() == 20
    source = kafka.source("idempotent", servers=mock.servers, live=False)
    found = {int(record.value or b""): record for record in source}
    assert sorted(found) == list(range(20))
    assert all(record.headers == (("n", b"%d" % n),) for n, record in found.items())
    assert all(record.timestamp == 1_000 + n for n, record in found.items())


@pytest.mark.proves("kafka.sink", "transactions", "each batch is one transaction, by the protocol (mock cluster)")
def test_each_batch_is_a_transaction(mock: MockCluster) -> None:
    values = [b"%d" % n for n in range(100)]
    sink = kafka.sink("transactions", servers=mock.servers, transactional_id="one", size=30)
    assert (Stream.from_iterable(values) | sink).run().wait() == 100
    assert sorted(int(value or b"") for value in committed_values(mock, "transactions", 100)) == list(range(100))


def test_a_batch_that_fails_is_aborted_and_the_name_can_be_used_again(mock: MockCluster) -> None:
    opens = OpenTopic(BrokerLink(mock.servers), "aborted", "again", idempotent=True, timeout=20.0, size=10)

    async def go() -> None:
        first = await opens()
        batch: Any = [b"1", "no bytes"]
        with pytest.raises(TypeError):
            await first.write(batch)
        await first.close(TypeError())
        second = await opens()
        await second.write([b"2"])
        await second.close(None)

    asyncio.run(go())
    until(lambda: not threads(), "a thread stays")
    assert b"2" in committed_values(mock, "aborted", 1)
