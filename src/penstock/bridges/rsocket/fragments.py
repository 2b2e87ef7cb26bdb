"""fragments: elements that are too large for one frame, in pieces and put together again, never beyond a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.bridges.rsocket.errors import FrameError
from penstock.bridges.rsocket.frames import Payload, Request

LARGEST_METADATA = 2**15
PIECE = 2**16
"""The most bytes of data in one frame, so that a large element does not hold up the others for long."""


def split(frame: Payload | Request) -> Iterator[Payload | Request]:
    """Give the frames that carry a large one."""
    data = frame.data
    if len(data) <= PIECE:
        yield frame
        return
    yield replace(frame, data=data[:PIECE], follows=True, complete=False)
    for place in range(PIECE, len(data), PIECE):
        last = place + PIECE >= len(data)
        complete = last and frame.complete
        yield Payload(frame.stream, data[place : place + PIECE], None, follows=not last, complete=complete)


class Joiner:
    """A buffer that puts pieces together, stream by stream."""

    def __init__(self, largest: int, most: int) -> None:
        self._largest = largest
        self._most = most
        self._first: dict[int, Payload | Request] = {}
        self._data: dict[int, bytearray] = {}
        self._metadata: dict[int, bytearray] = {}

    def join(self, frame: Payload | Request) -> Payload | Request | None:
        """Take a frame, and return a whole one or None if more of it follows."""
        stream = frame.stream
        begun = stream in self._first
        if not begun and not frame.follows:
            self._check(len(frame.data), len(frame.metadata or b""))
            return frame
        if begun and isinstance(frame, Request):
            raise FrameError("a request in the middle of another frame's pieces")
        if not begun:
            if len(self._first) >= self._most:
                raise FrameError(f"pieces of more than {self._most} elements at once")
            self._first[stream] = frame
            self._data[stream], self._metadata[stream] = bytearray(), bytearray()
        data, metadata = self._data[stream], self._metadata[stream]
        self._check(len(data) + len(frame.data), len(metadata) + len(frame.metadata or b""))
        data += frame.data
        metadata += frame.metadata or b""
        if frame.follows:
            return None
        first = self._first[stream]
        self.forget(stream)
        whole_metadata = bytes(metadata) if metadata or first.metadata is not None else None
        return replace(first, data=bytes(data), metadata=whole_metadata, follows=False, complete=frame.complete)

    def holds(self, stream: int) -> bool:
        """Tell whether the pieces of an element of this stream have begun to come."""
        return stream in self._first

    def forget(self, stream: int) -> None:
        """Drop the pieces of a stream that has ended."""
        self._first.pop(stream, None)
        self._data.pop(stream, None)
        self._metadata.pop(stream, None)

    def _check(self, data: int, metadata: int) -> None:
        if data > self._largest:
            raise FrameError(f"an element of more than {self._largest} bytes, the limit that `largest` sets here")
        if metadata > LARGEST_METADATA:
            raise FrameError(f"metadata of more than {LARGEST_METADATA} bytes")
