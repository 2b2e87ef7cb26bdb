"""reading: take bytes from a source in the pieces one needs: reader, handshake.

What comes from a network is cut anywhere. A reader is a sink that keeps what was not yet taken: so many bytes, a line,
a message with its length before it. What follows can be handed on as a source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from penstock.engine.words.arguments import count_given
from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.desk import Confirm, Desk
from penstock.pull.ground.protocol import End, PullError, Read, failure, told, unheard
from penstock.pull.ground.reader import SourceReader
from penstock.pull.ground.turn import Turn
from penstock.pull.meeting.asynchronous import StreamEnd
from penstock.pull.module import PullSink, PullSource
from penstock.pull.modules.combining import cat
from penstock.pull.modules.deferred import DeferredSource
from penstock.pull.modules.pushable import Pushable
from penstock.pull.result import SinkResult

Order = Literal["big", "little"]
Told = Callable[[Exception | None, Any], object]
Cut = Callable[[bytearray, bool], bytes | None]
"""Take a piece off the front of what has come, or None if it is not whole; told whether no more will come."""


def _exactly(count: int) -> Cut:
    def cut(kept: bytearray, last: bool) -> bytes | None:
        if len(kept) < count:
            if last and kept:
                raise EOFError(f"reader: the stream ended after {len(kept)} of {count} bytes")
            return None
        return _front(kept, count)

    return cut


def _some(kept: bytearray, last: bool) -> bytes | None:
    return _front(kept, len(kept)) if kept else None


def _line(kept: bytearray, last: bool) -> bytes | None:
    at = kept.find(b"\n")
    if at >= 0:
        return _front(kept, at + 1)[:-1].removesuffix(b"\r")
    return _front(kept, len(kept)) if last and kept else None


def _prefixed(size: int, order: Order, most: int | None) -> Cut:
    def cut(kept: bytearray, last: bool) -> bytes | None:
        count = int.from_bytes(kept[:size], order) if len(kept) >= size else None
        if count is not None and most is not None and count > most:
            raise ValueError(f"reader: a message of {count} bytes came, and no more than {most} are allowed")
        if count is None or len(kept) < size + count:
            if last and kept:
                raise EOFError(f"reader: the stream ended in the middle of a message, after {len(kept)} bytes")
            return None
        return _front(kept, size + count)[size:]

    return cut


def _front(kept: bytearray, count: int) -> bytes:
    found = bytes(kept[:count])
    del kept[:count]
    return found


class ByteReader(PullSink[Any, None]):
    """A sink that gives the bytes it reads in the pieces that are asked for; wired once.

    Each piece is a SinkResult, to be awaited or got, unless a function is given that is told. Any number of pieces may
    be asked for; they come in order. At the end of the stream a piece is StreamEnd, or EOFError if there was a part of
    it.
    """

    __slots__ = ("_asked", "_end", "_handed_on", "_kept", "_pumping", "_reader", "_stopped", "_turn")

    def __init__(self) -> None:
        super().__init__(self._begin, "reader")
        self._turn = Turn()
        self._kept = bytearray()
        self._asked: deque[tuple[Cut, Told]] = deque()
        self._reader: SourceReader | None = None
        self._end: End | None = None
        self._stopped: End | None = None
        self._handed_on: Desk | None = None
        self._pumping = False

    def _begin(self, read: Read) -> None:
        if self._reader is not None:
            raise PullError("B15", "reader reads from a source already; a sink is wired once")
        self._turn.run(self._wire, read)

    def _wire(self, read: Read) -> None:
        self._reader = reader = SourceReader(read, self._arrived, self._ended, self._turn)
        if self._stopped is not None:
            reader.abort(self._stopped, unheard(self._stopped))
        else:
            self._go_on()

    def read(self, count: int | None = None, done: Told | None = None) -> Any:
        """Take exactly so many bytes, or, without a number, whatever comes next."""
        if count is not None:
            count_given("reader", "count", count, 0)
        return self._ask(_some if count is None else _exactly(count), done)

    def read_line(self, done: Told | None = None) -> Any:
        """Take a line, without its end; the last one may have none."""
        return self._ask(_line, done)

    def read_prefixed(
        self, done: Told | None = None, *, size: int = 4, order: Order = "big", most: int | None = None
    ) -> Any:
        """Take a message that comes after its length, which is `size` bytes; one longer than `most` is an error."""
        count_given("reader", "size", size, 1)
        return self._ask(_prefixed(size, order, most), done)

    def _ask(self, cut: Cut, done: Told | None) -> Any:
        if self._handed_on is not None:
            raise RuntimeError("reader: the rest was handed on as a source; read that")
        if done is not None:
            function_given("reader", "done", done)
            self._turn.run(self._add, cut, done)
            return None
        result: SinkResult[bytes] = SinkResult("reader")
        self._turn.run(self._add, cut, result.tell)
        return result

    def _add(self, cut: Cut, told_to: Told) -> None:
        self._asked.append((cut, told_to))
        self._go_on()

    def rest(self) -> PullSource[bytes]:
        """Return a source of all that follows what was asked for; nothing more can be asked for here."""
        if self._handed_on is not None:
            raise RuntimeError("reader: the rest was handed on as a source already")
        self._handed_on = desk = Desk(self._wanted, self._close)
        desk.turn = self._turn
        return PullSource(desk.read, "reader")

    def abort(self, error: Exception | None = None) -> None:
        """End: who waits is told, and the source is aborted."""
        self._turn.run(self._stop, error if error is not None else True)

    def _stop(self, end: End) -> None:
        if self._end is not None or self._stopped is not None:
            return
        self._stopped = end
        self._kept.clear()
        if self._reader is not None:
            self._reader.abort(end, unheard(end))
        self._go_on()

    def _arrived(self, value: Any) -> None:
        try:
            self._kept += value
        except TypeError:
            self._stop(TypeError(f"reader: values must be bytes, got {value!r}"))
            return
        self._go_on()

    def _ended(self, end: End) -> None:
        self._end = end
        self._go_on()

    def _go_on(self) -> None:
        """Tell the callers whose piece has come, and ask for more as long as a caller waits."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._asked:
                end = self._stopped if self._stopped is not None else self._end
                cut, told_to = self._asked[0]
                try:
                    found = cut(self._kept, end is not None)
                except Exception as error:  # noqa: BLE001  it is the end of the stream, or of sense in it
                    self._asked.popleft()
                    self._tell(told_to, failure(end) or error, None)
                    if end is None:
                        self._stop(error)
                    continue
                if found is not None:
                    self._asked.popleft()
                    self._tell(told_to, None, found)
                elif end is not None:
                    self._asked.popleft()
                    self._tell(told_to, failure(end) or StreamEnd("reader: the stream is done"), None)
                elif (self._reader is None or self._reader.ask()) and self._end is None and self._stopped is None:
                    break  # the answer comes later
        finally:
            self._pumping = False
        if self._handed_on is not None and not self._asked:
            self._handed_on.serve()

    def _tell(self, told_to: Told, error: Exception | None, found: bytes | None) -> None:
        told(lambda _: told_to(error, found), True)

    # The rest, as a source.

    def _wanted(self) -> bool:
        desk = self._handed_on
        assert desk is not None
        if self._asked:
            return True  # who asked first is told first
        if self._kept:
            desk.give(_front(self._kept, len(self._kept)))
            return False
        end = self._stopped if self._stopped is not None else self._end
        if end is not None:
            desk.finish(end)
            return True
        if self._reader is None:
            return True
        self._pumping = True
        try:
            waits = self._reader.ask()
        finally:
            self._pumping = False
        return waits and self._end is None and not self._kept

    def _close(self, end: End, confirm: Confirm) -> None:
        self._kept.clear()
        if self._reader is None:
            self._stopped = end
            confirm(True)
        else:
            self._reader.abort(end, confirm)


