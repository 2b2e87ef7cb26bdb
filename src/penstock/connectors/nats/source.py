"""source: the messages of a JetStream stream, as many as are asked for, acknowledged behind the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nats.js.api import AckPolicy, ConsumerConfig, ConsumerInfo, DeliverPolicy
from nats.js.errors import APIError, NotFoundError

from penstock.connectors.nats.dead import DeadLetters
from penstock.connectors.nats.durable import DurableReader
from penstock.connectors.nats.link import Address, NatsLink
from penstock.connectors.nats.message import Message
from penstock.connectors.nats.ordered import OrderedReader
from penstock.connectors.reading import reading
from penstock.engine.words.arguments import count_given
from penstock.stream import Stream

SERVERS = "nats://127.0.0.1:4222"


@dataclass(frozen=True, slots=True)
class OpenJetStream:
    """What opens a stream of JetStream behind a position; see `from_jetstream`."""

    address: Address
    stream: str
    subject: str | None = None
    durable: str | None = None
    ack_wait: float = 30.0
    window: int = 10_000
    dead_letters: str | None = None
    deliveries: int = 5
    after: int | None = None

    def __post_init__(self) -> None:
        for name in ("stream", "durable"):
            value = getattr(self, name)
            if value is None and name == "durable":
                continue
            if not isinstance(value, str) or not value or any(mark in value for mark in " .*>/\\\t\r\n"):
                raise ValueError(f"nats: {name} must be a name without spaces and any of '.*>/\\', got {value!r}")
        if not isinstance(self.ack_wait, int | float) or not self.ack_wait > 0:
            raise ValueError(f"nats: ack_wait must be > 0 seconds, got {self.ack_wait!r}")
        count_given("nats", "window", self.window, 1)
        count_given("nats", "deliveries", self.deliveries, 1)
        if self.after is not None:
            count_given("nats", "after", self.after, 0)
        if self.dead_letters is not None and self.durable is None:
            raise ValueError("nats: dead_letters needs durable, whose deliveries the server counts")

    async def __call__(self, after: int | None) -> DurableReader | OrderedReader:
        """Connect, and begin behind a position; None is the first message, or the place of the durable consumer."""
        if after is None:
            after = self.after
        link = await self.address.connect()
        begun = False
        try:
            reader = await self._reader(link, after)
            await reader.begin()
            begun = True
        except NotFoundError as error:
            raise LookupError(
                f"nats: stream {self.stream!r} is not there on {self.address.shown}; make it first, with"
                " jetstream.add_stream(...) or `nats stream add`"
            ) from error
        except APIError as error:
            raise ValueError(f"nats: the server refused a consumer of {self.stream!r}: {error.description}") from error
        finally:
            if not begun:  # a cancel closes the connection as well
                await link.close()
        return reader

    async def _reader(self, link: NatsLink, after: int | None) -> DurableReader | OrderedReader:
        found = await link.patiently(f"stream {self.stream!r}", lambda: link.jetstream.stream_info(self.stream))
        if after is not None and after > found.state.last_seq:
            raise LookupError(
                f"nats: position {after} is behind the end of stream {self.stream!r}, whose last message is"
                f" {found.state.last_seq}: the stream was made anew since"
            )
        if self.durable is None:
            return OrderedReader(link, self.stream, self.subject, after)
        consumer = await self._consumer(link, self.durable)
        if after is not None:
            await self._reset(link, self.durable, after)
        config = consumer.config
        dead = None
        if self.dead_letters is not None:
            dead = DeadLetters(link, self.stream, self.dead_letters, self.deliveries)
        ack_wait: float = min(float(wait) for wait in (config.ack_wait or self.ack_wait, *(config.backoff or ())))
        return DurableReader(link, self.stream, self.durable, ack_wait, self.window, dead)

    async def _consumer(self, link: NatsLink, name: str) -> ConsumerInfo:
        """Return the consumer of that name, which is made if there is none."""
        asked = link.jetstream
        try:
            found: ConsumerInfo = await link.patiently(
                f"consumer {name!r}", lambda: asked.consumer_info(self.stream, name)
            )
        except NotFoundError:
            config = ConsumerConfig(
                durable_name=name,
                name=name,
                deliver_policy=DeliverPolicy.ALL,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=self.ack_wait,
                max_ack_pending=self.window,
                filter_subject=self.subject,
            )
            made: ConsumerInfo = await link.patiently(
                f"consumer {name!r}", lambda: asked.add_consumer(self.stream, config)
            )
            return made
        config = found.config
        if config.deliver_subject:
            raise ValueError(f"nats: consumer {name!r} is a push consumer, which knows no demand; name another durable")
        if config.ack_policy != AckPolicy.EXPLICIT:
            raise ValueError(
                f"nats: consumer {name!r} acknowledges by {str(config.ack_policy)!r}; it must be 'explicit', so that a"
                " message that is sent again and not done is not acknowledged with a later one"
            )
        if config.filter_subject != self.subject:
            raise ValueError(
                f"nats: consumer {name!r} filters {config.filter_subject!r}, and subject is {self.subject!r}; name"
                " another durable or give the same subject"
            )
        if 0 < (config.max_ack_pending or 0) < self.window:
            raise ValueError(
                f"nats: consumer {name!r} lets {config.max_ack_pending} messages be unacknowledged, and window is"
                f" {self.window}; a step that waits for more would wait forever: give window={config.max_ack_pending}"
            )
        return found

    async def _reset(self, link: NatsLink, name: str, after: int) -> None:
        answer = await link.patiently(
            f"the reset of consumer {name!r}",
            lambda: link.api(f"CONSUMER.RESET.{self.stream}.{name}", {"seq": after + 1}),
        )
        if "error" in answer:
            raise ValueError(
                f"nats: consumer {name!r} cannot go behind position {after}: {answer['error'].get('description')};"
                " leave durable out where the position is kept elsewhere, by a checkpoint for one"
            )


def from_jetstream(
    stream: str,
    *,
    subject: str | None = None,
    durable: str | None = None,
    after: int | None = None,
    servers: str | Sequence[str] = SERVERS,
    options: Mapping[str, Any] | None = None,
    domain: str | None = None,
    patience: float = 60.0,
    ack_wait: float = 30.0,
    window: int = 10_000,
    dead_letters: str | None = None,
    deliveries: int = 5,
    most: int = 1000,
) -> Stream[Message]:
    """Emit the messages of a stream of JetStream, as many as are asked for; a resumable stream without an end.

    The position of a message is its sequence in the stream. Without `durable` the run keeps the position itself: it
    reads from the beginning, or behind the position that it is opened with, in order, and nothing twice. With `durable`
    the server remembers what was acknowledged, and a pipeline acknowledges what has passed its end. What a run held
    that was cancelled or failed comes at once in the next one; what a killed one held comes when `ack_wait` is over.

    Backpressures by asking the server for no more messages than downstream asks for; the rest stays in the stream.

    Args:
        stream: The name of the stream, which must be there.
        subject: Which of its subjects are wanted, such as `orders.*`; all without it.
        durable: The name of a durable consumer, which is made if it is not there. Several runs may share one.
        after: The sequence behind which a run begins that is given no position, where results say how far they
            are: 0 is before the first message. Without it that is the first message, or the place of the consumer.
        servers: The addresses of one cluster.
        options: Further arguments of `nats.connect`: `user`, `password`, `token`, `tls`, `user_credentials`, ...
        domain: The domain of JetStream, if it is not the account's own.
        patience: How many seconds a run waits for a server that is away before it fails.
        ack_wait: Seconds after which messages of a durable consumer whose run is gone are sent again; what a living
            run holds is said to be in progress. For a consumer that is made here.
        window: How many messages of a run may be sent and not acknowledged; the server holds to it as well, with a
            durable consumer that is made here.
        dead_letters: The subject that a message is published to, in the place of being emitted, when the server has
            sent it `deliveries` times before; needs a stream that takes the subject.
        deliveries: How often a message may be sent if there are dead letters.
        most: How many messages are asked for at a time at most.

    Raises:
        TypeError: A number is none.
        ValueError: A name or a number cannot be; the run fails with it if the consumer is not one to pull from.

    The run fails with PermissionError if the login is refused, with ConnectionError if no server answers, and with
    LookupError if the stream or the consumer is not there, or not any more.
    """
    given = tuple(servers) if isinstance(servers, Iterable) and not isinstance(servers, str) else (servers,)
    address = Address(given, options, domain, patience)
    opened = OpenJetStream(address, stream, subject, durable, ack_wait, window, dead_letters, deliveries, after)
    return reading(opened, most=most, window=window, notes=durable is not None)


__all__ = ["OpenJetStream", "from_jetstream"]
