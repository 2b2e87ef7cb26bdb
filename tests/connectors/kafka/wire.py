"""wire: the numbers and texts of Kafka's protocol, and the head of a batch of records, as a broker sees them.

Written from the protocol's own description (kafka.apache.org/protocol). A flexible version of a request has lengths as
varints, one more than they are, and ends each structure with tagged fields, of which there are none here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
HEAD = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader's epoch, magic, checksum, attributes, last offset's delta, two timestamps, producer, its
epoch, first sequence number, count of records."""
CHECKED_FROM = 21
TRANSACTIONAL, CONTROL = 0x10, 0x20


class Asked:
    """The body of a request, read from its beginning on."""

    def __init__(self, data: bytes, *, flexible: bool = False) -> None:
        self._data = data
        self._at = 0
        self.flexible = flexible

    def _taken(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def int8(self) -> int:
        """Read a number of one byte."""
        return int(struct.unpack(">b", self._taken(1))[0])

    def int16(self) -> int:
        """Read a number of two bytes."""
        return int(struct.unpack(">h", self._taken(2))[0])

    def int32(self) -> int:
        """Read a number of four bytes."""
        return int(struct.unpack(">i", self._taken(4))[0])

    def int64(self) -> int:
        """Read a number of eight bytes."""
        return int(struct.unpack(">q", self._taken(8))[0])

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._taken(1)[0]
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found

    def text(self, *, short: bool = False) -> str:
        """Read a text; one that is missing is empty. Heads of requests have short lengths always."""
        size = self._varint() - 1 if self.flexible and not short else self.int16()
        return self._taken(max(0, size)).decode()

    def data(self) -> bytes:
        """Read bytes."""
        size = self._varint() - 1 if self.flexible else self.int32()
        return self._taken(max(0, size))

    def several(self, read: Callable[[], T]) -> list[T] | None:
        """Read a list, or that there is none."""
        size = self._varint() - 1 if self.flexible else self.int32()
        return None if size < 0 else [read() for _ in range(size)]

    def end(self) -> None:
        """Read the end of a structure."""
        if self.flexible:
            assert self._varint() == 0, "tagged fields"


class Answer:
    """The body of an answer, written from its beginning on."""

    def __init__(self, *, flexible: bool = False) -> None:
        self._parts: list[bytes] = []
        self._flexible = flexible

    def whole(self) -> bytes:
        """Return what was written."""
        return b"".join(self._parts)

    def numbers(self, form: str, *values: int) -> Answer:
        """Write numbers, in the letters of `struct`."""
        self._parts.append(struct.pack(f">{form}", *values))
        return self

    def _size(self, size: int, form: str) -> None:
        if not self._flexible:
            self.numbers(form, size)
            return
        size += 1
        while size >= 0x80:
            self._parts.append(bytes([size & 0x7F | 0x80]))
            size >>= 7
        self._parts.append(bytes([size]))

    def text(self, value: str | None) -> Answer:
        """Write a text, or that there is none."""
        given = b"" if value is None else value.encode()
        self._size(-1 if value is None else len(given), "h")
        self._parts.append(given)
        return self

    def data(self, value: bytes) -> Answer:
        """Write bytes."""
        self._size(len(value), "i")
        self._parts.append(value)
        return self

    def several(self, values: Iterable[T], write: Callable[[T], Any]) -> Answer:
        """Write a list."""
        given = list(values)
        self._size(len(given), "i")
        for value in given:
            write(value)
        return self

    def end(self) -> Answer:
        """Write the end of a structure."""
        if self._flexible:
            self._parts.append(b"\0")
        return self


@dataclass(frozen=True, slots=True)
class Batch:
    """Some records as they were sent, at their place in a partition."""

    first: int
    last: int
    data: bytes
    producer: int
    epoch: int
    sequence: int
    count: int
    attributes: int

    @property
    def transactional(self) -> bool:
        """Tell whether they are of a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def control(self) -> bool:
        """Tell whether it ends a transaction."""
        return bool(self.attributes & CONTROL)

    @staticmethod
    def placed(data: bytes, first: int) -> Batch:
        """Return what a producer has sent, given its place."""
        head = HEAD.unpack_from(data)
        assert head[3] == 2, f"records of version {head[3]}"
        data = struct.pack(">q", first) + data[8:]  # which the checksum does not cover
        return Batch(first, first + head[6], data, head[9], head[10], head[11], head[12], head[5])

    @staticmethod
    def ending(first: int, producer: int, epoch: int, now: int, *, committed: bool) -> Batch:
        """Return the record that ends a transaction in a partition."""
        key, value = struct.pack(">hh", 0, int(committed)), struct.pack(">hi", 0, 0)
        record = b"\0\0\0" + bytes([2 * len(key)]) + key + bytes([2 * len(value)]) + value + b"\0"
        body = bytes([2 * len(record)]) + record
        kind = TRANSACTIONAL | CONTROL
        given = (first, HEAD.size - 12 + len(body), 0, 2, 0, kind, 0, now, now, producer, epoch, -1, 1)
        unchecked = HEAD.pack(*given) + body
        checked = HEAD.pack(*given[:4], crc32c(unchecked[CHECKED_FROM:]), *given[5:]) + body
        return Batch(first, first, checked, producer, epoch, -1, 1, kind)


def _table() -> list[int]:
    made = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        made.append(byte)
    return made


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Return the checksum that Kafka uses."""
    found = 0xFFFFFFFF
    for byte in data:
        found = found >> 8 ^ _TABLE[(found ^ byte) & 0xFF]
    return found ^ 0xFFFFFFFF


__all__ = ["Answer", "Asked", "Batch"]
