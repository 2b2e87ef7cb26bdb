"""record: what a topic holds.

A record that was read has its value, keeps the client's message and asks it for what else is wanted: most
programs look at the value alone, and seven fields that are copied out of each message would take longer than the
reading. Records are made without a call of Python for each, which would take as long as all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_NOT_AVAILABLE, Message

Headers = tuple[tuple[str, bytes | None], ...]


class Record:
    """A record of a topic; `Record.of` makes one to be written.

    >>> Record.of(b"12.5", key=b"station 4", topic="readings")
    Record(topic='readings', key=b'station 4', value=b'12.5')
    """

    __slots__ = ("_message", "value")
    _message: Message
    value: bytes | None
    """What it holds; None where the key was deleted."""

    @staticmethod
    def of(
        value: bytes | None,
        key: bytes | None = None,
        *,
        topic: str | None = None,
        partition: int = -1,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
    ) -> Record:
        """Make a record that is to be written.

        Args:
            value: What it holds; None deletes the key from a compacted topic.
            key: By which its partition is chosen, so that records with the same key stay in order.
            topic: Where it goes, if the sink names no topic.
            partition: Where in that topic it goes, if the key is not to decide it.
            headers: Names and values beside the value.
            timestamp: Milliseconds since 1970; the time of writing if it is not said.

        Raises:
            TypeError: `value` or `key` is neither bytes nor None.
        """
        for name, given in (("value", value), ("key", key)):
            if given is not None and not isinstance(given, bytes):
                cure = "; encode() makes bytes of a text" if isinstance(given, str) else ""
                raise TypeError(f"kafka: {name} must be bytes or None, got {given!r:.100}{cure}")
        when = (TIMESTAMP_NOT_AVAILABLE, 0) if timestamp is None else (TIMESTAMP_CREATE_TIME, timestamp)
        return record_of(Message(topic, partition, -1, key, value, list(headers) or None, timestamp=when))

    @property
    def topic(self) -> str:
        """The topic that it is in, or is to go to; empty if that is not said."""
        return self._message.topic() or ""

    @property
    def partition(self) -> int:
        """The partition that it is in, or is to go to; -1 if that is not said."""
        number = self._message.partition()
        return -1 if number is None else number

    @property
    def offset(self) -> int:
        """Its place in the partition; -1 before it is written."""
        offset = self._message.offset()
        return -1 if offset is None or offset < 0 else offset

    @property
    def key(self) -> bytes | None:
        """By which its partition was chosen."""
        return self._message.key()

    @property
    def headers(self) -> Headers:
        """The names and values beside the value."""
        given: Any = self._message.headers()
        return tuple(given) if given else ()

    @property
    def timestamp(self) -> int | None:
        """Milliseconds since 1970, or None if there is none."""
        kind, when = self._message.timestamp()
        return None if kind == TIMESTAMP_NOT_AVAILABLE else when

    def _fields(self) -> tuple[Any, ...]:
        """Return all that it is, in the order of `_made`."""
        return (self.value, self.key, self.topic, self.partition, self.offset, self.headers, self.timestamp)

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, Record) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (_made, self._fields())

    def __repr__(self) -> str:
        shown = {"topic": self.topic, "partition": self.partition, "offset": self.offset, "key": self.key}
        words = [f"{name}={given!r}" for name, given in shown.items() if given not in ("", -1, None)]
        return f"Record({', '.join([*words, f'value={self.value!r}'])})"


def _made(
    value: bytes | None,
    key: bytes | None,
    topic: str,
    partition: int,
    offset: int,
    headers: Headers,
    timestamp: int | None,
) -> Record:
    """Make a record anew from its fields, in another process for one."""
    when = (TIMESTAMP_NOT_AVAILABLE, 0) if timestamp is None else (TIMESTAMP_CREATE_TIME, timestamp)
    return record_of(Message(topic or None, partition, offset, key, value, list(headers) or None, timestamp=when))


def record_of(message: Message) -> Record:
    """Return a message as a record."""
    record = Record()
    record._message = message
    record.value = message.value()
    return record


def records_of(messages: Iterable[Message]) -> Iterator[Record]:
    """Return messages as records, each when it is read; the same as `record_of`, without a call for each."""
    made = Record
    for message in messages:
        record = made()
        record._message = message
        record.value = message.value()
        yield record


__all__ = ["Headers", "Record", "record_of", "records_of"]
