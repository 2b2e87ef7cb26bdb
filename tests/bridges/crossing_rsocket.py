"""The crossings over RSocket: a stream served and taken back, over TCP and websockets, and through a channel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal

from penstock import Stream
from penstock.bridges.rsocket import channel, remote, serve
from tests.bridges.crossings import Crossing, Unforeseen

ERRORS = (Unforeseen,)


@contextmanager
def served(stream: Stream[Any], transport: Literal["tcp", "websocket"]) -> Iterator[Stream[Any]]:
    with serve({"elements": stream}, transport=transport) as server:
        yield remote(server.address, "elements", token=server.token, errors=ERRORS)


def tcp(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    return served(stream, "tcp")


def websocket(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    return served(stream, "websocket")


@contextmanager
def through(stream: Stream[Any]) -> Iterator[Stream[Any]]:
    with serve(channels={"same": lambda elements: elements.map(lambda each: each)}, errors=ERRORS) as server:
        yield stream | channel(server.address, "same", token=server.token, errors=ERRORS)


CROSSINGS = [
    Crossing("rsocket over tcp", tcp, window=0),
    Crossing("rsocket over a websocket", websocket, window=0),
    Crossing("rsocket channel", through, window=0),
]
