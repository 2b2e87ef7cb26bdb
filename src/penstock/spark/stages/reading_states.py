"""reading_states: read the state of a key from the bytes that `states.py` has written."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import struct
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from penstock.spark.stages.refusals import StageError
from penstock.spark.stages.states import LITTLE, VERSION, class_named
from penstock.spark.wire.rows import row_type

_MOMENTS: dict[str, Any] = {"datetime": dt.datetime, "date": dt.date, "time": dt.time}
_BYTES, _VALUES = b"bv"


def read(data: bytes, name: str) -> Any:
    """Read what was written."""
    if not data or data[0] != VERSION:
        raise StageError(
            f"keyed_by: the state of {name} in the checkpoint has the form {data[:1].hex() or 'of nothing'}, and this"
            f" version of penstock reads {VERSION:02x}; give the query another checkpoint"
        )
    try:
        reader = _Reader(data, 1)
        value = reader.read()
        if reader.at != len(data):
            raise ValueError(f"{len(data) - reader.at} bytes are left over")
    except StageError:
        raise
    except Exception as error:
        raise StageError(f"keyed_by: the state of {name} in the checkpoint cannot be read: {error!r}") from error
    return value


def parted(data: bytes, head: bytes, count: int) -> list[bytes] | None:
    """Return the parts of what `joined` has written; None if it is something else, of which `read` can say what."""
    if not data.startswith(head):
        return None
    reader = _Reader(data, len(head))
    parts: list[bytes] = []
    try:
        while len(parts) < count and reader._byte() == _BYTES:
            parts.append(reader._block())
    except ValueError:
        return None
    return parts if len(parts) == count and reader.at == len(data) else None


class _Reader:
    """The reader of one state."""

    __slots__ = ("_data", "_labels", "at")

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._labels: list[str] = []
        self.at = at

    def _taken(self, count: int) -> bytes:
        taken = self._data[self.at : self.at + count]
        if len(taken) != count:
            raise ValueError("it is cut off")
        self.at += count
        return taken

    def _byte(self) -> int:
        at = self.at
        if at >= len(self._data):
            raise ValueError("it is cut off")
        self.at = at + 1
        return self._data[at]

    def _number(self) -> int:
        n = shift = 0
        while True:
            byte = self._byte()
            n |= (byte & 127) << shift
            if byte < 128:
                return n
            shift += 7

    def _block(self) -> bytes:
        return self._taken(self._number())

    def _label(self) -> str:
        number = self._number()
        if number == len(self._labels):
            self._labels.append(self._block().decode())
        return self._labels[number]

    @staticmethod
    def _class(text: str, what: Callable[[type], object]) -> type:
        module, name = text.split(":")[:2]
        found = class_named(module, name)
        if not isinstance(found, type) or not what(found):
            raise StageError(
                f"keyed_by: a state in the checkpoint is a {name} of {module}, which is not there any more"
            )
        return found

    def _items(self) -> list[Any]:
        code = self._byte()
        count = self._number()
        if code == _VALUES:
            return [self.read() for _ in range(count)]
        numbers = array(chr(code))
        numbers.frombytes(self._taken(8 * count))
        if not LITTLE:
            numbers.byteswap()
        return numbers.tolist()

    def read(self) -> Any:
        letter = self._byte()
        method = _METHODS.get(letter)
        if method is None:
            raise ValueError(f"nothing is known as {bytes((letter,))!r}")
        return method(self)

    def deque(self) -> Any:
        most = self.read()
        return deque(self._items(), most)

    def dictionary(self) -> dict[Any, Any]:
        return {self.read(): self.read() for _ in range(self._number())}

    def moment(self) -> Any:
        kind, _, rest = self._block().decode().partition(":")
        text, _, fold = rest.rpartition(":")
        value = _MOMENTS[kind].fromisoformat(text)
        return value.replace(fold=1) if fold == "1" else value

    def zoned(self) -> Any:
        zone = ZoneInfo(self._label())
        return self.read().replace(tzinfo=zone)

    def length(self) -> dt.timedelta:
        return dt.timedelta(*map(int, self._block().decode().split(":")))

    def enumeration(self) -> Any:
        kind: Any = self._class(self._label(), lambda kind: issubclass(kind, Enum))
        return kind[self.read()]

    def row(self) -> Any:
        names = tuple(json.loads(self._label()))
        return tuple.__new__(row_type(names), self._items())

    def named_tuple(self) -> Any:
        kind: Any = self._class(self._label(), lambda kind: issubclass(kind, tuple))
        return kind._make(self._items())

    def dataclass(self) -> Any:
        label = self._label()
        kind = self._class(label, is_dataclass)
        given = dict(zip(label.split(":")[2:], self._items(), strict=True))
        made: Any = object.__new__(kind)
        for field in fields(kind):
            if field.name in given:
                value = given[field.name]
            elif field.default is not MISSING:
                value = field.default
            elif field.default_factory is not MISSING:
                value = field.default_factory()
            else:
                raise StageError(
                    f"keyed_by: a state in the checkpoint is a {kind.__qualname__} without {field.name!r}, which has no"
                    " default"
                )
            object.__setattr__(made, field.name, value)
        return made

    def pickle(self) -> Any:
        data, self.at = self._data[self.at :], len(self._data)
        return pickle.loads(data)


_READ: dict[bytes, Callable[[_Reader], Any]] = {
    b"l": _Reader._items,
    b"t": lambda one: tuple(one._items()),
    b"S": lambda one: set(one._items()),
    b"z": lambda one: frozenset(one._items()),
    b"N": lambda one: None,
    b"T": lambda one: True,
    b"F": lambda one: False,
    b"i": lambda one: int.from_bytes(one._block(), "little", signed=True),
    b"f": lambda one: struct.unpack("<d", one._taken(8))[0],
    b"s": lambda one: one._block().decode("utf-8", "surrogatepass"),
    b"b": lambda one: one._block(),
    b"x": lambda one: Decimal(one._block().decode()),
    b"u": lambda one: UUID(bytes=one._block()),
    b"d": _Reader.deque,
    b"D": _Reader.dictionary,
    b"m": _Reader.moment,
    b"Z": _Reader.zoned,
    b"w": _Reader.length,
    b"e": _Reader.enumeration,
    b"n": _Reader.named_tuple,
    b"c": _Reader.dataclass,
    b"r": _Reader.row,
    b"P": _Reader.pickle,
}
_METHODS = {letter[0]: method for letter, method in _READ.items()}

__all__ = ["parted", "read"]
