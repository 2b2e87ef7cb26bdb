"""event_lines: server-sent events as they stand in the bytes of an answer, by the rules of the HTML standard."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import PenstockError

LONGEST = 1024 * 1024
"""How many bytes an event may have."""


class EventError(PenstockError):
    """The error of what comes from a server and is no event."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event that a server has sent."""

    data: str
    event: str = "message"
    """What kind of event it is."""
    id: str = ""
    """The last id that the server has given, of this event or of one before."""


class EventParser:
    r"""What makes events of bytes, however they are cut.

    >>> parser = EventParser()
    >>> parser.feed(b"id: 7\ndata: one\nda"), parser.feed(b"ta: two\n\n")
    ([], [ServerEvent(data='one\ntwo', event='message', id='7')])
    """

    def __init__(self) -> None:
        self.last_id = ""
        self.retry: float | None = None
        """How many seconds the server wants to pass before it is connected to again."""
        self._rest = b""
        self._returned = False
        self._begun = False
        self._data: list[str] = []
        self._size = 0
        self._event = ""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that end in these bytes."""
        # A line that ends with a carriage return has ended, whether or not the other half of its end is still to come.
        data = self._rest + (chunk.removeprefix(b"\n") if self._returned else chunk)
        self._returned = chunk.endswith(b"\r") if chunk else self._returned
        if not self._begun and len(data) >= 3:
            self._begun = True
            data = data.removeprefix(b"\xef\xbb\xbf")
        lines = re.split(rb"\r\n|\n|\r", data)
        self._rest = lines.pop()
        if len(self._rest) + self._size > LONGEST:
            raise EventError(f"events: an event must have at most {LONGEST} bytes, got more: {self._rest[:60]!r}")
        return [event for event in map(self._line, lines) if event is not None]

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._event_end()
        name, _, text = line.partition(b":")
        value = text.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._size += len(text) + bool(self._data)  # a line end stands between two
            if self._size > LONGEST:
                raise EventError(f"events: an event must have at most {LONGEST} bytes, got more: {line[:60]!r}")
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id" and "\0" not in value:
            self.last_id = value
        elif name == b"retry" and value.isascii() and value.isdecimal():
            self.retry = float(value) / 1000
        return None

    def _event_end(self) -> ServerEvent | None:
        data, event, self._data, self._event, self._size = self._data, self._event, [], "", 0
        return ServerEvent("\n".join(data), event or "message", self.last_id) if data else None


__all__ = ["LONGEST", "EventError", "EventParser", "ServerEvent"]
