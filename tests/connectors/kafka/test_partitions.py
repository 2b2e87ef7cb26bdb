"""kafka.partitions: partitions as streams of their own, each with its own demand and its own commits."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from penstock import Sink, Stream
from penstock.connectors import kafka
from tests.connectors.kafka.server import OPTIONS, Broker, until


def numbers(count: int) -> list[bytes]:
    return [b"%d" % n for n in range(count)]


def read(broker: Broker, topic: str, **how: Any) -> Stream[kafka.KafkaPartition]:
    how = {"live": False, "options": OPTIONS, **how}
    return kafka.partitions(topic, servers=broker.servers, **how)


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("penstock-kafka")]


def test_all_records_of_all_partitions(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(4000))
    records = read(broker, topic, queue=100).flat_map(lambda one: one.records, concurrency=2)
    found = list(records)
    assert sorted(int(record.value or b"") for record in found) == list(range(4000))
    for number in range(4):
        assert [record.offset for record in found if record.partition == number] == list(range(1000))
    until(lambda: not threads(), "a thread stays")


@pytest.mark.proves("kafka.partitions", "one partition is not read", "it is paused, and holds up no other")
def test_a_partition_that_is_not_asked_for_holds_up_no_other(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(8000))

    async def go() -> None:
        seen: dict[int, int] = {}
        async for one in read(broker, topic, queue=100, live=True):
            if one.number == 0:
                continue  # never asked for
            if one.number == 1:
                slow = one
                seen[1] = len(await one.records.take(7).to_list())
                assert slow.number == 1
            else:
                seen[one.number] = len(await one.records.take(2000).to_list())
            if len(seen) == 3:
                break
        assert seen == {1: 7, 2: 2000, 3: 2000}

    asyncio.run(go())
    until(lambda: not threads(), "a thread stays")


@pytest.mark.proves("kafka.partitions", "a pipeline for each partition", "offsets are committed behind its end")
def test_a_pipeline_for_each_partition_commits_its_offsets(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(2000))
    values: list[int] = []

    async def handle(one: kafka.KafkaPartition) -> None:
        await (one.records.map(lambda record: int(record.value or b"")) | Sink.for_each(values.append)).run()

    group = f"{topic}-g"
    every = read(broker, topic, group=group, queue=64)
    assert (every | Sink.for_each(handle, concurrency=4)).run().wait() == 4
    assert sorted(values) == list(range(2000))
    assert broker.committed(topic, group) == [500] * 4
    until(lambda: not threads(), "a thread stays")


@pytest.mark.proves("kafka.partitions", "cancel", "the client and its thread are gone")
def test_records_are_run_once_and_while_the_stream_runs(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(4))

    async def go() -> None:
        kept: list[kafka.KafkaPartition] = []
        async for one in read(broker, topic):
            kept.append(one)
            if one.number == 0:
                assert len(await one.records.to_list()) == 1
                with pytest.raises(
                    RuntimeError, match=r"/0 is read already; the records of a partition can be run once$"
                ):
                    await one.records.to_list()
            if len(kept) == 4:
                break
        await asyncio.to_thread(until, lambda: not threads(), "a thread stays")
        late = next(one for one in kept if one.number == 1)
        with pytest.raises(RuntimeError, match=r"/1 is closed; read partitions while the stream runs$"):
            await late.records.to_list()

    asyncio.run(go())


def test_an_error_comes_to_the_stream_of_partitions(broker: Broker) -> None:
    with pytest.raises(
        LookupError, match=r"^kafka: there is no topic 'not-there' on 127\.0\.0\.1:\d+; create it first$"
    ):
        list(read(broker, "not-there"))
    until(lambda: not threads(), "a thread stays")
