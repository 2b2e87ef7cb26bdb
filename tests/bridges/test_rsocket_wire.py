"""The parts of the RSocket wire by themselves: frames, metadata, pieces, errors as text, and what may wait."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Stream
from penstock.bridges.rsocket.codecs import JSON
from penstock.bridges.rsocket.connection import MOST_STREAMS, MOST_WAITING, PeerConnection
from penstock.bridges.rsocket.errors import FrameError, RemoteError, from_text, known_errors, to_text
from penstock.bridges.rsocket.fragments import PIECE, Joiner, split
from penstock.bridges.rsocket.frames import (
    Cancel,
    Code,
    ErrorFrame,
    Frame,
    KeepAliveFrame,
    Kind,
    MetadataPush,
    Payload,
    Request,
    RequestN,
    SetupFrame,
    decode,
    encode,
)
from penstock.bridges.rsocket.metadata import bearer, composite, entries_of, name_of, route, token_of
from penstock.bridges.rsocket.responder import StreamAnswer
from penstock.bridges.rsocket.settings import Liveness as Signs
from penstock.bridges.rsocket.settings import Settings
from penstock.engine.places.executors import inline, thread
from tests.bridges.waiting import until
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

ids = st.integers(1, 2**31 - 1)
numbers = st.integers(0, 2**31 - 1)
maybe = st.none() | st.binary(max_size=40)
mimes = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
flags = st.booleans()


@st.composite
def payloads(draw: Any) -> Payload:
    complete = draw(flags)
    return Payload(
        draw(ids), draw(st.binary(max_size=40)), draw(maybe), not complete and draw(flags), complete,
        True if not complete else draw(flags),
    )  # fmt: skip


frames: st.SearchStrategy[Frame] = st.one_of(
    payloads(),
    st.builds(Request, ids, st.just(Kind.REQUEST_STREAM), numbers, maybe, st.binary(max_size=40), flags),
    st.builds(Request, ids, st.just(Kind.REQUEST_CHANNEL), numbers, maybe, st.binary(max_size=40), flags, flags),
    st.builds(RequestN, ids, numbers),
    st.builds(Cancel, ids),
    st.builds(ErrorFrame, st.integers(0, 2**31 - 1), st.integers(0, 2**32 - 1), st.text(max_size=40)),
    st.builds(KeepAliveFrame, flags, st.binary(max_size=40)),
    st.builds(MetadataPush, st.binary(max_size=40)),
    st.builds(SetupFrame, numbers, numbers, mimes, mimes, maybe),
)


@given(frames)
def test_a_frame_is_read_as_it_was_written(frame: Frame) -> None:
    assert decode(encode(frame)) == frame


@given(frames, st.data())
def test_a_frame_that_is_cut_short_is_another_frame_or_an_error(frame: Frame, data: st.DataObject) -> None:
    whole = encode(frame)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with contextlib.suppress(FrameError):
        decode(cut)


@given(st.binary(max_size=60))
def test_garbage_is_a_frame_or_an_error_and_nothing_else(garbage: bytes) -> None:
    with contextlib.suppress(FrameError):
        decode(garbage)


@given(st.binary(max_size=60))
def test_garbage_as_metadata_is_metadata_or_an_error_and_nothing_else(garbage: bytes) -> None:
    token_of(garbage)
    name_of(garbage)
    with contextlib.suppress(FrameError):
        entries_of(garbage)


def test_metadata_is_read_as_it_was_written() -> None:
    entries = {"text/plain": b"a", "message/x.rsocket.routing.v0": route("orders"), "message/x.other": b""}
    assert entries_of(composite(entries.items())) == entries
    assert token_of(bearer("täg")) == "täg".encode()
    assert token_of(b"\x05bearersesame") == b"sesame"
    assert token_of(b"\x80\0\3bob") is None
    assert name_of(route("öl")) == "öl"
    assert name_of(b"\x09short") is None


@given(st.integers(0, 4 * PIECE), st.booleans(), st.none() | st.just(b"metadata"))
def test_pieces_come_together_again(size: int, complete: bool, metadata: bytes | None) -> None:
    frame = Payload(5, bytes(size), metadata, complete=complete)
    joiner = Joiner(4 * PIECE, 2)
    *unfinished, whole = [joiner.join(piece) for piece in split(frame)]
    assert set(unfinished) <= {None}
    assert whole == frame


def test_pieces_are_bounded_in_size_and_number() -> None:
    joiner = Joiner(100, 2)
    assert joiner.join(Payload(1, bytes(60), follows=True)) is None
    with pytest.raises(FrameError, match=r"^an element of more than 100 bytes, the limit that `largest` sets here$"):
        joiner.join(Payload(1, bytes(60), follows=True))
    assert joiner.join(Payload(3, b"", follows=True)) is None
    with pytest.raises(FrameError, match=r"^pieces of more than 2 elements at once$"):
        joiner.join(Payload(5, b"", follows=True))
    with pytest.raises(FrameError, match=r"^a request in the middle of another frame's pieces$"):
        joiner.join(Request(3, Kind.REQUEST_STREAM, 1))
    joiner.forget(1)
    assert joiner.join(Payload(5, b"", follows=True)) is None


@given(st.text(max_size=60))
def test_any_text_makes_an_error_that_says_it(text: str) -> None:
    error = from_text(text, known_errors("test", ()))
    if isinstance(error, RemoteError):
        assert str(error) == text or text.endswith(": ")
    assert isinstance(error, Exception)
    assert from_text(to_text(error), known_errors("test", ())).args == error.args


# What may wait.


class SlowWire:
    """Be a wire whose other side reads when the test says so."""

    def __init__(self, *frames: Frame) -> None:
        self.limit = 2**24
        self.peer = "a test"
        self.frames = [encode(frame) for frame in frames]
        self.read = 0
        """How many frames this side has taken off the wire."""
        self.sent: list[Frame | None] = []
        self.reads = asyncio.Semaphore(0)
        self.over = asyncio.Event()

    async def receive(self) -> bytes | None:
        if self.read < len(self.frames):
            self.read += 1
            return self.frames[self.read - 1]
        await self.over.wait()
        return None

    async def send(self, frames: list[bytes], /) -> None:
        for frame in frames:
            await self.reads.acquire()
            self.sent.append(decode(frame))

    async def close(self) -> None:
        pass


class Here:
    """Stand for the I/O thread: the loop of the test."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def call(self, fn: Callable[..., object], *arguments: Any) -> None:
        self._loop.call_soon_threadsafe(fn, *arguments)


