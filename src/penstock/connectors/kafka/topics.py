"""source: the records of topics, all partitions in one resumable stream; or those of one partition."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from confluent_kafka import Message

from penstock.connectors.kafka.client_thread import ClientThread
from penstock.connectors.kafka.consumer_settings import ConsumerSettings, Start
from penstock.connectors.kafka.intake import IDLE, KafkaIntake
from penstock.connectors.kafka.link import BrokerLink
from penstock.connectors.kafka.positions import (
    Offsets,
    Place,
    Position,
    RecordPlaces,
    as_offsets,
    merged,
    offsets_at,
    without,
)
from penstock.connectors.kafka.record import Record, record_of, records_of
from penstock.connectors.reading import MOST, reading
from penstock.engine.words.arguments import count_given
from penstock.operators.resumable import UNCOMMITTED, MadeWhenRead, Positioned
from penstock.stream import Stream

HELD = 10_000
"""How many records of a partition the client fetches ahead."""
HELD_KBYTES = 16_384
"""How many kilobytes of records the client fetches ahead, of all partitions together."""
LATE = 0.02
"""Seconds that a commit waits for a fetch that takes it along."""
OWN = {
    "bootstrap.servers": "give servers",
    "group.id": "give group",
    "enable.auto.commit": "offsets are committed when what was made of the records is done",
    "enable.auto.offset.store": "offsets are committed when what was made of the records is done",
    "auto.offset.reset": "give start",
    "on_commit": "a commit that fails ends the run",
    "enable.partition.eof": "give live=False",
    "queued.min.messages": "give held",
    "queued.max.messages.kbytes": "give held_kbytes",
}


def source(
    topics: str | Sequence[str],
    *,
    servers: str | Sequence[str],
    group: str | None = None,
    start: Start = "earliest",
    live: bool = True,
    most: int = MOST,
    window: int = UNCOMMITTED,
    held: int = HELD,
    held_kbytes: int = HELD_KBYTES,
    options: Mapping[str, Any] | None = None,
) -> Stream[Record]:
    """Emit the records of topics, all partitions in one stream; a resumable one.

    Each partition is in order; partitions come as the brokers give them. A position is how far each partition was read.
    Backpressures by taking no more from the client than is asked for, which itself fetches no more than `held` ahead.

    Args:
        topics: One topic or several; with a group also patterns, which begin with `^`.
        servers: The brokers, as `host:port`.
        group: The group that shares the partitions, and in whose name offsets are committed: a run begins at what is
            committed, and a pipeline commits what has passed its end. Without one, all partitions are read, and nothing
            is committed.
        start: Where a partition begins that has no committed offset.
        live: Whether to wait for more at the end of the partitions; if not, the stream ends there.
        most: How many records are taken at a time at most.
        window: How many records of a pipeline's run may be uncommitted at a time.
        held: How many records of each partition are fetched ahead.
        held_kbytes: How many kilobytes are fetched ahead, of all partitions together.
        options: Other settings of librdkafka, such as `security.protocol`.

    Raises:
        TypeError: A number is none.
        ValueError: A number is below 1, a name is empty, or an option is set that an argument is for.
    """
    names = topics_given(topics, group)
    how = settled(servers, group, start, live, most, held, held_kbytes, options)
    return reading(OpenTopics(names, how), most=most, window=window, notes=group is not None)


def partition(
    topic: str,
    number: int,
    *,
    servers: str | Sequence[str],
    after: int | None = None,
    group: str | None = None,
    start: Start = "earliest",
    live: bool = True,
    dense: bool = False,
    most: int = MOST,
    window: int = UNCOMMITTED,
    held: int = HELD,
    held_kbytes: int = HELD_KBYTES,
    options: Mapping[str, Any] | None = None,
) -> Stream[Record]:
    """Emit the records of one partition; a resumable stream, whose position is the next offset.

    No group is joined, so any process may open any partition, such as an executor of Spark.
    Backpressures by taking no more from the client than is asked for, which itself fetches no more than `held` ahead.

    Args:
        topic: The topic.
        number: The partition's number.
        servers: The brokers, as `host:port`.
        after: The position behind which a run begins: the first offset that is read.
        group: In whose name offsets are committed; a run begins at what is committed, unless `after` is given.
        start: Where to begin if there is neither.
        live: Whether to wait for more at the end of the partition; if not, the stream ends there.
        dense: Whether to fail where offsets have a gap, for users who count rows by them.
        most: How many records are taken at a time at most.
        window: How many records of a pipeline's run may be uncommitted at a time.
        held: How many records are fetched ahead.
        held_kbytes: How many kilobytes are fetched ahead.
        options: Other settings of librdkafka, such as `security.protocol`.

    Raises:
        TypeError: A number is none.
        ValueError: A number is too small, a name is empty, or an option is set that an argument is for.
    """
    if not isinstance(topic, str) or not topic or topic.startswith("^"):
        raise ValueError(f"kafka: topic must be a name, got {topic!r}")
    count_given("kafka", "number", number, 0)
    if after is not None:
        count_given("kafka", "after", after, 0)
    how = settled(servers, group, start, live, most, held, held_kbytes, options)
    opened = OpenPartition((topic, number), how, after, dense)
    return reading(opened, most=most, window=window, notes=group is not None)


def topics_given(topics: str | Sequence[str], group: str | None) -> tuple[str, ...]:
    """Check what a user says of topics."""
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"kafka: topics must be a name, or several, got {topics!r}")
    if group is None and any(name.startswith("^") for name in names):
        raise ValueError(f"kafka: a pattern of topics needs a group, got {topics!r}")
    return names


def settled(
    servers: str | Sequence[str],
    group: str | None,
    start: Start,
    live: bool,
    most: int,
    held: int,
    held_kbytes: int,
    options: Mapping[str, Any] | None,
) -> ConsumerSettings:
    """Check what a user says of a consumer."""
    for name, given in (("most", most), ("held", held), ("held_kbytes", held_kbytes)):
        count_given("kafka", name, given, 1)
    if start not in ("earliest", "latest"):
        raise ValueError(f"kafka: start must be 'earliest' or 'latest', got {start!r}")
    if group == "":
        raise ValueError("kafka: group must not be empty; None reads without a group")
    return ConsumerSettings(BrokerLink.of(servers, options, OWN), group, start, live, held, held_kbytes)


@dataclass(frozen=True, slots=True)
class OpenTopics:
    """What a run over topics is opened by; a value that pickles."""

    topics: tuple[str, ...]
    how: ConsumerSettings

    async def __call__(self, after: Position | None) -> TopicsReader:
        offsets = {} if after is None else offsets_at(after)
        reader = TopicsReader(self.how, self.topics, as_offsets(offsets))
        await reader.open(self.topics, (), offsets)
        return reader


@dataclass(frozen=True, slots=True)
class OpenPartition:
    """What a run over one partition is opened by; a value that pickles."""

    place: Place
    how: ConsumerSettings
    first: int | None
    dense: bool

    async def __call__(self, after: int | None) -> OnePartitionReader:
        if after is None:
            after = self.first
        elif type(after) is not int or after < 0:
            raise ValueError(f"kafka: a position in a partition is the next offset, got {after!r:.100}")
        reader = OnePartitionReader(self.how, self.place, after if self.dense else None)
        await reader.open((), (self.place,), {} if after is None else {self.place: after})
        return reader


def place_of(message: Message) -> tuple[str | None, int | None]:
    """Return the partition that a message was read from."""
    return (message.topic(), message.partition())


def runs_of(keys: list[Any]) -> Iterator[tuple[Any, int]]:
    """Return each key with the number of times that it follows itself; most often there is but one."""
    if keys.count(keys[0]) == len(keys):
        return iter([(keys[0], len(keys))])
    return ((key, len(list(run))) for key, run in groupby(keys))


class ConsumingReader:
    """An intake on a separate thread, which is kept a member of its group while nothing is asked for."""

    def __init__(self, how: ConsumerSettings) -> None:
        self._intake = KafkaIntake(how, revoked=self._revoked)
        self._worker = ClientThread("penstock-kafka")
        self._minding: asyncio.Task[None] | None = None
        self._fetching = False

    async def open(self, topics: tuple[str, ...], places: tuple[Place, ...], after: Mapping[Place, int]) -> None:
        """Connect."""
        ready = False
        try:
            await self._worker.do(self._intake.open, topics, places, after)
            ready = True
        finally:
            if not ready:
                self._intake.leave()
                self._worker.end(self._intake.close)
        self._minding = asyncio.get_running_loop().create_task(self._mind())

    async def _mind(self) -> None:
        while True:
            await asyncio.sleep(IDLE)
            await self._worker.do(self._intake.idle)

    async def close(self) -> None:
        """Leave the group and end the thread."""
        if self._minding is not None:
            self._minding.cancel()
        self._intake.leave()
        try:
            await self._worker.do(self._intake.close)
        finally:
            self._worker.end()

    async def fetch(self, most: int, /) -> Sequence[tuple[Any, Record]] | None:
        """Return up to so many records with their positions."""
        self._fetching = True
        try:
            return await self._worker.do(self._take, most)
        finally:
            self._fetching = False

    def _take(self, most: int) -> Sequence[tuple[Any, Record]] | None:
        raise NotImplementedError

    async def _commit(self, offsets: Mapping[Place, int]) -> None:
        told = self._intake.ask_commit(offsets)
        # The next fetch takes it along; this one is for the case that there is none.
        wait = LATE if self._fetching else 0.0
        late = asyncio.get_running_loop().call_later(wait, self._worker.soon, self._intake.commit_asked)
        try:
            await asyncio.wrap_future(told)
        finally:
            late.cancel()

    def _revoked(self, places: list[Place]) -> None:
        pass

    # For a sink whose transactions commit the offsets.

    @property
    def how(self) -> ConsumerSettings:
        """Return what is read, and in whose name."""
        return self._intake.how

    def ceded(self) -> None:
        """Be told that a sink's transactions commit what is read here."""
        self._intake.ledger.expect()

    def to_send(self, position: Any) -> tuple[dict[Place, int], Any]:
        """Return the offsets that a transaction is to commit at a position, and what says in whose name."""
        return self._intake.to_send(self._offsets(position))

    def sent(self, offsets: Mapping[Place, int]) -> None:
        """Take note that a transaction has committed offsets."""
        self._intake.ledger.committed(offsets)

    def _offsets(self, position: Any) -> Mapping[Place, int]:
        raise NotImplementedError


