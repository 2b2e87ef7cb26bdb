"""for_spark: the partitions of topics as parts of a partitioned stream, which Spark's executors open themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, TypeVar

from confluent_kafka import Consumer, TopicPartition

from penstock.connectors.kafka.consumer_settings import ConsumerSettings, Start
from penstock.connectors.kafka.link import Complaints, missing, told, topics_there
from penstock.connectors.kafka.positions import Place
from penstock.connectors.kafka.record import Record
from penstock.connectors.kafka.topics import HELD, HELD_KBYTES, OpenPartition, settled, topics_given
from penstock.connectors.reading import MOST, reading
from penstock.stream import Stream

T = TypeVar("T")

SECONDS = 15.0
"""How long the brokers may take to answer."""


def parts(
    topics: str | Sequence[str],
    *,
    servers: str | Sequence[str],
    group: str | None = None,
    start: Start = "earliest",
    live: bool = True,
    held: int = HELD,
    held_kbytes: int = HELD_KBYTES,
    options: Mapping[str, Any] | None = None,
) -> Parts:
    """Make what `spark.partitioned(..., streaming=True)` asks for, of the partitions of topics.

    A row's number is a record's offset. Topics that are compacted, or written in transactions, have gaps in their
    offsets; such a gap is an error.

    Args:
        topics: One topic or several.
        servers: The brokers, as `host:port`; executors must reach them.
        group: In whose name offsets are committed, and at whose offsets a new query begins.
        start: Where a partition begins that has no committed offset.
        live: Whether to wait for more at the end of a partition.
        held: How many records of each partition are fetched ahead.
        held_kbytes: How many kilobytes of each partition are fetched ahead.
        options: Other settings of librdkafka, such as `security.protocol`.

    Raises:
        TypeError: A number is none.
        ValueError: A number is below 1, a name is empty, or an option is set that an argument is for.
    """
    names = topics_given(topics, group)
    if any(name.startswith("^") for name in names):
        raise ValueError(f"kafka: parts are of topics by name, got {topics!r}")
    return Parts(names, settled(servers, group, start, live, MOST, held, held_kbytes, options))


@dataclass(frozen=True, slots=True)
class Parts:
    """The partitions of topics by name, `orders/3` for one; a value that pickles."""

    topics: tuple[str, ...]
    how: ConsumerSettings

    def __call__(self) -> list[str]:
        """Return the names of the partitions that there are now."""

        def names(consumer: Consumer, complaints: Complaints) -> list[str]:
            there = topics_there(consumer, self.how.link, complaints, Event())
            for topic in self.topics:
                if topic not in there:
                    raise missing(topic, self.how.link)
            return [f"{topic}/{number}" for topic in self.topics for number in there[topic]]

        return self._asked(names)

    def open(self, name: str, row: int) -> Stream[Record]:
        """Return the records of a partition from an offset on."""
        return reading(OpenPartition(place_named(name), replace(self.how, group=None), row, dense=True), notes=False)

    def rows(self, fn: Callable[[Record], Any]) -> OpenRows:
        """Return a function that opens a partition and makes a row of each record, as `spark.partitioned` asks for.

        Args:
            fn: Makes a row of a record, on an executor.
        """
        return OpenRows(self, fn)

    def start(self, name: str) -> int:
        """Return the offset at which a new query begins: the group's, or the first or last one that is there."""

        def first(consumer: Consumer, _: Complaints) -> int:
            place = TopicPartition(*place_named(name))
            if self.how.group is not None:
                known = consumer.committed([place], timeout=SECONDS)[0]
                if known.error is not None:  # else it would pass for a group that has committed nothing
                    raise told(known.error, self.how.link, f"committed offset of {name}")
                if known.offset >= 0:
                    return known.offset
            low, high = consumer.get_watermark_offsets(place, timeout=SECONDS)
            return low if self.how.start == "earliest" else high

        return self._asked(first)

    def commit(self, name: str, row: int) -> None:
        """Commit the offset of a partition, for others to see how far the query is; nothing without a group."""
        if self.how.group is not None:
            given = [TopicPartition(*place_named(name), row)]
            self._asked(lambda consumer, _: consumer.commit(offsets=given, asynchronous=False))

    def _asked(self, ask: Callable[[Consumer, Complaints], T]) -> T:
        complaints = Complaints()
        consumer = self.how.consumer(complaints)
        try:
            return ask(consumer, complaints)
        finally:
            consumer.close()


@dataclass(frozen=True, slots=True)
class OpenRows:
    """What opens a partition on an executor and makes rows of its records."""

    parts: Parts
    fn: Callable[[Record], Any]

    def __call__(self, name: str, row: int) -> Stream[Any]:
        return self.parts.open(name, row).map(self.fn)


def place_named(name: str) -> Place:
    """Return the partition of a name."""
    topic, _, number = name.rpartition("/")
    if not topic or not number.isdecimal():
        raise ValueError(f"kafka: a part is 'topic/number', got {name!r}")
    return topic, int(number)


__all__ = ["Parts", "parts"]
