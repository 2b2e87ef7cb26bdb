"""durable: a reader whose position the server remembers, told by acknowledgements.

Each message is acknowledged by itself, and the server confirms the last one of a commit; what it confirms has come
behind the others on one connection. The other policy, by which one acknowledgement covers all messages before it, would
cover messages that are sent again and not done yet, since those come out of order, and those of other runs of the same
consumer.

A message that is held for long is said to be in progress, so that the server sends it again only if this run is gone.
"""

from __future__ import annotations

import asyncio
import logging
from operator import attrgetter

from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeoutError

from penstock.connectors.nats.dead import DeadLetters
from penstock.connectors.nats.link import PAUSE, NatsLink
from penstock.connectors.nats.message import Message, message_of
from penstock.connectors.nats.pull import ConsumerLostError, Pull
from penstock.operators.resumable import MadeWhenRead, Positioned

REMEMBERED = 20_000
"""How many messages that were committed last are remembered, at least; a server that was killed may have forgotten some
of their acknowledgements."""

_SEQUENCE = attrgetter("sequence")
_log = logging.getLogger("penstock.connectors.nats")


class DurableReader:
    """A reader of what a durable consumer has not had acknowledged."""

    def __init__(
        self, link: NatsLink, stream: str, consumer: str, ack_wait: float, bound: int, dead: DeadLetters | None
    ) -> None:
        self._link = link
        self._stream = stream
        self._consumer = consumer
        self._ack_wait = ack_wait
        self._bound = bound
        self._dead = dead
        self._pull = Pull(link, stream, consumer, lasts=True)
        self._held: dict[int, str] = {}
        """What was given and is not committed, in the order of giving, and where each is acknowledged."""
        self._done: dict[int, str] = {}
        """What was committed last, and where it was acknowledged; `_before` is what was committed before that."""
        self._before: dict[int, str] = {}
        self._times = 0
        self._working: asyncio.Task[None] | None = None
        self._warned = False

    async def begin(self) -> None:
        """Take what the server sends, and tell it what is in progress."""
        await self._pull.begin()
        self._working = asyncio.create_task(self._tell_progress())

    async def fetch(self, most: int, /) -> Positioned[int, Message]:
        """Return 1 to `most` messages with their positions; none that this run has been given before."""
        while True:
            self._warn_of_a_standstill()
            try:
                taken = await self._pull.take(most)
            except ConsumerLostError as error:
                if missing := await self._link.missing(self._stream, self._consumer):
                    raise LookupError(f"nats: {missing} any more: {error}") from error
                self._pull.renew()
                await asyncio.sleep(PAUSE)
                continue
            await self._repeat_after_a_loss()
            found: list[Message] = []
            held, done, before = self._held, self._done, self._before
            for sent in taken:
                _, message = message_of(sent)
                sequence = message.sequence
                if sequence in done or sequence in before:
                    await self._link.client.publish(sent.reply)  # the server has lost that it was acknowledged
                    continue
                if sequence not in held:  # else the one that was given first is still worked on
                    found.append(message)
                held[sequence] = sent.reply
            if self._dead is not None:
                found = await self._without_dead(self._dead, found)
            if found:
                return Positioned(found, MadeWhenRead(_SEQUENCE, found))

    async def _without_dead(self, dead: DeadLetters, found: list[Message]) -> list[Message]:
        """Bury what was sent too often, all of them being held meanwhile, and return the others."""
        for message in found:
            if dead.takes(message):
                await dead.bury(message, self._held[message.sequence])
                del self._held[message.sequence]
        return [message for message in found if message.sequence in self._held]

    async def commit(self, position: int, /) -> None:
        """Acknowledge everything that was given up to a position, and wait until the server confirms it."""
        if position not in self._held:
            return
        sequences: list[int] = []
        for sequence in self._held:
            sequences.append(sequence)
            if sequence == position:
                break
        times = -1
        while times != self._link.times:  # with a connection that was lost in between, acknowledgements may be lost
            times = self._link.times
            await self._link.here()
            for sequence in sequences[:-1]:
                if not self._link.connected:
                    await self._link.here()
                await self._link.client.publish(self._held[sequence])
            await self._confirm(position)
        await self._repeat_after_a_loss()
        for sequence in sequences:
            self._done[sequence] = self._held.pop(sequence)
        if len(self._done) >= REMEMBERED:
            self._before, self._done = self._done, {}

    async def _repeat_after_a_loss(self) -> None:
        """Acknowledge again what was committed last, if the server was away; it may have been killed, and forget."""
        if self._times != self._link.times:
            self._times = self._link.times
            for reply in [*self._before.values(), *self._done.values()]:
                await self._link.client.publish(reply)

    async def _confirm(self, position: int) -> None:
        link = self._link

        async def acknowledge() -> None:
            try:
                await link.client.request(self._held[position], timeout=1 if link.times else 5)
            except NoRespondersError:
                if missing := await link.missing(self._stream, self._consumer):
                    raise LookupError(f"nats: {missing} any more; message {position} is not acknowledged") from None
                raise
            except NatsTimeoutError:
                # A server that was killed may have forgotten that it sent the message, and does not answer then. It
                # will send it again, and be told then that it is done.
                if not link.times or await link.missing(self._stream, self._consumer):
                    raise

        await link.patiently(f"the acknowledgement of message {position} of stream {self._stream!r}", acknowledge)

    async def _tell_progress(self) -> None:
        while True:
            await asyncio.sleep(self._ack_wait / 3)
            if not self._link.connected:
                continue
            replies = [*self._held.values(), *(sent.reply for sent in self._pull.arrived)]
            try:
                for number, reply in enumerate(replies):
                    await self._link.client.publish(reply, b"+WPI")
                    if number % 100 == 99:
                        await asyncio.sleep(0)  # others have their turns
            except (NatsError, OSError) as error:  # the connection went away meanwhile: tell it when it is back
                _log.info("nats: what is in progress was not told: %s", error)

    def _warn_of_a_standstill(self) -> None:
        if len(self._held) >= self._bound and not self._done and not self._before and not self._warned:
            self._warned = True
            _log.warning(
                "nats: %s of stream %s has sent %d messages, as many as it may before the first one is acknowledged; "
                "run it as a pipeline, which acknowledges what has passed the end, or leave durable out",
                self._consumer,
                self._stream,
                len(self._held),
            )

    async def close(self) -> None:
        """Hand back what is not committed, which the server then sends at once to the next run, and disconnect."""
        try:
            if self._working is not None:
                self._working.cancel()
                await asyncio.wait([self._working])
            await self._pull.end()
            if self._link.connected:
                for reply in [*self._held.values(), *(sent.reply for sent in self._pull.arrived)]:
                    await self._link.client.publish(reply, b"-NAK")
                await self._link.client.flush()
        except (NatsError, OSError, TimeoutError):
            return  # the server finds out by itself, when `ack_wait` is over
        finally:
            await self._link.close()


__all__ = ["DurableReader"]
