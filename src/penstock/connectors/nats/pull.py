"""pull: the requests of one run to a pull consumer, and what has come for them.

A request says how many messages the server may send, and stays with the server until it has sent so many. So demand is
held by the server: it sends what is asked for, as it comes, and the rest stays in the stream. One request is open at a
time. Heartbeats tell a server that has nothing from a server that has forgotten the request.

`PullSubscription.fetch` of the client does the same with a task, a timer and a future for every message, at about four
times the cost.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from penstock.connectors.nats.link import NatsLink

EXPIRES = 30.0
"""Seconds for which a request stays with the server."""
HEARTBEAT = 5.0
"""Seconds after which a server that has nothing says so."""


PASSING = ("Batch Completed", "Leadership Change", "Server Shutdown")
"""What the server ends a request with that may be made anew."""


class ConsumerLostError(Exception):
    """The error that a consumer does not answer any more, with what the server said."""


class Pull:
    """The requests to one consumer."""

    def __init__(self, link: NatsLink, stream: str, consumer: str, *, lasts: bool) -> None:
        self.arrived: deque[Msg] = deque()
        self._link = link
        self._subject = f"{link.prefix}.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = link.client.new_inbox()
        self._subscription: Subscription | None = None
        self._owed = 0
        self._heard = False
        self._lasts = lasts
        """Whether the consumer sends again what was lost with a connection."""
        self._lost: str | None = None
        self._refused: str | None = None
        self._woken = asyncio.Event()
        link.watch(self._reconnected)

    async def begin(self) -> None:
        """Subscribe to what the server will send."""
        self._subscription = await self._link.client.subscribe(
            self._inbox, cb=self._take, pending_msgs_limit=0, pending_bytes_limit=0
        )

    async def take(self, most: int) -> list[Msg]:
        """Return 1 to `most` messages, waiting until there is one; ConsumerLostError if the server knows of none."""
        while not self.arrived:
            self._link.check()
            if self._refused is not None:
                raise RuntimeError(f"nats: the server refused a request for messages: {self._refused}")
            if self._lost is not None:
                raise ConsumerLostError(self._lost)
            await self._link.here()
            if not self._owed:
                await self._ask(most)
            self._woken.clear()
            self._heard = False
            if self.arrived or not self._owed:
                continue
            try:
                async with asyncio.timeout(2.5 * HEARTBEAT):
                    await self._woken.wait()
            except TimeoutError:
                if not self._heard and self._link.connected:
                    raise ConsumerLostError("it is silent") from None
        if len(self.arrived) <= most:
            taken = list(self.arrived)
            self.arrived.clear()
            return taken
        return [self.arrived.popleft() for _ in range(most)]

    async def _ask(self, most: int) -> None:
        self._owed = most
        request = {"batch": most, "expires": int(EXPIRES * 1e9), "idle_heartbeat": int(HEARTBEAT * 1e9)}
        await self._link.client.publish(self._subject, json.dumps(request).encode(), reply=self._inbox)

    async def _take(self, sent: Msg) -> None:
        # On the client's own task: what waits in the client's queue is taken in one go.
        if sent.reply and not (sent.headers and "Status" in sent.headers and not sent.data):
            self._owed -= self._owed > 0
            self.arrived.append(sent)
            self._woken.set()
            return
        self._heard = True
        headers = sent.headers or {}
        status = headers.get("Status")
        if status == "100":  # a heartbeat
            return
        words = headers.get("Description", "").strip()
        if status == "503":
            self._lost = "it does not answer"
        elif status == "409" and "Deleted" in words:
            self._lost = words
        elif status in {"400", "409"} and not words.startswith(PASSING):
            self._refused = words
        self._owed = 0  # the request is over, by time for one (408), and the next one asks anew
        self._woken.set()

    def _reconnected(self) -> None:
        """Ask anew: with the connection the server has lost the request."""
        if self._lasts:
            self._owed = 0
        else:
            self._lost = "the connection was lost"
        self._woken.set()

    def renew(self) -> None:
        """Ask anew, of a consumer that is there."""
        self._owed = 0
        self._lost = None

    async def end(self) -> None:
        """Take no more."""
        if self._subscription is not None and not self._link.client.is_closed:
            await self._subscription.unsubscribe()
        self._subscription = None


__all__ = ["ConsumerLostError", "Pull"]
