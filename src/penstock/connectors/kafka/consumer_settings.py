"""consumer_settings: what a consumer is to read, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import Consumer, KafkaError, TopicPartition

from penstock.connectors.kafka.link import LOGGER, BrokerLink, Complaints

Start = Literal["earliest", "latest"]
Committed = Callable[[KafkaError | None, list[TopicPartition]], None]

HANDOVER = 5.0
"""Seconds that what was given of a partition has to be done when another member of the group is to get it."""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """What a consumer is to read, and how; a value that pickles."""

    link: BrokerLink
    group: str | None
    start: Start
    live: bool
    held: int
    held_kbytes: int
    handover: float = HANDOVER

    def consumer(self, complaints: Complaints, committed: Committed | None = None) -> Consumer:
        """Make a consumer, which tells what becomes of commits that are not waited for; it has not connected yet."""
        own: dict[str, Any] = {
            "group.id": self.group or "penstock",  # the client wants a name even where no group is joined
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": not self.live,
            "queued.min.messages": self.held,
            "queued.max.messages.kbytes": self.held_kbytes,
            "fetch.queue.backoff.ms": 10,  # the client waits for 1 s when its queue was full, which halts a fast run
        }
        if committed is not None:
            own["on_commit"] = committed
        if not self.live:
            own["fetch.wait.max.ms"] = 20  # a broker answers so late that there is no more
        return Consumer(self.link.config(own, complaints), logger=LOGGER)

    @property
    def cooperative(self) -> bool:
        """Tell whether partitions come and go one by one, and not all at once."""
        options = dict(self.link.options)
        strategy = str(options.get("partition.assignment.strategy", ""))
        return "cooperative" in strategy or options.get("group.protocol") == "consumer"


__all__ = ["ConsumerSettings", "Start"]
