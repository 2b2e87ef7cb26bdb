"""ordered: a reader that keeps the position itself; the server remembers nothing of it and sends nothing twice.

The consumer is made for the run, behind a position. It acknowledges nothing, so there is nothing to send again: what
was lost with a connection is read by another consumer, behind the last message that came.
"""

from __future__ import annotations

import asyncio
from operator import attrgetter

from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from penstock.connectors.nats.link import PAUSE, NatsLink
from penstock.connectors.nats.message import Message, message_of
from penstock.connectors.nats.pull import ConsumerLostError, Pull
from penstock.operators.resumable import MadeWhenRead, Positioned

INACTIVE = 300.0
"""Seconds after which the server forgets a consumer that asks for nothing; it is made anew then."""


_SEQUENCE = attrgetter("sequence")


class OrderedReader:
    """A reader of a stream from a position on, in the order of the stream."""

    def __init__(self, link: NatsLink, stream: str, subject: str | None, after: int | None) -> None:
        self._link = link
        self._stream = stream
        self._filter = subject
        self._last = after
        self._consumer = ""
        self._pull: Pull | None = None
        self._next = 1

    async def begin(self) -> None:
        """Make a consumer behind the last message."""
        await self._end()
        first = None if self._last is None else self._last + 1
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.ALL if first is None else DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=first,
            ack_policy=AckPolicy.NONE,
            filter_subject=self._filter,
            inactive_threshold=INACTIVE,
            mem_storage=True,
            num_replicas=1,
        )
        made = await self._link.patiently(
            f"a consumer of stream {self._stream!r}", lambda: self._link.jetstream.add_consumer(self._stream, config)
        )
        self._consumer, self._next = made.name, 1
        self._pull = Pull(self._link, self._stream, made.name, lasts=False)
        await self._pull.begin()

    async def fetch(self, most: int, /) -> Positioned[int, Message]:
        """Return 1 to `most` messages with their positions."""
        while True:
            if self._pull is None:
                await self.begin()
            assert self._pull is not None
            found: list[Message] = []
            try:
                for sent in await self._pull.take(most):
                    delivery, message = message_of(sent)
                    if delivery != self._next:
                        await self._end()  # one was lost on the way
                        break
                    self._next += 1
                    self._last = message.sequence
                    found.append(message)
            except ConsumerLostError as error:
                await self._end()
                if missing := await self._link.missing(self._stream):
                    raise LookupError(f"nats: {missing} any more: {error}") from error
                await asyncio.sleep(PAUSE)
            if found:
                return Positioned(found, MadeWhenRead(_SEQUENCE, found))

    async def commit(self, position: int, /) -> None:
        """Do nothing: the position is kept where the results are."""

    async def close(self) -> None:
        """Remove the consumer, and let go of the connection."""
        try:
            await self._end()
        finally:
            await self._link.close()

    async def _end(self) -> None:
        pull, self._pull = self._pull, None
        if pull is None:
            return
        await pull.end()
        if self._link.connected:
            try:
                await self._link.jetstream.delete_consumer(self._stream, self._consumer)
            except (NatsError, OSError, TimeoutError):
                return  # it is gone, or will be when it has been idle for long enough


__all__ = ["OrderedReader"]
