"""listening: what is told by NOTIFY, as it comes.

A session that listens must take what the server has for it: one that does not fills the queue of all sessions, and then
every NOTIFY of the server fails. So notifications are taken at once, held up to a bound, and an overflow says what
happens to more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from psycopg import sql

from penstock.connectors.postgres.connecting import Connection, connect, conninfo_given, names_of
from penstock.connectors.reading import feeding
from penstock.engine.many.emitter import Overflow
from penstock.engine.words.arguments import count_given, function_given
from penstock.errors import OverflowedError
from penstock.stream import Stream

POLICIES = (Overflow.ERROR, Overflow.DROP, Overflow.LATEST)


@dataclass(frozen=True, slots=True)
class Notified:
    """What a NOTIFY has told."""

    channel: str
    payload: str
    pid: int
    """The number of the server's process that it comes from."""


def notifications(
    conninfo: str,
    channel: str | Sequence[str],
    *,
    size: int = 1000,
    overflow: Overflow = Overflow.ERROR,
    on_drop: Callable[[Notified], object] | None = None,
) -> Stream[Notified]:
    """Emit what is told on a channel from the first request on; a stream that never ends by itself.

    What is told while no run listens is gone: `changes` is for what must not be lost.

    Backpressures never: the server's queue is emptied at once. Up to `size` notifications wait for demand; when another
    comes, the stream fails (ERROR), or the new one is left out (DROP), or the oldest one (LATEST).

    Args:
        conninfo: Where the server is, as libpq has it.
        channel: The name of the channel, or several, as `pg_notify` takes them.
        size: How many notifications may wait.
        overflow: What happens to one more.
        on_drop: Called with one that is left out.

    Raises:
        TypeError: A name is not a text, `overflow` is none of the three, or `on_drop` is not callable.
        ValueError: `conninfo` is not one, a name is empty, or `size` is below 1.
    """
    conninfo_given("notifications", conninfo)
    channels = names_of("notifications", "channel", channel)
    count_given("notifications", "size", size, 1)
    if overflow not in POLICIES:
        raise TypeError(
            f"notifications: overflow must be Overflow.ERROR, Overflow.DROP or Overflow.LATEST, got {overflow!r}"
        )
    if on_drop is not None:
        function_given("notifications", "on_drop", on_drop)
    return feeding(_OpenChannels(conninfo, channels, size, overflow, on_drop))


@dataclass(frozen=True, slots=True)
class _OpenChannels:
    """What a run that listens is opened by."""

    conninfo: str = field(repr=False)
    channels: tuple[str, ...]
    size: int
    overflow: Overflow
    on_drop: Callable[[Notified], object] | None

    async def __call__(self) -> _Listening:
        connection = await connect(self.conninfo)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(connection.close)
            listen = [sql.SQL("LISTEN {}").format(sql.Identifier(channel)) for channel in self.channels]
            await connection.execute(sql.SQL("; ").join(listen))  # as one, so that none is heard before another
            stack.pop_all()
        return _Listening(self, connection)


class _Listening:
    """The session of one run, and what waits for its demand."""

    def __init__(self, options: _OpenChannels, connection: Connection) -> None:
        self._options = options
        self._connection = connection
        self._waiting: deque[Notified] = deque()
        self._came = asyncio.Event()
        self._failure: Exception | None = None
        self._taking = asyncio.get_running_loop().create_task(self._take_all())

    async def _take_all(self) -> None:
        try:
            async for told in self._connection.notifies():
                self._take(Notified(told.channel, told.payload, told.pid))
        except Exception as error:  # noqa: BLE001  the subscriber gets it, behind what waits
            self._failure = error
            self._came.set()

    def _take(self, told: Notified) -> None:
        options, waiting = self._options, self._waiting
        dropped = None
        if len(waiting) >= options.size:
            if options.overflow is Overflow.ERROR:
                raise OverflowedError(
                    f"notifications: {options.size} wait and another came; ask for them faster, or choose Overflow.DROP"
                    " or Overflow.LATEST"
                )
            dropped = told if options.overflow is Overflow.DROP else waiting.popleft()
        if dropped is not told:
            waiting.append(told)
            self._came.set()
        if dropped is not None and options.on_drop is not None:
            options.on_drop(dropped)

    async def fetch(self, most: int, /) -> list[Notified]:
        """Return what waits, at most so many, or wait for the next."""
        waiting = self._waiting
        while not waiting:
            if self._failure is not None:
                raise self._failure
            self._came.clear()
            await self._came.wait()
        return [waiting.popleft() for _ in range(min(most, len(waiting)))]

    async def close(self) -> None:
        """End the session."""
        self._taking.cancel()
        await asyncio.wait([self._taking])
        await self._connection.close()


__all__ = ["Notified", "notifications"]
