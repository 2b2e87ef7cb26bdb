"""topics_reader: the consumer of one run over topics, or over one partition, for `reading`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from itertools import groupby
from typing import Any

from confluent_kafka import Message

from penstock.connectors.kafka.client_thread import ClientThread
from penstock.connectors.kafka.consumer_settings import ConsumerSettings
from penstock.connectors.kafka.intake import AT_ONCE, IDLE, KafkaIntake
from penstock.connectors.kafka.positions import Offsets, Place, Position, RecordPlaces, merged, offsets_at, without
from penstock.connectors.kafka.record import Record, record_of, records_of
from penstock.connectors.reading_run import Pouring, PouringReader
from penstock.operators.resumable import MadeWhenRead, Positioned

LATE = 0.02
"""Seconds that a commit waits for a fetch that takes it along."""
FEW = 16
"""How many records are taken at first where they are worked on by the client's thread."""
LONG = 0.5
"""Seconds for such records after which fewer are taken: a member of a group has to ask for more in time."""


def place_of(message: Message) -> tuple[str | None, int | None]:
    """Return the partition that a message was read from."""
    return (message.topic(), message.partition())


def runs_of(keys: list[Any]) -> Iterator[tuple[Any, int]]:
    """Return each key with the number of times that it follows itself; most often there is but one."""
    if keys.count(keys[0]) == len(keys):
        return iter([(keys[0], len(keys))])
    return ((key, len(list(run))) for key, run in groupby(keys))


