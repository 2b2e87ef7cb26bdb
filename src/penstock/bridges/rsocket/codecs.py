"""codecs: elements to bytes and back; never by pickle, which would run what a stranger sends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Codec(Protocol):
    """A codec that turns elements into bytes and bytes into elements; both sides use the same."""

    @property
    def mime(self) -> str:
        """Return the name of the format, which both sides compare."""
        ...

    def encode(self, element: Any, /) -> bytes:
        """Return an element as bytes."""
        ...

    def decode(self, data: bytes, /) -> Any:
        """Return the element of these bytes."""
        ...


@dataclass(frozen=True, slots=True)
class JsonCodec:
    """A codec for what JSON can say: texts, numbers, booleans, lists and dicts with texts as keys."""

    mime: str = "application/json"

    def encode(self, element: Any, /) -> bytes:
        """Return an element as JSON."""
        return json.dumps(element, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()

    def decode(self, data: bytes, /) -> Any:
        """Return the element of a JSON text."""
        return json.loads(data)


@dataclass(frozen=True, slots=True)
class BytesCodec:
    """A codec that carries bytes as they are."""

    mime: str = "application/octet-stream"

    def encode(self, element: Any, /) -> bytes:
        """Return the element, which must be bytes."""
        if not isinstance(element, bytes | bytearray | memoryview):
            raise TypeError(f"rsocket: an element must be bytes for the codec BYTES, got {element!r}")
        return bytes(element)

    def decode(self, data: bytes, /) -> bytes:
        """Return the bytes."""
        return data


JSON: Codec = JsonCodec()
BYTES: Codec = BytesCodec()
