"""raw_rsocket: sockets without manners, to send servers and consumers what no RSocket library would send."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.bridges.rsocket.frames import ErrorFrame, Frame, Kind, Request, SetupFrame, decode, encode
from penstock.bridges.rsocket.metadata import AUTHENTICATION, COMPOSITE, ROUTING, bearer, composite, route
from penstock.bridges.rsocket.server import Server

PATIENCE = 60.0


class Raw:
    """Send bytes and frames, and read frames."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(PATIENCE)
        self.socket = connected
        self._file = connected.makefile("rb")

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send(self, *frames: Frame | bytes) -> None:
        for frame in frames:
            data = frame if isinstance(frame, bytes) else encode(frame)
            self.send_bytes(len(data).to_bytes(3, "big") + data)

    def read(self) -> Frame | None:
        """Read a frame; None is the end."""
        try:
            head = self._file.read(3)
            return None if len(head) < 3 else decode(self._file.read(int.from_bytes(head, "big")))
        except ConnectionError:
            return None

    def read_until(self, kind: type[Frame]) -> Frame:
        while (frame := self.read()) is not None:
            if isinstance(frame, kind):
                return frame
        raise AssertionError(f"the connection ended before a {kind.__name__} came")

    def rest(self) -> list[Frame]:
        """Read all that comes before the other side closes."""
        found = []
        while (frame := self.read()) is not None:
            found.append(frame)
        return found

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def setup(token: str, **changes: object) -> SetupFrame:
    """Return a SETUP that a server takes, but for the changes."""
    fields: dict[str, object] = {
        "interval": 1000, "lifetime": 60_000, "metadata_mime": COMPOSITE, "data_mime": "application/json",
        "metadata": composite([(AUTHENTICATION, bearer(token))]),
    }  # fmt: skip
    return SetupFrame(**(fields | changes))  # type: ignore[arg-type]


def request(name: str, n: int = 1, stream: int = 1, kind: Kind = Kind.REQUEST_STREAM, data: bytes = b"") -> Request:
    return Request(stream, kind, n, composite([(ROUTING, route(name))]), data)


@contextmanager
def raw_consumer(server: Server, *frames: Frame | bytes) -> Iterator[Raw]:
    """Connect to a server over TCP, with a SETUP that it takes unless frames are given."""
    host, port = server.address.removeprefix("tcp://").split(":")
    raw = Raw(socket.create_connection((host, int(port)), PATIENCE))
    try:
        raw.send(*(frames or (setup(server.token),)))
        yield raw
    finally:
        raw.close()


@contextmanager
def raw_server(answer: Callable[[Raw], object]) -> Iterator[str]:
    """Listen over TCP, take one consumer, and let `answer` treat it; give the address."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(PATIENCE)
    problems: list[BaseException] = []

    def take() -> None:
        try:
            raw = Raw(listening.accept()[0])
            try:
                answer(raw)
            finally:
                raw.close()
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert problems == []
    finally:
        listening.close()


def said(frame: Frame | None) -> tuple[int, int, str]:
    """Return what an ERROR frame says."""
    assert isinstance(frame, ErrorFrame), frame
    return frame.stream, frame.code, frame.text