class TopicsReader(ConsumingReader):
    """The consumer of one run over topics."""

    def __init__(self, how: ConsumerSettings, topics: tuple[str, ...], before: Offsets) -> None:
        super().__init__(how)
        self._topic = topics[0] if len(topics) == 1 and not topics[0].startswith("^") else None
        self._key: Any = place_of if self._topic is None else Message.partition  # which takes a fraction of the time
        self._before = before

    def _take(self, most: int) -> Sequence[tuple[Position, Record]] | None:
        messages = self._intake.take(most)
        if not messages:
            return None if self._intake.ended else []
        places = RecordPlaces(messages)
        before = self._before
        given: Any = messages  # what was read has a topic, a partition and an offset
        begin = 0
        for key, count in runs_of(list(map(self._key, messages))):
            topic, number = key if self._topic is None else (self._topic, key)
            end = given[begin + count - 1].offset() + 1
            self._intake.ledger.gave((topic, number), given[begin].offset(), end)
            places.add(count, before, topic, number)
            before = merged(before, topic, number, end)
            begin += count
        self._before = before
        return Positioned(MadeWhenRead(record_of, messages, records_of), places)

    def _revoked(self, places: list[Place]) -> None:
        self._before = without(self._before, set(places))

    def _offsets(self, position: Position) -> Mapping[Place, int]:
        return offsets_at(position)

    async def commit(self, position: Position, /) -> None:
        """Commit the offsets of the partitions that are still ours."""
        await self._commit(self._offsets(position))


