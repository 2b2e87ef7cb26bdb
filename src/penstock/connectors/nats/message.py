"""message: a message of a stream, and what JetStream says about one in the subject that it is acknowledged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from nats.aio.msg import Msg


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a stream; `sequence` is its position."""

    subject: str
    data: bytes
    sequence: int
    headers: Mapping[str, str] = field(default_factory=dict)
    nanoseconds: int = 0
    """When the server stored it, since the beginning of 1970."""
    deliveries: int = field(default=1, compare=False)
    """How often the server has sent it to this consumer, this time included; above 1 it is a repetition."""

    @property
    def time(self) -> datetime:
        """Return when the server stored it, to the microsecond."""
        return datetime.fromtimestamp(self.nanoseconds / 1_000_000_000, UTC)


def message_of(sent: Msg) -> tuple[int, Message]:
    """Return the number of a delivery, counted by the consumer, and the message.

    They stand in the subject of its acknowledgement, `$JS.ACK.stream.consumer.deliveries.sequence.delivery.time`;
    where servers have domains, a domain and an account stand in front of the stream.
    """
    tokens = sent.reply.split(".")
    first = 4 if len(tokens) == 9 else 6
    return int(tokens[first + 2]), Message(
        sent.subject,
        sent.data,
        int(tokens[first + 1]),
        sent.headers or {},
        int(tokens[first + 3]),
        int(tokens[first]),
    )


__all__ = ["Message", "message_of"]
