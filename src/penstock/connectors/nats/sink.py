"""sink: messages into JetStream, each confirmed by the server before its batch counts as written.

A batch is published in one go, each message with a number to confirm it by, and written when all are confirmed. What is
not confirmed when a connection came back, or for long, is published again; with message identifiers the server keeps
the first one of those.

`publish_async` of the client does this with two futures, a random number and a lock for every message.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, TypeVar

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import MaxPayloadError, OutboundBufferLimitError
from nats.js.errors import NotFoundError

from penstock.connectors.nats.link import PAUSE, Address, NatsLink
from penstock.connectors.nats.source import SERVERS
from penstock.connectors.writing import writing
from penstock.engine.words.arguments import function_given
from penstock.sinks import Sink

T = TypeVar("T")

RESEND = 5.0
"""Seconds without a confirmation after which messages are published again."""


Letter = tuple[str, bytes, dict[str, str] | None]
"""What is published for one element: the subject, the data and the headers."""


@dataclass(frozen=True, slots=True)
class OpenPublisher(Generic[T]):
    """What connects and publishes elements; see `to_jetstream`."""

    address: Address
    subject: str | Callable[[T], str]
    data: Callable[[T], bytes] | None = None
    message_id: Callable[[T], str] | None = None
    headers: Callable[[T], Mapping[str, str]] | None = None
    stream: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.subject, str):
            function_given("nats", "subject", self.subject)
        elif not self.subject or any(mark in self.subject for mark in " *>\t\r\n"):
            raise ValueError(f"nats: subject must be a subject without spaces and wildcards, got {self.subject!r}")
        for name in ("data", "message_id", "headers"):
            if getattr(self, name) is not None:
                function_given("nats", name, getattr(self, name))

    async def __call__(self) -> ConfirmedPublisher[T]:
        """Connect."""
        link = await self.address.connect()
        begun = False
        try:
            publisher = ConfirmedPublisher(link, self)
            await publisher.begin()
            begun = True
        finally:
            if not begun:  # a cancel closes the connection as well
                await link.close()
        return publisher

    def letters(self, batch: list[T]) -> Iterable[Letter]:
        """Return what is published for elements; where only the data differs, nothing is made for each of them."""
        subject, more = self.subject, (self.message_id, self.headers, self.stream)
        if isinstance(subject, str) and more == (None, None, None):
            found: list[Any] = batch if self.data is None else list(map(self.data, batch))
            if {*map(type, found)} == {bytes}:
                return zip(repeat(subject), found, repeat(None))
            return [(subject, self._bytes(data), None) for data in found]
        return map(self._letter, batch)

    def _letter(self, element: T) -> Letter:
        subject = self.subject if isinstance(self.subject, str) else self.subject(element)
        data = self._bytes(element if self.data is None else self.data(element))
        headers = {} if self.headers is None else dict(self.headers(element))
        if self.message_id is not None:
            headers["Nats-Msg-Id"] = self.message_id(element)
        if self.stream is not None:
            headers["Nats-Expected-Stream"] = self.stream
        return subject, data, headers or None

    def _bytes(self, data: Any) -> bytes:
        if not isinstance(data, bytes | bytearray | memoryview):
            cure = "give data=, a function that makes bytes of one" if self.data is None else "let data make bytes"
            raise TypeError(f"nats: a message must be bytes, got {data!r:.100}; {cure}")
        return bytes(data)


class ConfirmedPublisher(Generic[T]):
    """The connection of one run that publishes batches, and counts what the server confirms."""

    def __init__(self, link: NatsLink, options: OpenPublisher[T]) -> None:
        self._link = link
        self._options = options
        self._inbox = link.client.new_inbox()
        self._subscription: Subscription | None = None
        self._waiting: dict[str, Letter] = {}
        """What is not confirmed, by the subject that it is confirmed on."""
        self._number = 0
        self._unheard: str | None = None
        self._refused: str | None = None
        self._changed = asyncio.Event()
        link.watch(self._changed.set)

    async def begin(self) -> None:
        """Subscribe to the confirmations."""
        self._subscription = await self._link.client.subscribe(
            f"{self._inbox}.*", cb=self._confirmed, pending_msgs_limit=0, pending_bytes_limit=0
        )

    async def write(self, batch: list[T], /) -> None:
        """Publish a batch, and return when the server has confirmed all of it."""
        letters = enumerate(self._options.letters(batch), self._number)
        self._waiting = {f"{self._inbox}.{number}": letter for number, letter in letters}
        self._number += len(batch)
        left, since = len(batch), asyncio.get_running_loop().time()
        await self._publish()
        times = self._link.times
        while self._waiting:
            await self._progress()
            now = asyncio.get_running_loop().time()
            if self._refused is not None:
                raise RuntimeError(f"nats: the server refused a message: {self._refused}")
            if self._unheard is not None:
                await self._look_for_a_stream(self._unheard)
            if len(self._waiting) < left:
                left, since = len(self._waiting), now
            if now - since > self._link.address.patience:
                raise ConnectionError(
                    f"nats: {left} of {len(batch)} messages were not confirmed within"
                    f" {self._link.address.patience:g} s by {self._link.address.shown}"
                )
            if self._waiting and (times != self._link.times or now - since > RESEND or self._unheard is not None):
                self._unheard = None
                times = self._link.times
                await self._publish()

    async def _progress(self) -> None:
        """Wait until all is confirmed, something is the matter, or nothing has come for long."""
        self._link.check()
        try:
            async with asyncio.timeout(RESEND):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()
        await self._link.here()

    async def _publish(self) -> None:
        await self._link.here()
        client = self._link.client
        publish = client.publish
        subject, data = "", b""
        try:
            for reply, (subject, data, headers) in list(self._waiting.items()):
                await publish(subject, data, reply, headers)
        except MaxPayloadError:
            raise ValueError(
                f"nats: a message of {len(data)} bytes for {subject!r} is above the server's limit of"
                f" {client.max_payload} bytes"
            ) from None
        except OutboundBufferLimitError:
            self._changed.set()  # the connection is away: all that is not confirmed goes out when it is back

    async def _confirmed(self, answer: Msg) -> None:
        waiting, reply = self._waiting, answer.subject
        if not answer.headers and b'"error"' not in answer.data:
            if waiting.pop(reply, None) is not None and not waiting:
                self._changed.set()
        elif reply in waiting:  # else it was published twice, and confirmed before
            self._told(answer, reply)

    def _told(self, answer: Msg, reply: str) -> None:
        """Take an answer that may be a refusal."""
        subject = self._waiting[reply][0]
        if answer.headers and answer.headers.get("Status") == "503":
            self._unheard = subject
        elif "error" in (told := json.loads(answer.data)):  # or a stream of that name
            self._refused = f"{told['error'].get('description', told)} (subject {subject!r})"
        else:
            del self._waiting[reply]
            if self._waiting:
                return
        self._changed.set()

    async def _look_for_a_stream(self, subject: str) -> None:
        """Refuse a subject that no stream takes; where there is one, the server was not ready yet."""
        asked = self._link.jetstream
        try:
            await self._link.patiently(
                f"the question for {subject!r}", lambda: asked.find_stream_name_by_subject(subject)
            )
        except NotFoundError:
            raise LookupError(
                f"nats: no stream on {self._link.address.shown} takes subject {subject!r}; make one with this"
                " subject, or publish to another"
            ) from None
        await asyncio.sleep(PAUSE)

    async def close(self, error: BaseException | None, /) -> None:
        """Let go of the connection."""
        await self._link.close()


def to_jetstream(
    subject: str | Callable[[T], str],
    *,
    data: Callable[[T], bytes] | None = None,
    message_id: Callable[[T], str] | None = None,
    headers: Callable[[T], Mapping[str, str]] | None = None,
    stream: str | None = None,
    servers: str | Sequence[str] = SERVERS,
    options: Mapping[str, Any] | None = None,
    domain: str | None = None,
    patience: float = 60.0,
    size: int = 1000,
    seconds: float | None = 1.0,
) -> Sink[T, int]:
    """Publish elements to JetStream, each confirmed by the server; the result is how many.

    At most `size` messages are published and not confirmed, and as many wait. After a lost connection those that are
    not confirmed are published again: at least once, or just once with `message_id` and within the time for which the
    stream remembers identifiers, two minutes unless it says otherwise.

    Args:
        subject: Where a message goes, or a function that says so for an element.
        data: Makes the bytes of an element; without it elements are bytes.
        message_id: Gives each element a name by which the server knows that it has it already.
        headers: Gives the headers of an element.
        stream: The stream that must take the messages; another one that listens to the subject refuses them.
        servers: The addresses of one cluster.
        options: Further arguments of `nats.connect`: `user`, `password`, `token`, `tls`, `user_credentials`, ...
        domain: The domain of JetStream, if it is not the account's own.
        patience: How many seconds a run waits for a server that is away, or confirms nothing, before it fails.
        size: How many messages are published at a time at most.
        seconds: How long the first message of a batch waits until the batch is published, full or not.

    Raises:
        TypeError: `data`, `message_id` or `headers` is not callable; the run fails with it if a message is not bytes.
        ValueError: A subject or a number cannot be; the run fails with it if a message is too large for the server.

    The run fails with LookupError if no stream takes a subject, with RuntimeError if the server refuses a message, a
    full stream for one, and with PermissionError or ConnectionError as `from_jetstream` does.
    """
    given = tuple(servers) if isinstance(servers, Iterable) and not isinstance(servers, str) else (servers,)
    address = Address(given, options, domain, patience)
    return writing(OpenPublisher(address, subject, data, message_id, headers, stream), size=size, seconds=seconds)


__all__ = ["ConfirmedPublisher", "OpenPublisher", "to_jetstream"]
