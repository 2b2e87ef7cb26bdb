"""dead: where messages go that were sent too often, since a run has ended each time."""

from __future__ import annotations

from dataclasses import dataclass

from nats.js.errors import NoStreamResponseError

from penstock.connectors.nats.link import NatsLink
from penstock.connectors.nats.message import Message


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """A subject for messages that the server has sent more often than they may be."""

    link: NatsLink
    stream: str
    subject: str
    most: int

    def takes(self, message: Message) -> bool:
        """Tell whether a message was sent too often."""
        return message.deliveries > self.most

    async def bury(self, message: Message, reply: str) -> None:
        """Publish a message where the dead ones go; when that is confirmed, it is sent no more."""
        link = self.link
        headers = {
            **message.headers,
            "Nats-Msg-Id": f"{self.stream}.{message.sequence}",  # so that it is there once, should this be cut short
            "Penstock-Stream": self.stream,
            "Penstock-Subject": message.subject,
            "Penstock-Sequence": str(message.sequence),
            "Penstock-Deliveries": str(message.deliveries - 1),
        }
        try:
            await link.patiently(
                f"a dead letter to {self.subject!r}",
                lambda: link.jetstream.publish(self.subject, message.data, headers=headers),
            )
        except NoStreamResponseError:
            raise LookupError(
                f"nats: no stream on {link.address.shown} takes subject {self.subject!r} of dead letters; make one with"
                f" this subject; message {message.sequence} of stream {self.stream!r} stays where it is"
            ) from None
        await link.patiently("the end of a dead letter", lambda: link.client.request(reply, b"+TERM", timeout=5))


__all__ = ["DeadLetters"]