class OnePartitionReader(ConsumingReader):
    """The consumer of one run over a partition."""

    def __init__(self, how: ConsumerSettings, place: Place, dense_from: int | None) -> None:
        super().__init__(how)
        self._place = place
        self._expected = dense_from

    def _take(self, most: int) -> Sequence[tuple[int, Record]] | None:
        messages = self._intake.take(most)
        if not messages:
            return None if self._intake.ended else []
        given: Any = messages  # what was read has an offset
        ends = [message.offset() + 1 for message in given]
        if self._expected is not None:
            self._refuse_gaps(self._expected, ends)
            self._expected = ends[-1]
        self._intake.ledger.gave(self._place, ends[0] - 1, ends[-1])
        return Positioned(MadeWhenRead(record_of, messages, records_of), ends)

    def _refuse_gaps(self, expected: int, ends: list[int]) -> None:
        if ends[-1] == expected + len(ends):
            return
        for position in ends:
            if position != expected + 1:
                topic, number = self._place
                raise LookupError(
                    f"kafka: {topic}/{number} has no record at offset {expected}, the next is at {position - 1};"
                    " a topic that is compacted or written in transactions has gaps, and cannot be counted by offsets"
                )
            expected += 1

    def _offsets(self, position: int) -> Mapping[Place, int]:
        return {self._place: position}

    async def commit(self, position: int, /) -> None:
        """Commit the offset."""
        await self._commit(self._offsets(position))


__all__ = [
    "HELD",
    "HELD_KBYTES",
    "ConsumingReader",
    "OpenPartition",
    "OpenTopics",
    "partition",
    "place_of",
    "settled",
    "source",
    "topics_given",
]
