"""source: the records of topics, all partitions in one resumable stream; or those of one partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.kafka.consumer_settings import ConsumerSettings, Start
from penstock.connectors.kafka.link import BrokerLink
from penstock.connectors.kafka.positions import Place, Position, as_offsets, offsets_at
from penstock.connectors.kafka.record import Record
from penstock.connectors.kafka.topics_reader import OnePartitionReader, TopicsReader
from penstock.connectors.reading import MOST, reading
from penstock.engine.words.arguments import count_given
from penstock.operators.resumable import UNCOMMITTED
from penstock.stream import Stream

HELD = 10_000
"""How many records of a partition the client fetches ahead."""
HELD_KBYTES = 16_384
"""How many kilobytes of records the client fetches ahead, of all partitions together."""
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
    names = (topics,) if isinstance(topics, str) else tuple(topics) if isinstance(topics, Iterable) else ()
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
    if group is not None and not (isinstance(group, str) and group):
        raise ValueError(f"kafka: group must be a name, or None to read without a group, got {group!r}")
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


__all__ = [
    "HELD",
    "HELD_KBYTES",
    "OpenPartition",
    "OpenTopics",
    "partition",
    "settled",
    "source",
    "topics_given",
]