def reader() -> ByteReader:
    r"""Make a sink from which bytes are taken in pieces: `read(n)`, `read_line()`, `read_prefixed()`, `rest()`.

    >>> from penstock import pull
    >>> reader = pull.reader()
    >>> pull.pull(pull.values([b"GET /in", b"dex\r\n", b"\x00\x00\x00\x02hi", b"and more"]), reader)
    >>> reader.read_line().get(), reader.read_prefixed().get(), reader.read(3).get()
    (b'GET /index', b'hi', b'and')
    >>> list(reader.rest())
    [b' more']
    """
    return ByteReader()


class Rest:
    """What follows a handshake: a `source` of what comes, and a `sink` for what is sent."""

    __slots__ = ("sink", "source")

    def __init__(self, source: PullSource[bytes], sink: PullSink[Any, None]) -> None:
        self.source = source
        self.sink = sink


class Handshake:
    """A duplex that is talked over before it is used: read and write by hand, then take the rest."""

    __slots__ = ("_reader", "_rest", "_written", "sink", "source")

    def __init__(self) -> None:
        self._reader = ByteReader()
        self._written: Pushable[Any] = Pushable()
        self._rest: DeferredSource[Any] = DeferredSource("handshake")
        self.sink: PullSink[Any, None] = self._reader
        """What reads what the other side sends."""
        self.source: PullSource[Any] = cat([self._written, self._rest])
        """What the other side is sent."""

    def read(self, count: int | None = None, done: Told | None = None) -> Any:
        """Take exactly so many bytes, or, without a number, whatever comes next."""
        return self._reader.read(count, done)

    def read_line(self, done: Told | None = None) -> Any:
        """Take a line, without its end."""
        return self._reader.read_line(done)

    def read_prefixed(
        self, done: Told | None = None, *, size: int = 4, order: Order = "big", most: int | None = None
    ) -> Any:
        """Take a message that comes after its length."""
        return self._reader.read_prefixed(done, size=size, order=order, most=most)

    def write(self, data: Any) -> None:
        """Send something."""
        self._written.push(data)

    def rest(self) -> Rest:
        """End the handshake: return what follows as a duplex, whose sink reads what is sent after what was written."""
        source = self._reader.rest()
        self._written.end()
        return Rest(source, PullSink(self._rest.resolve, "handshake", takes_source=True))

    def abort(self, error: Exception | None = None) -> None:
        """End both directions."""
        self._reader.abort(error)
        self._written.abort(error)
        self._rest.abort(error)


def handshake() -> Handshake:
    """Make a duplex to talk over before it is used: `read`, `write`, and then `rest()`.

    >>> from penstock import pull
    >>> mine, other = pull.handshake(), pull.handshake()
    >>> _ = pull.pull(mine, other, mine)
    >>> mine.write(b"hello")
    >>> other.read(5).get()
    b'hello'
    """
    return Handshake()


__all__ = ["ByteReader", "Handshake", "Rest", "handshake", "reader"]
