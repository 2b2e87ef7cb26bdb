"""replication: a slot that is read by streaming replication, and acknowledged by standby status updates.

psycopg opens a connection with `replication=database` and wraps libpq's COPY functions (`psycopg.pq`), which is all
that the protocol needs: after START_REPLICATION both sides send messages of COPY. What SQL offers instead,
`pg_logical_slot_peek_binary_changes`, gives the same messages, but whole transactions whatever number is asked for; it
decodes everything since the last acknowledgement again with each call, and it has to be polled. Streaming decodes each
change once, waits on the socket, and is bounded by it: what is not asked for stays with the server, but for one buffer
of libpq and those of the sockets.
"""

from __future__ import annotations

import asyncio
import threading
from struct import Struct
from time import monotonic, time
from typing import Any

from psycopg import OperationalError, pq
from psycopg.errors import error_from_result

from penstock.connectors.postgres.change import Change
from penstock.connectors.postgres.connecting import Connection
from penstock.connectors.postgres.lsn import lsn_text, place
from penstock.connectors.postgres.pgoutput import Decoder
from penstock.connectors.postgres.progress import SlotProgress

_STATUS = Struct(">cQQQqB")  # written, flushed, applied, the time in microseconds since 2000, whether to reply
_KEEPALIVE = Struct(">cQqB")  # how far the server is, its time, whether it waits for a status
_HEADER = 25  # bytes of a message of the log before those of the plugin: 'w', two places, a time
_YEAR_2000 = 946_684_800
_PAUSE = 0.05  # seconds between two acknowledgements: commits that come in between are told as one
_LINGER = 1.0  # seconds in which the server may end in peace

Position = list[str | int]


