"""frames: the frames of RSocket 1.0 as values, to bytes and back.

A frame is a header (31 bits of stream id, 6 bits of type, 10 bits of flags), the fields of its type, then metadata with
its length before it, then data. What is truncated, of an unknown type, or without the flags it needs is a `FrameError`;
an unknown frame that says it may be ignored is ignored.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from penstock.bridges.rsocket.errors import FrameError

LARGEST_FRAME = 2**24 - 1
"""The most bytes that the length before a frame can say."""
MOST_REQUESTED = 2**31 - 1
HEADER = 6

_IGNORE, _METADATA = 0x200, 0x100
_FOLLOWS, _COMPLETE, _NEXT = 0x80, 0x40, 0x20
_RESUME, _LEASE, _RESPOND = 0x80, 0x40, 0x80
_31_BITS = 2**31 - 1


class Kind(IntEnum):
    """The types of frames."""

    SETUP = 1
    LEASE = 2
    KEEPALIVE = 3
    REQUEST_RESPONSE = 4
    REQUEST_FNF = 5
    REQUEST_STREAM = 6
    REQUEST_CHANNEL = 7
    REQUEST_N = 8
    CANCEL = 9
    PAYLOAD = 10
    ERROR = 11
    METADATA_PUSH = 12
    RESUME = 13
    RESUME_OK = 14


class Code(IntEnum):
    """The codes of errors."""

    INVALID_SETUP = 0x001
    UNSUPPORTED_SETUP = 0x002
    REJECTED_SETUP = 0x003
    REJECTED_RESUME = 0x004
    CONNECTION_ERROR = 0x101
    CONNECTION_CLOSE = 0x102
    APPLICATION_ERROR = 0x201
    REJECTED = 0x202
    CANCELED = 0x203
    INVALID = 0x204


@dataclass(frozen=True, slots=True)
class SetupFrame:
    """The frame that opens a connection."""

    interval: int
    """Milliseconds between two keep-alives."""
    lifetime: int
    """Milliseconds of silence after which the other side counts as lost."""
    metadata_mime: str
    data_mime: str
    metadata: bytes | None = None
    resume: bool = False
    lease: bool = False
    major: int = 1
    minor: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """The frame that asks for a stream or opens a channel."""

    stream: int
    kind: Kind
    n: int
    metadata: bytes | None = None
    data: bytes = b""
    follows: bool = False
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Payload:
    """The frame of an element (`next`), the end (`complete`), or both."""

    stream: int
    data: bytes = b""
    metadata: bytes | None = None
    follows: bool = False
    complete: bool = False
    next: bool = True


@dataclass(frozen=True, slots=True)
class RequestN:
    """The frame that asks for more elements."""

    stream: int
    n: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """The frame that asks for no more elements."""

    stream: int


@dataclass(frozen=True, slots=True)
class ErrorFrame:
    """The frame that ends a stream, or with stream 0 the connection, by a failure."""

    stream: int
    code: int
    text: str


@dataclass(frozen=True, slots=True)
class KeepAliveFrame:
    """The frame that shows that this side lives, and lets the other side do so."""

    respond: bool
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class MetadataPush:
    """The frame that says something about the connection."""

    metadata: bytes


@dataclass(frozen=True, slots=True)
class Uncarried:
    """A frame of a kind that is understood and not carried: leases, resumption, single responses."""

    stream: int
    kind: Kind


Frame = SetupFrame | Request | Payload | RequestN | Cancel | ErrorFrame | KeepAliveFrame | MetadataPush | Uncarried


def _head(stream: int, kind: Kind, flags: int = 0) -> bytes:
    return struct.pack(">IH", stream, kind << 10 | flags)


def _body(metadata: bytes | None, data: bytes) -> bytes:
    return data if metadata is None else len(metadata).to_bytes(3, "big") + metadata + data


def _short_text(text: str) -> bytes:
    encoded = text.encode("ascii")
    return bytes((len(encoded),)) + encoded


def encode(frame: Frame) -> bytes:
    """Return a frame as bytes, without a length before it."""
    match frame:
        case Payload(stream, data, metadata, follows, complete, following):
            flags = follows * _FOLLOWS | complete * _COMPLETE | following * _NEXT | (metadata is not None) * _METADATA
            return _head(stream, Kind.PAYLOAD, flags) + _body(metadata, data)
        case RequestN(stream, n):
            return _head(stream, Kind.REQUEST_N) + struct.pack(">I", n)
        case Request(stream, kind, n, metadata, data, follows, complete):
            flags = follows * _FOLLOWS | complete * _COMPLETE | (metadata is not None) * _METADATA
            return _head(stream, kind, flags) + struct.pack(">I", n) + _body(metadata, data)
        case Cancel(stream):
            return _head(stream, Kind.CANCEL)
        case ErrorFrame(stream, code, text):
            return _head(stream, Kind.ERROR) + struct.pack(">I", code) + text.encode("utf-8", "backslashreplace")
        case KeepAliveFrame(respond, data):
            return _head(0, Kind.KEEPALIVE, respond * _RESPOND) + bytes(8) + data
        case MetadataPush(metadata):
            return _head(0, Kind.METADATA_PUSH, _METADATA) + metadata
        case SetupFrame():
            return _setup(frame)
        case Uncarried(stream, kind):
            return _head(stream, kind)


def _setup(frame: SetupFrame) -> bytes:
    flags = (frame.metadata is not None) * _METADATA | frame.resume * _RESUME | frame.lease * _LEASE
    fields = struct.pack(">HHII", frame.major, frame.minor, frame.interval, frame.lifetime)
    mimes = _short_text(frame.metadata_mime) + _short_text(frame.data_mime)
    return _head(0, Kind.SETUP, flags) + fields + mimes + _body(frame.metadata, b"")


def decode(frame: bytes) -> Frame | None:
    """Return what the bytes of one frame say, or None for a frame that may be ignored."""
    if len(frame) < HEADER:
        raise FrameError(f"a frame of {len(frame)} bytes, which is too short")
    stream, rest = struct.unpack_from(">IH", frame)
    flags = rest & 0x3FF
    if stream > _31_BITS:
        raise FrameError(f"a frame for stream {stream}, which is no stream id")
    try:
        kind = Kind(rest >> 10)
    except ValueError:
        if flags & _IGNORE:
            return None
        raise FrameError(f"a frame of the unknown type {rest >> 10}") from None
    try:
        return _fields(frame, stream, kind, flags)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise FrameError(f"a {kind.name} frame that is truncated or garbled") from error


def _fields(frame: bytes, stream: int, kind: Kind, flags: int) -> Frame:
    match kind:
        case Kind.PAYLOAD:
            metadata, data = _split(frame, HEADER, flags)
            complete = bool(flags & _COMPLETE)
            follows = bool(flags & _FOLLOWS) and not complete
            if not flags & (_FOLLOWS | _COMPLETE | _NEXT):
                raise FrameError("a PAYLOAD frame with neither an element nor an end")
            return Payload(stream, data, metadata, follows, complete, bool(flags & _NEXT))
        case Kind.REQUEST_N:
            return RequestN(stream, _number(frame, HEADER))
        case Kind.REQUEST_STREAM | Kind.REQUEST_CHANNEL:
            metadata, data = _split(frame, HEADER + 4, flags)
            complete = kind is Kind.REQUEST_CHANNEL and bool(flags & _COMPLETE)
            follows = bool(flags & _FOLLOWS)
            return Request(stream, kind, _number(frame, HEADER), metadata, data, follows, complete)
        case Kind.CANCEL:
            return Cancel(stream)
        case Kind.ERROR:
            (code,) = struct.unpack_from(">I", frame, HEADER)
            return ErrorFrame(stream, code, frame[HEADER + 4 :].decode("utf-8", "replace"))
        case Kind.KEEPALIVE:
            struct.unpack_from(">Q", frame, HEADER)
            return KeepAliveFrame(bool(flags & _RESPOND), frame[HEADER + 8 :])
        case Kind.METADATA_PUSH:
            return MetadataPush(frame[HEADER:])
        case Kind.SETUP:
            return _read_setup(frame, flags)
        case _:
            return Uncarried(stream, kind)


def _number(frame: bytes, place: int) -> int:
    (number,) = struct.unpack_from(">I", frame, place)
    return int(number) & _31_BITS


def _split(frame: bytes, place: int, flags: int) -> tuple[bytes | None, bytes]:
    """Return the metadata, None if there is none, and the data."""
    if len(frame) < place:
        raise IndexError
    if not flags & _METADATA:
        return None, frame[place:]
    start = place + 3
    stop = start + int.from_bytes(frame[place:start], "big")
    if start > len(frame) or stop > len(frame):
        raise IndexError
    return frame[start:stop], frame[stop:]


def _read_setup(frame: bytes, flags: int) -> SetupFrame:
    major, minor, interval, lifetime = struct.unpack_from(">HHII", frame, HEADER)
    place = HEADER + 12
    if flags & _RESUME:
        (size,) = struct.unpack_from(">H", frame, place)
        place += 2 + size
    metadata_mime, place = _read_short_text(frame, place)
    data_mime, place = _read_short_text(frame, place)
    metadata, _ = _split(frame, place, flags)
    return SetupFrame(
        interval & _31_BITS, lifetime & _31_BITS, metadata_mime, data_mime, metadata,
        bool(flags & _RESUME), bool(flags & _LEASE), major, minor,
    )  # fmt: skip


def _read_short_text(frame: bytes, place: int) -> tuple[str, int]:
    stop = place + 1 + frame[place]
    if stop > len(frame):
        raise IndexError
    return frame[place + 1 : stop].decode("ascii"), stop
