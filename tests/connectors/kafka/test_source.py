"""kafka.source: records of all partitions, from a position or from what is committed, under demand."""

from __future__ import annotations

import asyncio
import pickle
import threading
from typing import Any

import pytest

from penstock import Sink, Stream
from penstock.connectors import kafka
from penstock.connectors.kafka import topics_reader
from penstock.connectors.kafka.intake import KafkaIntake
from penstock.connectors.kafka.positions import offsets_at
from penstock.connectors.kafka.topics import OpenTopics
from penstock.run.resumption import Resumption
from tests.connectors.kafka.server import OPTIONS, Broker, until


def numbers(count: int) -> list[bytes]:
    return [b"%d" % n for n in range(count)]


def read(broker: Broker, topic: str, **how: Any) -> Stream[kafka.Record]:
    how = {"live": False, "options": OPTIONS, **how}
    return kafka.source(topic, servers=broker.servers, **how)


def opened(stream: Stream[kafka.Record]) -> OpenTopics:
    source: Any = stream._chain.source
    return source.open_from.open


def test_gives_every_record_once_and_each_partition_in_order(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(1000))
    records = list(read(broker, topic))
    assert sorted(int(record.value or b"") for record in records) == list(range(1000))
    for number in range(4):
        own = [record for record in records if record.partition == number]
        assert [record.offset for record in own] == list(range(250))
        assert [int(record.value or b"") for record in own] == list(range(number, 1000, 4))
    assert {record.topic for record in records} == {topic}


@pytest.mark.parametrize(("long", "sizes"), [(0.0, {1, 2, 4, 8, 16}), (3600.0, {16, 32, 64, 128, 256, 512, 600})])
def test_the_slower_records_are_worked_on_the_fewer_are_taken_at_a_time(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch, long: float, sizes: set[int]
) -> None:
    asked: list[int] = []
    take = KafkaIntake.take

    def noted(self: KafkaIntake, most: int, *how: Any) -> list[Any]:
        asked.append(most)
        return take(self, most, *how)

    monkeypatch.setattr(KafkaIntake, "take", noted)
    monkeypatch.setattr(topics_reader, "LONG", long)
    broker.produce(topic, numbers(3000))
    group = {"group": f"{topic}-{long}"}
    assert (read(broker, topic, **group) | Sink.for_each(lambda record: None)).run().wait() == 3000
    assert set(asked) <= sizes
    assert len(set(asked)) >= 3


def test_stream_and_records_pickle_to_equal_values(broker: Broker, topic: str) -> None:
    broker.produce(topic, [b"a"])
    stream = read(broker, topic)
    again: Stream[kafka.Record] = pickle.loads(pickle.dumps(stream))
    assert again == stream
    [record] = again
    assert pickle.loads(pickle.dumps(record)) == record
    assert hash(pickle.loads(pickle.dumps(record))) == hash(record)
    assert repr(record) == f"Record(topic={topic!r}, partition=0, offset=0, value=b'a')"


@pytest.mark.proves("kafka.source", "restart from every position", "the rest of each partition, in order")
def test_restart_from_every_position_gives_the_rest(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(12))
    resumption = Resumption.of(read(broker, topic))
    given = list(resumption.open())
    assert len(given) == 12
    for n, (position, _) in enumerate(given):
        before = {(record.partition, record.offset) for _, record in given[: n + 1]}
        rest = [(record.partition, record.offset) for _, record in resumption.open(position)]
        assert sorted(rest) == sorted({(p, o) for p in range(4) for o in range(3)} - before)
        for p in range(4):
            assert [o for q, o in rest if q == p] == sorted(o for q, o in rest if q == p)


def test_takes_no_more_from_the_client_than_is_asked_for(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(100))

    async def go() -> None:
        reader = await opened(read(broker, topic))(None)
        try:
            sizes = []
            for most in (1, 3, 50, 50):
                got: Any = []
                while not got:
                    got = await reader.fetch(most)
                sizes.append((most, len(got)))
            assert all(1 <= size <= most for most, size in sizes)
            assert sizes[0] == (1, 1)
        finally:
            await reader.close()

    asyncio.run(go())


def test_commit_is_where_the_next_member_of_the_group_begins(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(40))
    stream = read(broker, topic, group=f"{topic}-g")

    async def first() -> tuple[Any, int]:
        reader = await opened(stream)(None)
        got: list[Any] = []
        while len(got) < 17:
            got += await reader.fetch(17 - len(got)) or []
        await reader.commit(got[9][0])
        await reader.commit(got[4][0])  # an older one takes nothing back
        await reader.close()
        return got[9][0], len(got)

    position, _ = asyncio.run(first())
    done = offsets_at(position)
    expected = [done.get((topic, number), 0) for number in range(4)]
    assert [max(0, offset) for offset in broker.committed(topic, f"{topic}-g")] == expected
    rest = list(stream)
    assert len(rest) == 30
    assert {(record.partition, record.offset) for record in rest} == {
        (number, offset) for number in range(4) for offset in range(expected[number], 10)
    }


def test_without_a_group_nothing_is_committed(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(4))
    stream = read(broker, topic)

    async def go() -> None:
        reader = await opened(stream)(None)
        got: Any = []
        while not got:
            got = await reader.fetch(4)
        await reader.commit(got[-1][0])
        await reader.close()

    asyncio.run(go())
    assert len(list(stream)) == 4


def test_a_live_stream_waits_for_more_and_latest_begins_at_the_end(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(8))
    seen: list[bytes | None] = []
    ready = threading.Event()

    def take(record: kafka.Record) -> None:
        seen.append(record.value)
        ready.set()

    live = read(broker, topic, live=True, start="latest", group=f"{topic}-live")
    run = (live.take(1).tap(take) | Sink.for_each(id)).run()
    n = 0

    def written() -> bool:
        nonlocal n
        n += 1
        broker.produce(topic, [b"new %d" % n])  # one that is written before the end was looked up is not seen
        return ready.wait(0.5)

    until(written, "nothing came")
    assert run.wait() == 1
    assert seen[0] is not None
    assert seen[0].startswith(b"new")


@pytest.mark.proves("kafka.source", "cancel", "the client and its thread are gone")
def test_cancel_releases_the_client(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(100))
    records = iter(read(broker, topic, live=True, group=f"{topic}-c"))
    assert next(records).topic == topic
    records.close()  # type: ignore[attr-defined]
    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("penstock-kafka")], "a thread stays")


def test_partition_is_resumable_by_offset(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(20), partition=2)
    stream = kafka.partition(topic, 2, servers=broker.servers, live=False, after=5, dense=True, options=OPTIONS)
    assert [record.offset for record in stream] == list(range(5, 20))
    given = list(Resumption.of(stream).open())
    assert [position for position, _ in given] == [[n + 1, 0] for n in range(5, 20)]
    assert [record.offset for _, record in Resumption.of(stream).open([9, 0])] == list(range(9, 20))


def test_partition_commits_to_a_group_without_joining_it(broker: Broker, topic: str) -> None:
    broker.produce(topic, numbers(10), partition=1)
    stream = kafka.partition(topic, 1, servers=broker.servers, live=False, group=f"{topic}-p", options=OPTIONS)

    async def go() -> None:
        reader = await opened(stream)(None)
        got: Any = []
        while not got:
            got = await reader.fetch(4)
        await reader.commit(got[-1][0])
        await reader.close()
        assert broker.committed(topic, f"{topic}-p")[1] == len(got)

    asyncio.run(go())
    assert 6 <= len(list(stream)) < 10