class Replication:
    """A connection that streams the changes of a slot."""

    def __init__(
        self, connection: Connection, *, slot: str, confirmed: int, after: Position | None, convert: bool, beat: float
    ) -> None:
        self._connection = connection
        self._wire = connection.pgconn
        self._slot = slot
        self._after = None if after is None else place(after)
        self._decoder = Decoder(connection, convert=convert)
        self._progress = SlotProgress(confirmed, self._after)
        self._beat = beat
        self._turn = threading.Lock()  # libpq takes one call at a time
        self._moved = threading.Event()
        self._closing = threading.Event()
        self._beating: threading.Thread | None = None
        self._received = 0
        self._due = 0.0  # when the server must hear of us, by the monotonic clock
        self._failure: Exception | None = None
        self._kept: list[tuple[Position, Change]] = []  # tables of one TRUNCATE, if there were more than were asked for

    async def start(self, publications: str) -> None:
        """Have the server stream from behind the position on, or from what it remembers.

        Args:
            publications: Their names as the option `publication_names` has them.
        """
        at = lsn_text(0 if self._after is None else self._after[0])
        words = f"START_REPLICATION SLOT \"{self._slot}\" LOGICAL {at} (proto_version '1', {publications})"
        self._wire.send_query(words.encode())
        await self._flushed()
        result = await self._result()
        if result is None or result.status != pq.ExecStatus.COPY_BOTH:
            assert result is not None
            error = error_from_result(result)
            while await self._result():
                pass
            raise error
        self._beating = threading.Thread(target=self._keep_alive, name="penstock-postgres", daemon=True)
        self._beating.start()

    async def fetch(self, most: int, /) -> list[tuple[Position, Change]]:
        """Return up to `most` changes, waiting for the first."""
        while True:
            if self._failure is not None and not self._kept:
                raise self._failure
            if monotonic() >= self._due:  # the thread may wait long for its turn while much is read here
                with self._turn:
                    self._send_status()
            pairs = self._taken(most)
            if pairs:
                return pairs
            await self._ready()
            with self._turn:
                self._wire.consume_input()

    def _taken(self, most: int) -> list[tuple[Position, Change]]:
        """Return what is here already."""
        pairs = self._kept
        read, turn, dry = self._wire.get_copy_data, self._turn, False
        try:
            while len(pairs) < most and self._failure is None:
                with turn:
                    size, message = read(1)
                    if size == 0 and not dry:
                        dry = True
                        self._wire.consume_input()
                        continue
                if size > 0:
                    dry = False
                    self._told(bytes(message), pairs)
                elif size == 0:
                    break
                else:
                    raise self._ended()
        except Exception as error:
            if not pairs:
                raise
            self._failure = error
        self._kept = pairs[most:]
        return pairs[:most] if self._kept else pairs

    def _told(self, message: bytes, pairs: list[tuple[Position, Change]]) -> None:
        """Take one message of the server."""
        if message[0] == 0x6B:  # 'k': a keepalive
            _, end, _, asks = _KEEPALIVE.unpack(message)
            self._progress.idle(end)
            self._received = max(self._received, end)
            if asks:
                self._moved.set()
            return
        decoder, progress, after = self._decoder, self._progress, self._after
        body = message[_HEADER:]
        for change in decoder.changes(body):
            at = (decoder.commit, change.index)
            if after is None or at > after:
                progress.came(at)
                pairs.append(([change.lsn, change.index], change))
        if body[0] == 0x42:  # 'B': a transaction begins
            progress.began()
        elif body[0] == 0x43:  # 'C': it was committed
            progress.ended((decoder.commit, decoder.index), decoder.end)
            self._received = max(self._received, decoder.end)

    async def commit(self, position: Position, /) -> None:
        """Have the server told, with the next status, that everything up to a position is done."""
        before = self._progress.confirmed
        self._progress.done(place(position))
        if self._progress.confirmed != before:
            self._moved.set()

    async def close(self) -> None:
        """Tell the last acknowledgement, end the stream and let go of the connection."""
        self._closing.set()
        self._moved.set()
        if self._beating is not None:
            self._beating.join()
        try:
            if self._beating is not None and self._wire.status == pq.ConnStatus.OK:
                async with asyncio.timeout(_LINGER):
                    await self._end()
        except (OperationalError, TimeoutError):
            pass  # the server is gone, or in the middle of a long transaction: closing ends it as well
        finally:
            await self._connection.close()

    async def _end(self) -> None:
        """End the stream on both sides; when the server has ended, it has read the last status."""
        self._send_status()
        self._wire.put_copy_end()
        await self._flushed()
        while True:
            size, _ = self._wire.get_copy_data(1)
            if size < 0:
                return
            if size == 0:
                await self._ready()
                self._wire.consume_input()

    def _ended(self) -> Exception:
        """Return why the server has ended the stream: it shuts down, or something that it needs is gone."""
        result = self._wire.get_result()
        if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
            error: Exception = error_from_result(result)
            error.add_note(f"postgres: the server ended the stream of slot {self._slot!r}")
            return error
        return OperationalError(f"postgres: the server ended the stream of slot {self._slot!r}")

    # Acknowledgements.

    def _keep_alive(self) -> None:
        """Send a status whenever a commit has moved the place, and in time for the server not to give up.

        In a thread, since a consumer that blocks the event loop must not let the server believe that it is gone.
        """
        while not self._closing.is_set():
            self._moved.wait(self._beat)
            self._moved.clear()
            try:
                with self._turn:
                    self._send_status()
            except OperationalError:
                return  # the next fetch fails with it
            self._closing.wait(_PAUSE)

    def _send_status(self) -> None:
        self._due = monotonic() + self._beat
        done = self._progress.confirmed
        clock = int((time() - _YEAR_2000) * 1_000_000)
        self._wire.put_copy_data(_STATUS.pack(b"r", max(self._received, done), done, done, clock, 0))
        self._wire.flush()  # what the socket does not take now goes with the next one

    # The socket.

    async def _result(self) -> Any:
        while self._wire.is_busy():
            await self._ready()
            self._wire.consume_input()
        return self._wire.get_result()

    async def _flushed(self) -> None:
        while self._wire.flush():
            await self._ready(write=True)
            self._wire.consume_input()

    async def _ready(self, *, write: bool = False) -> None:
        """Wait until the socket has something, or takes something."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        socket = self._wire.socket

        def tell() -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_reader(socket, tell)
        if write:
            loop.add_writer(socket, tell)
        try:
            await ready
        finally:
            loop.remove_reader(socket)
            if write:
                loop.remove_writer(socket)


__all__ = ["Position", "Replication"]
