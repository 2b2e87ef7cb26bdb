"""metadata: the extensions of RSocket that say who asks (authentication) and for what (routing).

Composite metadata is a row of entries, each with the name of its type, or a number for a well-known one, before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.bridges.rsocket.errors import FrameError

COMPOSITE = "message/x.rsocket.composite-metadata.v0"
AUTHENTICATION = "message/x.rsocket.authentication.v0"
ROUTING = "message/x.rsocket.routing.v0"
PENSTOCK = "message/x.penstock.peer.v0"
"""Says that this side is penstock: it opens channels without an element and ends half a channel by a failure."""
FAILURE = "message/x.penstock.failure.v0"
"""Says, with the end of half a channel, that it has failed, and how."""

_NUMBERS = {AUTHENTICATION: 0x7C, ROUTING: 0x7E, COMPOSITE: 0x7F}
_NAMES = {number: name for name, number in _NUMBERS.items()}
_WELL_KNOWN = 0x80
_BEARER = 0x81


def composite(entries: Iterable[tuple[str, bytes]]) -> bytes:
    """Return entries as one."""
    return b"".join(_mime(name) + len(content).to_bytes(3, "big") + content for name, content in entries)


def _mime(name: str) -> bytes:
    if name in _NUMBERS:
        return bytes((_WELL_KNOWN | _NUMBERS[name],))
    return bytes((len(name) - 1,)) + name.encode("ascii")


def entries_of(metadata: bytes | None) -> dict[str, bytes]:
    """Return the entries of composite metadata by name, the first where there are several."""
    found: dict[str, bytes] = {}
    for name, content in _entries(metadata or b""):
        found.setdefault(name, content)
    return found


def _entries(metadata: bytes) -> Iterator[tuple[str, bytes]]:
    place = 0
    while place < len(metadata):
        first = metadata[place]
        place += 1
        if first & _WELL_KNOWN:
            name = _NAMES.get(first & 0x7F, f"well-known {first & 0x7F}")
        else:
            name = metadata[place : place + first + 1].decode("ascii", "replace")
            place += first + 1
        start = place + 3
        stop = start + int.from_bytes(metadata[place:start], "big")
        if stop > len(metadata) or start > len(metadata):
            raise FrameError("composite metadata that is truncated")
        yield name, metadata[start:stop]
        place = stop


def bearer(token: str) -> bytes:
    """Return a token as authentication."""
    return bytes((_BEARER,)) + token.encode()


def token_of(authentication: bytes | None) -> bytes | None:
    """Return the token of an authentication, or None if it has another form."""
    if not authentication:
        return None
    if authentication[0] == _BEARER:
        return authentication[1:]
    name, content = authentication[1 : authentication[0] + 2], authentication[authentication[0] + 2 :]
    return content if name == b"bearer" else None


def route(name: str) -> bytes:
    """Return the name of a stream as a route."""
    encoded = name.encode()
    return bytes((len(encoded),)) + encoded


def name_of(routing: bytes | None) -> str | None:
    """Return the name of a stream, or None if there is none."""
    if not routing or len(routing) < 1 + routing[0]:
        return None
    return routing[1 : 1 + routing[0]].decode("utf-8", "replace")