class ConsumingReader(PouringReader):
    """An intake on a separate thread, which is kept a member of its group while nothing is asked for."""

    def __init__(self, how: ConsumerSettings) -> None:
        self._intake = KafkaIntake(how, revoked=self._revoked)
        self._worker = ClientThread("penstock-kafka")
        self._minding: asyncio.Task[None] | None = None
        self._fetching = False
        self._some = FEW
        """How many records are taken at a time, since the client waits while they are worked on."""
        self._late: asyncio.TimerHandle | None = None
        """Makes the commits for which there was no fetch."""

    async def open(self, topics: tuple[str, ...], places: tuple[Place, ...], after: Mapping[Place, int]) -> None:
        """Connect."""
        ready = False
        try:
            await self._worker.do(self._intake.open, topics, places, after)
            ready = True
        finally:
            if not ready:
                self._intake.leave()
                self._worker.end(self._intake.close)
        self._minding = asyncio.get_running_loop().create_task(self._mind())

    async def _mind(self) -> None:
        while True:
            await asyncio.sleep(IDLE)
            await self._worker.do(self._intake.idle)

    async def close(self) -> None:
        """Leave the group and end the thread."""
        for each in (self._minding, self._late):
            if each is not None:
                each.cancel()
        self._intake.leave()
        try:
            await self._worker.do(self._intake.close)
        finally:
            self._worker.end()

    async def fetch(self, most: int, /) -> Sequence[tuple[Any, Record]] | None:
        """Return up to so many records with their positions."""
        self._fetching = True
        try:
            return await self._worker.do(self._take, most)
        finally:
            self._fetching = False

    async def pour(self, pouring: Pouring, /) -> bool:
        """Take and give records on the client's thread as long as some are wanted; return whether there may be more."""
        if self._late is not None:
            self._late.cancel()
        self._fetching = True
        unknown = True
        try:
            more = await self._worker.do(copy_context().run, self._pour, pouring)
            unknown = False
            return more
        finally:
            self._fetching = False
            if unknown or self._intake.unanswered:  # after a cancel the thread may still be at it
                loop = asyncio.get_running_loop()
                self._late = loop.call_later(LATE, self._worker.soon, self._intake.commit_asked)

    def _pour(self, pouring: Pouring) -> bool:
        intake = self._intake
        intake.before_revoking = pouring.aside
        while not self._worker.awaited:
            most = pouring.wanted()
            if most is None and intake.hear():
                continue
            if not most:
                break
            found = self._take(min(most, self._some))
            if found is None:
                intake.hear()
                return False
            if found:
                since = time.monotonic()
                pouring.give(found)
                quick = time.monotonic() - since < LONG
                self._some = min(2 * self._some, AT_ONCE) if quick else max(self._some // 2, 1)
            del found  # so that what is done with does not wait for what comes next
        return True

    def send(self, position: Any, /) -> Future[None]:
        """Have a commit sent with the next call for messages."""
        return self._intake.ask_commit(self._offsets(position))

    def _take(self, most: int) -> Sequence[tuple[Any, Record]] | None:
        raise NotImplementedError

    async def commit(self, position: Any, /) -> None:
        """Commit the offsets of the partitions that are still ours."""
        told = self._intake.ask_commit(self._offsets(position))
        # The next fetch takes it along; this one is for the case that there is none.
        wait = LATE if self._fetching else 0.0
        late = asyncio.get_running_loop().call_later(wait, self._worker.soon, self._intake.commit_asked)
        try:
            await asyncio.wrap_future(told)
        finally:
            late.cancel()

    def _revoked(self, places: list[Place]) -> None:
        pass

    # For a sink whose transactions commit the offsets.

    @property
    def how(self) -> ConsumerSettings:
        """Return what is read, and in whose name."""
        return self._intake.how

    def ceded(self) -> None:
        """Be told that a sink's transactions commit what is read here."""
        self._intake.ledger.expect()

    def to_send(self, position: Any) -> tuple[dict[Place, int], Any]:
        """Return the offsets that a transaction is to commit at a position, and what says in whose name."""
        return self._intake.to_send(self._offsets(position))

    def sent(self, offsets: Mapping[Place, int]) -> None:
        """Take note that a transaction has committed offsets."""
        self._intake.ledger.committed(offsets)

    def _offsets(self, position: Any) -> Mapping[Place, int]:
        raise NotImplementedError


class TopicsReader(ConsumingReader):
    """The consumer of one run over topics."""

    def __init__(self, how: ConsumerSettings, topics: tuple[str, ...], before: Offsets) -> None:
        super().__init__(how)
        self._topic = topics[0] if len(topics) == 1 and not topics[0].startswith("^") else None
        self._key: Any = place_of if self._topic is None else Message.partition  # which takes a fraction of the time
        self._before = before

    def _take(self, most: int) -> Sequence[tuple[Position, Record]] | None:
        messages = self._intake.take(most)
        if not messages:
            return None if self._intake.ended else []
        places = RecordPlaces(messages)
        before = self._before
        given: Any = messages  # what was read has a topic, a partition and an offset
        begin = 0
        for key, count in runs_of(list(map(self._key, messages))):
            topic, number = key if self._topic is None else (self._topic, key)
            end = given[begin + count - 1].offset() + 1
            self._intake.ledger.gave((topic, number), given[begin].offset(), end)
            places.add(count, before, topic, number)
            before = merged(before, topic, number, end)
            begin += count
        self._before = before
        return Positioned(MadeWhenRead(record_of, messages, records_of), places)

    def _revoked(self, places: list[Place]) -> None:
        self._before = without(self._before, set(places))

    def _offsets(self, position: Position) -> Mapping[Place, int]:
        return offsets_at(position)


class OnePartitionReader(ConsumingReader):
    """The consumer of one run over a partition."""

    def __init__(self, how: ConsumerSettings, place: Place, dense_from: int | None) -> None:
        super().__init__(how)
        self._place = place
        self._expected = dense_from

    def _take(self, most: int) -> Sequence[tuple[int, Record]] | None:
        messages = self._intake.take(most)
        if not messages:
            return None if self._intake.ended else []
        given: Any = messages  # what was read has an offset
        ends = [message.offset() + 1 for message in given]
        if self._expected is not None:
            self._refuse_gaps(self._expected, ends)
            self._expected = ends[-1]
        self._intake.ledger.gave(self._place, ends[0] - 1, ends[-1])
        return Positioned(MadeWhenRead(record_of, messages, records_of), ends)

    def _refuse_gaps(self, expected: int, ends: list[int]) -> None:
        if ends[-1] == expected + len(ends):
            return
        for position in ends:
            if position != expected + 1:
                topic, number = self._place
                raise LookupError(
                    f"kafka: {topic}/{number} has no record at offset {expected}, the next is at {position - 1};"
                    " a topic that is compacted or written in transactions has gaps, and cannot be counted by offsets"
                )
            expected += 1

    def _offsets(self, position: int) -> Mapping[Place, int]:
        return {self._place: position}


__all__ = ["ConsumingReader", "OnePartitionReader", "TopicsReader", "place_of"]
