"""intake: a consumer, its partitions and their offsets; every call but `ask_commit` and `leave` on one thread.

`take(n)` asks the client for n messages at most. Behind it the client fetches ahead, within the bounds of
`ConsumerSettings`. While none are asked for, `idle` pauses the partitions and goes on polling: a member of a group that
does not poll is taken for dead, and holds up the others when partitions move.

Where a partition begins is decided here: at the position that the stream was opened behind, else at the group's
committed offset, else at `start`. An offset that the brokers have deleted since is therefore an error, and no gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.connectors.kafka.consumer_settings import ConsumerSettings
from penstock.connectors.kafka.link import LOGGER, Complaints, missing, passes, told, topics_there
from penstock.connectors.kafka.offset_commits import OffsetCommits
from penstock.connectors.kafka.positions import Place

WAIT = 0.1
"""Seconds that a call waits for a message; a cancel waits as long at most."""
AT_ONCE = 600
"""How many messages are taken in one call at most. Python looks for garbage when 700 objects more than before are there
(`gc.get_threshold`), and messages that come and go together in smaller numbers never make it look: that would take a
tenth of the time of reading, and more where a program has many objects."""
IDLE = 1.0
"""Seconds without a demand after which the partitions are paused."""
ANSWERED = 0.02
"""Seconds within which a commit that was sent is answered, or it is made again and waited for."""
_LOOK = 0.0005
"""Seconds from one look for the answer to the next."""


def _nothing(_: list[Place]) -> None:
    pass


def _pass() -> None:
    pass


class KafkaIntake(OffsetCommits):
    """A consumer of one run."""

    def __init__(
        self,
        reading: ConsumerSettings,
        assigned: Callable[[list[Place]], object] = _nothing,
        revoked: Callable[[list[Place]], object] = _nothing,
    ) -> None:
        super().__init__(reading)
        self._assigned = assigned
        self._revoked = revoked
        self._complaints = Complaints()
        self._after: dict[Place, int] = {}
        self._failure: Exception | None = None
        self._stash: list[Message] = []
        self._held: set[Place] | None = None
        """The partitions that are read; None while that is not known."""
        self._ended: set[Place] = set()
        self._paused = False
        self._asked = time.monotonic()
        self._membership: Any = None
        """What says which member of which generation this is."""
        self._moved = True
        """Whether that may have changed."""
        self.before_revoking: Callable[[], object] = _pass
        """Is called where this thread is going to wait for what was given of partitions that are to go."""

    def open(self, topics: tuple[str, ...], places: tuple[Place, ...], after: Mapping[Place, int]) -> None:
        """Connect, and read from topics or from partitions; without a group, all partitions of the topics."""
        self._after = dict(after)
        reading = self.how
        self._consumer = reading.consumer(self._complaints, self._answered)
        there = topics_there(self._consumer, reading.link, self._complaints, self.stopping)
        for topic in (*topics, *(topic for topic, _ in places)):
            if not topic.startswith("^") and topic not in there:
                raise missing(topic, reading.link)
        for topic, number in places:
            if number not in there[topic]:
                raise LookupError(f"kafka: topic {topic!r} has partitions {there[topic]}, and not {number}")
        if reading.group is not None and not places:
            self._consumer.subscribe(
                list(topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            return
        chosen = places or tuple((topic, number) for topic in topics for number in there[topic])
        self._take_up(list(chosen), self._consumer.assign)

    # Partitions come and go.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        assign = consumer.incremental_assign if self.how.cooperative else consumer.assign
        try:
            self._take_up([(one.topic, one.partition) for one in partitions], assign)
        except Exception as error:  # noqa: BLE001  the client would swallow it
            self._failure = error

    def _take_up(self, places: list[Place], assign: Callable[[list[TopicPartition]], object]) -> None:
        starts = self._starts(places)
        assign([TopicPartition(topic, number, starts[topic, number]) for topic, number in places])
        self.resume(places)  # the client keeps a pause beyond the loss of a partition
        self._paused = False
        self._held = (self._held or set()) | set(places)
        self._moved = True
        self._assigned(places)

    def _starts(self, places: list[Place]) -> dict[Place, int]:
        """Return the offsets at which partitions begin."""
        first = OFFSET_BEGINNING if self.how.start == "earliest" else OFFSET_END
        # A partition that comes back later begins where its holder in the meantime has committed.
        starts = {place: self._after.pop(place, first) for place in places}
        unknown = [place for place, offset in starts.items() if offset == first]
        if self.how.group is not None and unknown:
            for one in self._committed([TopicPartition(topic, number) for topic, number in unknown]):
                # A broker that has just begun may not know yet what was committed; some say then that nothing was.
                offset = max(one.offset, self.ledger.reached.get((one.topic, one.partition), one.offset))
                if offset >= 0:
                    starts[one.topic, one.partition] = offset
        return starts

    def _committed(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        found: list[TopicPartition] = self._patiently(lambda: self._consumer.committed(partitions, timeout=5.0))
        for one in found:
            if one.error is not None:
                raise told(one.error, self.how.link, f"committed offset of {one.topic}/{one.partition}")
        return found

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        places = [(one.topic, one.partition) for one in partitions]
        deadline = time.monotonic() + self.how.handover
        self.before_revoking()
        self.commit_asked()
        while not self.stopping.is_set() and not self.ledger.finished(places) and time.monotonic() < deadline:
            self.commit_asked(WAIT)
        self._give_up(places)

    def _on_lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._give_up([(one.topic, one.partition) for one in partitions])

    def _give_up(self, places: list[Place]) -> None:
        self._revoked(places)  # nothing more of them is given then, so that nothing comes into the ledger again
        self.ledger.drop(places)
        left = (self._held or set()) - set(places)
        self._held = left or None
        self._ended -= set(places)
        self._stash = [one for one in self._stash if (one.topic(), one.partition()) not in places]

    # Messages.

    @property
    def ended(self) -> bool:
        """Tell whether every partition was read to its end, where that is an end."""
        return not self.how.live and self._held is not None and self._ended >= self._held

    @property
    def ended_places(self) -> frozenset[Place]:
        """Return the partitions that were read to their ends, where those are ends."""
        return frozenset(self._ended)

    def take(self, most: int, wait: float = WAIT) -> list[Message]:
        """Return up to so many messages, waiting a little for the first; none if there are none."""
        if self._failure is not None:
            raise self._failure
        self._asked = time.monotonic()
        self.send_asked()
        if self._paused:
            self._paused = False
            self._consumer.resume(self._consumer.assignment())
        if self._stash:
            found, self._stash = self._stash[:most], self._stash[most:]
            return found
        return self._polled(min(most, AT_ONCE), wait)

    def _polled(self, most: int, wait: float) -> list[Message]:
        found: list[Message] = self._consumer.consume(most, 0)
        if not found and wait:  # a call for many waits until it has them all, so the first is waited for alone
            found = self._consumer.consume(1, wait)
            if found and most > 1:
                found += self._consumer.consume(most - 1, 0)
        if self._moved:  # not when it is needed: the client answers no other thread while it calls back
            self._moved = False
            self._membership = self._consumer.consumer_group_metadata()
        good = found
        if any(map(Message.error, found)):
            good = [message for message in found if message.error() is None]
            for message in found:
                error = message.error()
                if error is not None:
                    self._hear(message, error)
        if self._complaints.refusal is not None and self._failure is None:
            self._failure = told(self._complaints.refusal, self.how.link)
        if self._failure is not None and not good:
            raise self._failure  # else it comes behind what was read before it
        return good

    def _hear(self, message: Message, error: KafkaError) -> None:
        topic, number = message.topic() or "", message.partition() or 0
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended.add((topic, number))
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._failure = LookupError(
                f"kafka: {topic}/{number} no longer has the offset to go on from ({error.str()}); records were deleted"
                " before they were read; commit an offset that is there, or open the stream from a position"
            )
        elif passes(error):
            LOGGER.warning("%s", error)
        else:
            self._failure = told(error, self.how.link, topic)

    def idle(self) -> None:
        """Keep the membership of the group while nothing is asked for."""
        if time.monotonic() - self._asked < IDLE or self._failure is not None:
            return
        try:
            self._paused = True
            self._consumer.pause(self._consumer.assignment())
            self._stash += self._polled(1, 0)
        except Exception as error:  # noqa: BLE001  the next demand is told
            self._failure = error

    def hear(self) -> bool:
        """Wait for the answer to a commit that was asked for; tell whether there was one to wait for.

        The client calls back where it gives messages: those that it gives meanwhile are for the next `take`.
        """
        if not self.unanswered:
            return False
        self.send_asked()
        sent, until = self._sent, time.monotonic() + ANSWERED
        while sent is not None and sent is self._sent and not sent.failed:
            if time.monotonic() > until or self.stopping.wait(_LOOK):
                break
            self._stash += self._polled(1, 0)
        if sent is not None and sent is self._sent:
            self.commit_asked()
        return True

    # The client comes to a standstill when a partition is paused or resumed beside a call that waits for messages.

    def pause(self, places: list[Place]) -> None:
        """Have no more messages of some partitions; those that the client holds of them are fetched again later."""
        self._switched(self._consumer.pause, places)

    def resume(self, places: list[Place]) -> None:
        """Have messages of some partitions again."""
        self._switched(self._consumer.resume, places)

    def _switched(self, switch: Callable[[list[TopicPartition]], object], places: list[Place]) -> None:
        try:
            switch([TopicPartition(topic, number) for topic, number in places])
        except KafkaException as error:
            LOGGER.info("%s", error)  # they were taken away meanwhile

    def to_send(self, offsets: Mapping[Place, int]) -> tuple[dict[Place, int], Any]:
        """Return what of the offsets a transaction is to commit, and in whose name; from any thread.

        Records of a partition that was taken away meanwhile are read again by its next holder, so a transaction that
        may have some of them must not be.
        """
        found = self.ledger.done(offsets)
        if self.ledger.torn:
            names = ", ".join(f"{topic}/{number}" for topic, number in sorted(self.ledger.torn))
            raise ConnectionAbortedError(
                f"kafka: {names} went to another member of the group {self.how.group!r} while records were under"
                " way, which are in no transaction; run the pipeline again"
            )
        return found, self._membership

    def leave(self) -> None:
        """Have calls end soon that wait; from any thread."""
        self.stopping.set()

    def close(self) -> None:
        """Leave the group and close the connections."""
        self.stopping.set()
        self.commit_asked()
        if self._consumer is not None:
            self._consumer.close()


__all__ = ["KafkaIntake"]