def settings(window: int) -> Settings:
    return Settings.of("test", JSON, window, 1000, Signs(), ())


def test_no_more_than_the_window_waits_for_a_consumer_that_asks_for_all_and_reads_nothing() -> None:
    window, ahead, closed = 8, [0], threading.Event()

    async def main() -> None:
        wire = SlowWire()

        def source() -> Iterator[int]:
            try:
                for number in range(10_000):
                    ahead.append(number + 1 - len(wire.sent))
                    yield number
            finally:
                closed.set()

        connection = PeerConnection(wire, settings(window), lifetime=60, interval=None)
        running = asyncio.create_task(connection.run())
        request = Request(1, Kind.REQUEST_STREAM, 2**31 - 1)
        worker = thread("test").worker()
        answer = StreamAnswer("numbers", request, connection, Here(), settings(window), worker)  # type: ignore[arg-type]
        answer.begin(request.n, lambda: Stream.from_iterable(source()))
        await until(lambda: ahead[-1] == window)
        for count in range(1, 100):
            wire.reads.release()
            await until(lambda count=count: len(wire.sent) == count)
        connection.close()
        wire.over.set()
        wire.reads.release()
        await running

    asyncio.run(main())
    assert closed.wait(PATIENCE)
    assert max(ahead) == window


def test_nothing_more_is_read_while_too_many_answers_wait() -> None:
    """A peer that asks for signs of life and never reads them cannot make this side hold more and more of them."""

    async def main() -> None:
        wire = SlowWire(*[KeepAliveFrame(respond=True)] * (10 * MOST_WAITING))
        connection = PeerConnection(wire, settings(8), lifetime=60, interval=None)
        running = asyncio.create_task(connection.run())
        await until(lambda: wire.read > MOST_WAITING)
        for _ in range(100):
            await asyncio.sleep(0)
        assert wire.read <= 2 * MOST_WAITING
        for _ in range(10 * MOST_WAITING):
            wire.reads.release()
        await until(lambda: len(wire.sent) == 10 * MOST_WAITING)
        wire.over.set()
        await running

    asyncio.run(main())


def test_a_connection_has_a_bounded_number_of_streams() -> None:
    async def main() -> list[Frame | None]:
        requests = [Request(2 * number + 1, Kind.REQUEST_STREAM, 1) for number in range(MOST_STREAMS + 1)]
        wire = SlowWire(*requests)
        for _ in range(10):
            wire.reads.release()
        connection = PeerConnection(wire, settings(8), lifetime=60, interval=None)

        def take(request: Request) -> None:
            worker = inline().worker()
            answer = StreamAnswer("never", request, connection, Here(), settings(8), worker)  # type: ignore[arg-type]
            answer.begin(1, Stream.never)

        connection.on_request = take
        running = asyncio.create_task(connection.run())
        await until(lambda: wire.sent)
        connection.close()
        wire.over.set()
        await running
        return wire.sent

    [refusal] = asyncio.run(main())
    assert refusal == ErrorFrame(
        2 * MOST_STREAMS + 1, Code.REJECTED, "1024 streams are open on this connection already"
    )
