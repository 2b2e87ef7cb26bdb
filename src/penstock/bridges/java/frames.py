"""frames: values as bytes, for the way to the JVM and back; `Peer.java` has the other end.

Several elements make one call then, where Py4J would make one or more for each. What has no form in the other language
stays where it is, and its place in a list is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from struct import Struct
from typing import Any

from penstock.bridges.java.peer import JavaObject

_INT = Struct(">i")
_LONG = Struct(">q")
_DOUBLE = Struct(">d")
CARRIED = "bool, int, float, str, bytes, Decimal, lists, tuples, sets and dicts of these, or an object of Java's"


class JavaFrame:
    """A reader of what the JVM wrote."""

    __slots__ = ("_at", "_bytes", "_kept")

    def __init__(self, given: bytes, kept: Callable[[int], Any]) -> None:
        self._bytes = given
        self._at = 0
        self._kept = kept

    @property
    def left(self) -> bool:
        """Tell whether there is more to read."""
        return self._at < len(self._bytes)

    def _of(self, form: Struct) -> Any:
        at = self._at
        self._at = at + form.size
        return form.unpack_from(self._bytes, at)[0]

    def _cut(self, size: int) -> bytes:
        at = self._at
        self._at = at + size
        return self._bytes[at : at + size]

    def long(self) -> int:
        """Read a whole number."""
        return self._of(_LONG)  # type: ignore[no-any-return]

    def flag(self) -> bool:
        """Read a yes or a no."""
        return self._cut(1) == b"\1"

    def tag(self) -> str:
        """Read a letter."""
        return chr(self._cut(1)[0])

    def text(self) -> str | None:
        """Read a text, or that there is none."""
        size = self._of(_INT)
        return None if size < 0 else self._cut(2 * size).decode("utf-16-be", "surrogatepass")

    def value(self) -> Any:
        """Read a value."""
        tag = self.tag()
        if tag == "i":
            return self._of(_INT)
        if tag == "l":
            return self._of(_LONG)
        if tag == "s":
            return self.text()
        if tag == "d":
            return self._of(_DOUBLE)
        if tag in "TF":
            return tag == "T"
        if tag == "b":
            return self._cut(self._of(_INT))
        if tag == "n":
            return None
        if tag == "g":
            return int.from_bytes(self._cut(self._of(_INT)), "big", signed=True)
        if tag == "D":
            return Decimal(self.text() or "")
        if tag == "r":
            return self._kept(self._of(_INT))
        count = range(self._of(_INT))
        if tag == "[":
            return [self.value() for _ in count]
        if tag == "(":
            items = [self.value() for _ in count]
            try:
                return set(map(_hashable, items))
            except TypeError:
                return items
        pairs = [(self.value(), self.value()) for _ in count]
        try:
            return {_hashable(key): item for key, item in pairs}
        except TypeError:
            return [list(pair) for pair in pairs]


def _hashable(value: Any) -> Any:
    """Return a value that can be in a set or the key of a dict, as Java's lists and sets can; maps cannot here."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return frozenset(value) if isinstance(value, set) else value


def _text(out: bytearray, value: str) -> None:
    letters = value.encode("utf-16-be", "surrogatepass")
    out += _INT.pack(len(letters) // 2)
    out += letters


def _number(out: bytearray, value: int) -> None:
    if -(2**31) <= value < 2**31:
        out += b"i" + _INT.pack(value)
    elif -(2**63) <= value < 2**63:
        out += b"l" + _LONG.pack(value)
    else:
        size = value.bit_length() // 8 + 1
        out += b"g" + _INT.pack(size) + value.to_bytes(size, "big", signed=True)


def write(out: bytearray, value: Any, kept: list[Any]) -> None:
    """Write a value for the JVM; raise TypeError about one that cannot be carried."""
    if value is None:
        out += b"n"
    elif isinstance(value, bool):
        out += b"T" if value else b"F"
    elif isinstance(value, int):
        _number(out, value)
    elif isinstance(value, str):
        out += b"s"
        _text(out, value)
    elif isinstance(value, float):
        out += b"d" + _DOUBLE.pack(value)
    elif isinstance(value, bytes | bytearray | memoryview):
        content = bytes(value)
        out += b"b" + _INT.pack(len(content)) + content
    elif isinstance(value, JavaObject):
        out += b"r" + _INT.pack(len(kept))
        kept.append(value)
    elif isinstance(value, Decimal) and value.is_finite():
        out += b"D"
        _text(out, str(value))
    elif isinstance(value, list | tuple):
        _several(out, b"[", value, kept)
    elif isinstance(value, set | frozenset):
        _several(out, b"(", list(value), kept)
    elif isinstance(value, Mapping):
        out += b"{" + _INT.pack(len(value))
        for key, item in value.items():
            write(out, key, kept)
            write(out, item, kept)
    else:
        raise TypeError(f"to_flow_publisher: elements must be {CARRIED}, got {value!r}")


def _several(out: bytearray, tag: bytes, values: Sequence[Any], kept: list[Any]) -> None:
    out += tag + _INT.pack(len(values))
    for value in values:
        write(out, value, kept)
