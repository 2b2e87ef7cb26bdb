"""states: write the state of a key as bytes that name what they hold; pickle only for what has no other form.

The first byte is the version of this format. Values follow, each with a letter for its type: None, booleans, whole
numbers, floats, text, bytes, dates and moments (with the name of their time zone, or its distance from UTC), decimals,
UUIDs; lists, tuples, sets, dictionaries and deques of them; and members of enumerations, named tuples and dataclasses
that can be imported, field by field, so that a class may gain a field that has a default. Lists of numbers are written
as one block.

What none of these describes, and what holds one object twice (a copy would no longer be the same one), is pickled, and
a warning of the logger `penstock.spark` says so, once for each type. `reading_states.py` reads a pickle only where one
was written.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import pickle
import struct
import sys
from array import array
from collections import deque
from collections.abc import Callable, Set
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from importlib import import_module
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pyspark import cloudpickle

from penstock.spark.stages.refusals import StageError
from penstock.spark.wire.rows import row_type

VERSION = 1
LITTLE = sys.byteorder == "little"
_FEW = 3
"""Items from which on a list of numbers is worth a block."""
_log = logging.getLogger("penstock.spark")
_said: set[str] = set()


class _NoForm(Exception):
    """The word that a value has no form but a pickle."""


def written(value: Any, name: str) -> bytes:
    """Write a value; `name` says whose it is if it has to be pickled, or cannot be."""
    out = bytearray((VERSION,))
    try:
        _Writer(out).write(value)
    except (_NoForm, RecursionError) as found:
        del out[1:]
        out += b"P" + _pickled(value, name, str(found))
    return bytes(out)


def head_of(signature: str, count: int) -> bytes:
    """Return what the state of a key begins with: which steps it belongs to, before a part for each of them."""
    text = signature.encode("utf-8", "surrogatepass")
    return bytes((VERSION,)) + b"tv" + _number(1 + count) + b"s" + _number(len(text)) + text


def joined(head: bytes, parts: list[bytes]) -> bytes:
    """Write the state of a key, what `written((signature, *parts))` is."""
    out = [head]
    for part in parts:
        out += (b"b", _number(len(part)), part)
    return b"".join(out)


def _pickled(value: Any, name: str, why: str) -> bytes:
    if why not in _said:
        _said.add(why)
        _log.warning("keyed_by: the state of %s is pickled into the checkpoint: %s", name, why)
    try:
        return pickle.dumps(value)
    except Exception:  # noqa: BLE001  a class of a notebook or a script has to go along
        pass
    try:
        return cloudpickle.dumps(value)  # type: ignore[no-untyped-call, no-any-return]
    except Exception as error:
        raise StageError(
            f"keyed_by: {name}: its state must be one that pickle takes, got {value!r}: {error}"
        ) from error


_SMALL = [bytes((n,)) for n in range(128)]


def _number(n: int) -> bytes:
    """Write a count in as few bytes as it takes."""
    if n < len(_SMALL):
        return _SMALL[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _block(code: str, items: list[Any]) -> bytes:
    numbers = array(code, items)
    if not LITTLE:
        numbers.byteswap()
    return numbers.tobytes()


class _Writer:
    """The writer of one state."""

    __slots__ = ("_labels", "_out", "_seen")

    def __init__(self, out: bytearray) -> None:
        self._out = out
        self._labels: dict[str, int] = {}
        self._seen: set[int] = set()

    def write(self, value: Any) -> None:
        form = _FORMS.get(type(value))
        if form is not None:
            form(self, value)
        elif isinstance(value, tuple) and type(value).__module__ == row_type.__module__:
            row: Any = value
            names, values = row.__reduce__()[1]
            self._label(b"r", json.dumps(names))
            self._items(b"", values)
        elif isinstance(value, Enum) and type(value).__members__.get(value.name) is value:
            self._label(b"e", _name_of(type(value)))
            self.write(value.name)
        elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
            _check_whole(value, frozenset())
            self._label(b"n", _name_of(type(value)))
            self._items(b"", value)
        elif is_dataclass(value) and not isinstance(value, type):
            self._once(value)
            names = [field.name for field in fields(value)]
            if type(value).__new__ is not object.__new__:
                raise _NoForm(f"a {type(value).__qualname__} is more than an object with fields")
            _check_whole(value, set(names))
            self._label(b"c", ":".join([_name_of(type(value)), *names]))
            self._items(b"", [getattr(value, name) for name in names])
        else:
            raise _NoForm(f"there is no form for a {type(value).__qualname__}")

    def _once(self, value: Any) -> None:
        if id(value) in self._seen:
            raise _NoForm(f"one {type(value).__qualname__} is in it twice")
        self._seen.add(id(value))

    def _label(self, letter: bytes, text: str) -> None:
        """Write a text that may come again, whole only the first time."""
        number = self._labels.get(text)
        if number is not None:
            self._out += letter + _number(number)
            return
        self._out += letter + _number(len(self._labels))
        self._labels[text] = len(self._labels)
        self._bytes(b"", text.encode())

    def _bytes(self, letter: bytes, data: bytes) -> None:
        self._out += letter + _number(len(data)) + data

    def _items(self, letter: bytes, items: Any) -> None:
        if len(items) >= _FEW:
            values = list(items)
            kinds = set(map(type, values))
            code = "q" if kinds == {int} else "d" if kinds == {float} else ""
            if code:
                try:
                    self._out += letter + code.encode() + _number(len(values)) + _block(code, values)
                except OverflowError:
                    pass
                else:
                    return
        self._out += letter + b"v" + _number(len(items))
        for value in items:
            self.write(value)

    # One method for each plain type.

    def none(self, value: None) -> None:
        self._out += b"N"

    def boolean(self, value: bool) -> None:
        self._out += b"T" if value else b"F"

    def whole(self, value: int) -> None:
        self._bytes(b"i", value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True))

    def float(self, value: float) -> None:
        self._out += b"f" + struct.pack("<d", value)

    def text(self, value: str) -> None:
        self._bytes(b"s", value.encode("utf-8", "surrogatepass"))

    def data(self, value: bytes) -> None:
        self._bytes(b"b", value)

    def list(self, value: Any) -> None:
        self._once(value)
        self._items(b"l", value)

    def tuple(self, value: Any) -> None:
        self._items(b"t", value)

    def set(self, value: Any) -> None:
        self._once(value)
        self._items(b"S", value)

    def frozenset(self, value: Any) -> None:
        self._items(b"z", value)

    def deque(self, value: deque[Any]) -> None:
        self._once(value)
        self._out += b"d"
        self.write(value.maxlen)
        self._items(b"", value)

    def dictionary(self, value: dict[Any, Any]) -> None:
        self._once(value)
        self._out += b"D" + _number(len(value))
        for key, held in value.items():
            self.write(key)
            self.write(held)

    def moment(self, value: Any) -> None:
        zone = getattr(value, "tzinfo", None)
        if isinstance(zone, ZoneInfo) and _is_known(zone):
            self._label(b"Z", zone.key)
            value = value.replace(tzinfo=None)
        elif zone is not None and not _is_offset(zone):
            raise _NoForm(f"a moment with the time zone {type(zone).__qualname__} has no other form")
        self._bytes(b"m", f"{type(value).__name__}:{value.isoformat()}:{getattr(value, 'fold', 0)}".encode())

    def length(self, value: dt.timedelta) -> None:
        self._bytes(b"w", f"{value.days}:{value.seconds}:{value.microseconds}".encode())

    def decimal(self, value: Decimal) -> None:
        self._bytes(b"x", str(value).encode())

    def uuid(self, value: UUID) -> None:
        self._bytes(b"u", value.bytes)


_FORMS: dict[type, Callable[[_Writer, Any], None]] = {
    type(None): _Writer.none, bool: _Writer.boolean, int: _Writer.whole, float: _Writer.float, str: _Writer.text,
    bytes: _Writer.data, list: _Writer.list, tuple: _Writer.tuple, set: _Writer.set, frozenset: _Writer.frozenset,
    deque: _Writer.deque, dict: _Writer.dictionary, dt.datetime: _Writer.moment, dt.date: _Writer.moment,
    dt.time: _Writer.moment, dt.timedelta: _Writer.length, Decimal: _Writer.decimal, UUID: _Writer.uuid,
}  # fmt: skip


def _check_whole(value: Any, names: Set[str]) -> None:
    """Refuse a value that has other attributes than these, or lacks one of them."""
    state: Any = object.__getstate__(value)
    held = {name: None for part in (state if isinstance(state, tuple) else (state,)) for name in part or ()}
    if held.keys() != names:
        raise _NoForm(f"a {type(value).__qualname__} has more or less than its fields")


def _is_known(zone: ZoneInfo) -> bool:
    """Tell whether another process finds a time zone by its name."""
    try:
        return ZoneInfo(zone.key) is zone
    except (TypeError, ValueError, ZoneInfoNotFoundError):  # it was made of a file, perhaps without a name
        return False


def _is_offset(zone: Any) -> bool:
    """Tell whether a time zone is no more than its distance from UTC, which a moment that is written as text has."""
    if type(zone) is not dt.timezone:
        return False
    distance = zone.utcoffset(None)
    return not distance.microseconds and str(zone) == str(dt.timezone(distance))  # or else it has a name


def _name_of(kind: type) -> str:
    if class_named(kind.__module__, kind.__qualname__) is not kind:
        raise _NoForm(f"a {kind.__qualname__} of {kind.__module__} cannot be imported")
    return f"{kind.__module__}:{kind.__qualname__}"


def class_named(module: str, name: str) -> Any:
    """Return what a module has under a name, or None if another process would not find it there."""
    if module == "__main__" or "<locals>" in name:
        return None  # another process has another
    try:
        value: Any = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except Exception:  # noqa: BLE001  whatever an import may do
        return None
    return value


__all__ = ["LITTLE", "VERSION", "class_named", "head_of", "joined", "written"]
