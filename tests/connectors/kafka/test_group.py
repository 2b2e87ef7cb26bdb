"""kafka: members of one group share the partitions, and hand them over without a gap."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from penstock import Sink, Stream
from penstock.connectors import kafka
from penstock.connectors.kafka.intake import KafkaIntake
from tests.connectors.kafka.model import ModelBroker
from tests.connectors.kafka.server import PATIENT, SOON, Broker, until


@pytest.mark.proves("kafka.source", "a second member joins and leaves", "nothing lost; what was done is not done again")
def test_a_second_member_gets_partitions_and_gives_them_back(broker: Broker, topic: str) -> None:
    group = f"{topic}-g"
    lock = threading.Lock()
    seen: list[tuple[str, int, int]] = []

    def member(name: str) -> Any:
        def note(record: kafka.Record) -> None:
            with lock:
                seen.append((name, record.partition, int(record.value or b"")))

        stream = kafka.source(topic, servers=broker.servers, group=group, options=PATIENT)
        return (stream | Sink.for_each(note)).run()

    def write(first: int, count: int) -> None:
        broker.produce(topic, (b"%d" % n for n in range(first, first + count)))

    def all_seen(count: int) -> bool:
        with lock:
            return {n for _, _, n in seen} >= set(range(count))

    first = member("first")
    write(0, 400)
    until(lambda: all_seen(400), "the first member does not read")
    second = member("second")
    written = 400

    def shared() -> bool:
        nonlocal written
        write(written, 40)
        written += 40
        until(lambda: all_seen(written), "records are missing")
        with lock:
            return {name for name, _, n in seen if n >= written - 40} == {"first", "second"}

    until(shared, "the second member gets nothing")
    second.cancel()

    def alone() -> bool:
        nonlocal written
        write(written, 40)
        written += 40
        until(lambda: all_seen(written), "records are missing")
        with lock:
            return {name for name, _, n in seen if n >= written - 40} == {"first"}

    until(alone, "the first member does not get them back")
    until(lambda: sum(broker.committed(topic, group)) == written, "not all is committed")
    first.cancel()
    again = [n for n, count in Counter(n for _, _, n in seen).items() if count > 1]
    assert not again


@pytest.mark.proves("kafka.source", "a second member joins and leaves", "nothing lost; what was done is not done again")
def test_what_is_done_while_a_partition_goes_is_committed(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = f"{topic}-g"
    going = threading.Event()
    seen: list[int] = []
    revoke = KafkaIntake._on_revoke

    def on_revoke(intake: KafkaIntake, consumer: Any, partitions: Any) -> None:
        going.set()
        revoke(intake, consumer, partitions)

    async def note(record: kafka.Record) -> None:
        while len(seen) == 20 and not going.is_set():
            await asyncio.sleep(0.01)
        seen.append(int(record.value or b""))

    def member() -> Any:
        stream = kafka.source(topic, servers=broker.servers, group=group, options=PATIENT)
        return (stream | Sink.for_each(note)).run()

    monkeypatch.setattr(KafkaIntake, "_on_revoke", on_revoke)
    broker.produce(topic, (b"%d" % n for n in range(10)))
    first = member()
    until(lambda: sum(broker.committed(topic, group)) == 10, "nothing is committed")
    broker.produce(topic, (b"%d" % n for n in range(10, 40)))
    until(lambda: len(seen) == 20, "the first member does not read on")
    second = member()
    until(lambda: sum(broker.committed(topic, group)) == 40, "not all is committed")
    first.cancel()
    second.cancel()
    assert going.is_set()
    assert sorted(seen) == list(range(40))


@pytest.mark.proves(
    "kafka.source",
    "a broker that says, after a start, that nothing is committed (a model broker)",
    "a run goes on behind what it has committed itself",
)
def test_a_run_knows_what_it_has_committed(model: ModelBroker, topic_of_model: str) -> None:
    topic, group = topic_of_model, f"{topic_of_model}-g"
    seen: list[int] = []
    stream = kafka.source(topic, servers=model.servers, group=group, options=SOON)
    run = (stream | Sink.for_each(lambda record: seen.append(int(record.value or b"")))).run()
    writer = kafka.sink(topic, servers=model.servers)
    values = Stream.range(1000).map(lambda n: b"%d" % n)
    assert (values | writer).run().wait() == 1000
    until(lambda: sum(model.committed(topic, group)) == 1000, "not all is committed")
    model.forget(group)
    until(lambda: model.groups.shared(group), "the member does not come back")
    assert (values.map(lambda value: b"1" + value.zfill(3)) | writer).run().wait() == 1000
    until(lambda: set(seen) >= set(range(2000)), "it does not go on")
    run.cancel()
    assert sorted(seen) == list(range(2000))
