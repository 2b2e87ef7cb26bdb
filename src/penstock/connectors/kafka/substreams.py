"""substreams: the partitions of topics, each as a separate stream with its own demand.

One consumer reads them all on one thread and hands each record to its partition's queue. While all queues are full,
nothing is taken from the client. A partition is paused until it is asked for, and when its queue holds twice its size
while another one has room; it goes on when half of its size is left. What the client had fetched ahead of a paused
partition is fetched again later, which takes it up to a second: hence no partition is paused without need.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from confluent_kafka import Message

from penstock.connectors.kafka.consumer_settings import ConsumerSettings, Start
from penstock.connectors.kafka.intake import KafkaIntake
from penstock.connectors.kafka.positions import Place
from penstock.connectors.kafka.record import Record, record_of, records_of
from penstock.connectors.kafka.topics import HELD, HELD_KBYTES, settled, topics_given
from penstock.connectors.kafka.topics_reader import place_of
from penstock.connectors.reading import MOST, feeding, reading
from penstock.engine.words.arguments import count_given
from penstock.operators.resumable import UNCOMMITTED, MadeWhenRead, Positioned
from penstock.stream import Stream

QUEUE = 5000
"""How many records of a partition wait here, unless a user says another number."""
PATIENCE = 1.0
"""Seconds without room in any queue after which the partitions are paused."""
WAIT = 0.02
"""Seconds that a call waits for a message; a partition that is asked for again waits as long at most."""


@dataclass(frozen=True, slots=True)
class KafkaPartition:
    """A partition that is read here, until another member of the group gets it."""

    topic: str
    number: int
    records: Stream[Record] = field(compare=False, repr=False)
    """Its records; a resumable stream that can be run once, whose position is the next offset."""


def partitions(
    topics: str | Sequence[str],
    *,
    servers: str | Sequence[str],
    group: str | None = None,
    start: Start = "earliest",
    live: bool = True,
    queue: int = QUEUE,
    window: int = UNCOMMITTED,
    held: int = HELD,
    held_kbytes: int = HELD_KBYTES,
    options: Mapping[str, Any] | None = None,
) -> Stream[KafkaPartition]:
    """Emit the partitions of topics as they come to this consumer, each with a stream of its records.

    A partition whose records are not asked for is paused, and holds up no other. Its stream ends when another member of
    the group gets it. A pipeline that is run over the records of one partition commits its offsets.
    Backpressures by taking no more from the client, and by pausing a partition that is ahead of others.

    Args:
        topics: One topic or several; with a group also patterns, which begin with `^`.
        servers: The brokers, as `host:port`.
        group: The group that shares the partitions, and in whose name offsets are committed. Without one, all
            partitions are read, and nothing is committed.
        start: Where a partition begins that has no committed offset.
        live: Whether to wait for more at the end of a partition; if not, its stream ends there.
        queue: How many records of a partition wait here; twice as many, and a call's, while another one has room.
        window: How many records of a partition may be uncommitted at a time, in a pipeline that is run over them.
        held: How many records of each partition the client fetches ahead.
        held_kbytes: How many kilobytes the client fetches ahead, of all partitions together.
        options: Other settings of librdkafka, such as `security.protocol`.

    Raises:
        TypeError: A number is none.
        ValueError: A number is below 1, a name is empty, or an option is set that an argument is for.
    """
    names = topics_given(topics, group)
    count_given("kafka", "queue", queue, 1)
    count_given("kafka", "window", window, 1)
    how = settled(servers, group, start, live, MOST, held, held_kbytes, options)
    return feeding(OpenPartitions(names, how, queue, window))


@dataclass(frozen=True, slots=True)
class OpenPartitions:
    """What a run over partitions is opened by; a value that pickles."""

    topics: tuple[str, ...]
    how: ConsumerSettings
    queue: int
    window: int

    async def __call__(self) -> Dealer:
        dealer = Dealer(self)
        dealer.start()
        return dealer


class _Bell:
    """What one task waits for, and any thread rings."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event: asyncio.Event | None = None

    def listen(self) -> asyncio.Event:
        """Return the event that the next ring sets; called on the loop, while the lock is held that rings are under."""
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        return self._event

    def ring(self) -> None:
        """Wake the task that waits."""
        event, self._event = self._event, None
        if event is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(event.set)


class Dealer:
    """The consumer of one run over partitions, and the queue of each; a feed of partitions."""

    def __init__(self, how: OpenPartitions) -> None:
        self._how = how
        self.lock = threading.Condition()
        self.intake = KafkaIntake(how.how, self._assigned, self._revoked)
        self._thread = threading.Thread(target=self._run, name="penstock-kafka", daemon=True)
        self._lanes: dict[Place, PartitionQueue] = {}
        self._new: deque[PartitionQueue] = deque()
        self._bell = _Bell()
        self._gone = threading.Event()
        self._over = self._closed = False
        self._failure: Exception | None = None
        self.open_lanes = 0
        self.wanted: dict[Place, bool] = {}
        """The partitions that are to be paused (True) or to go on."""
        self.commits = how.how.group is not None
        """Whether offsets are committed."""

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    # As a feed of partitions, on the loop.

    async def fetch(self, most: int, /) -> Sequence[KafkaPartition] | None:
        """Return partitions that have come, waiting until there is one."""
        while True:
            with self.lock:
                found = [self._new.popleft() for _ in range(min(most, len(self._new)))]
                if not found and self._failure is not None:
                    raise self._failure
                if not found and self._over:
                    return None
                rung = self._bell.listen()
            if found:
                return [lane.partition() for lane in found]
            await rung.wait()

    async def close(self) -> None:
        """Give no more partitions; those that are being read go on, and the last of them closes the consumer."""
        with self.lock:
            self._closed = True
        await self.leave()

    async def leave(self) -> None:
        """Close the consumer if no partition is read any more and none will be."""
        with self.lock:
            last = self._closed and not self.open_lanes
        if last:
            self.intake.leave()
            await asyncio.to_thread(self._gone.wait)

    def enter(self, lane: PartitionQueue) -> None:
        """Take note that a partition is read; once, and only while there is a consumer."""
        name = f"{lane.place[0]}/{lane.place[1]}"
        with self.lock:
            if lane.entered:
                raise RuntimeError(f"kafka: {name} is read already; the records of a partition can be run once")
            if self._closed and not self.open_lanes:
                raise RuntimeError(f"kafka: the consumer of {name} is closed; read partitions while the stream runs")
            lane.entered = True
            self.open_lanes += 1

    # On the consumer's thread.

    def _run(self) -> None:
        failure: Exception | None = None
        try:
            self.intake.open(self._how.topics, (), {})
            while not self.intake.stopping.is_set() and not self.intake.ended:
                room = self._find_room()
                self._switch()
                self.intake.commit_asked()
                if room:
                    self._deal(self.intake.take(MOST, WAIT))
        except Exception as error:  # noqa: BLE001  told to all that read
            failure = error
        with self.lock:
            self._over = True
            self._failure = failure
            self._bell.ring()
            for lane in self._lanes.values():
                lane.end(failure)
        while not self.intake.stopping.is_set():  # commits may follow the last record
            self.intake.commit_asked(WAIT)
        try:
            self.intake.close()
        finally:
            self._gone.set()

    def _switch(self) -> None:
        """Pause and resume what the lanes have asked for, which only this thread may do."""
        with self.lock:
            wanted, self.wanted = self.wanted, {}
        for paused, switch in ((True, self.intake.pause), (False, self.intake.resume)):
            places = [place for place, want in wanted.items() if want is paused]
            if places:
                switch(places)

    def _find_room(self) -> bool:
        """Tell whether messages can be taken, waiting a while until a queue has room; pause what is too full."""
        with self.lock:
            flowing = [lane for lane in self._lanes.values() if lane.flowing]
            if all(lane.waiting >= lane.size for lane in flowing) and flowing:
                if self.lock.wait(PATIENCE):
                    return False
                full = flowing  # to be polled while no messages come, for the sake of the group
            else:
                full = [lane for lane in flowing if lane.waiting >= 2 * lane.size]
            for lane in full:
                lane.paused = self.wanted[lane.place] = True
            return True

    def _deal(self, messages: list[Message]) -> None:
        place: Any
        with self.lock:
            for place, run in groupby(messages, place_of):
                if place in self._lanes:
                    self._lanes[place].take_in(run)
            for place in self.intake.ended_places:
                if place in self._lanes:
                    self._lanes[place].end(None)

    def _assigned(self, places: list[Place]) -> None:
        self.intake.pause(places)  # until they are asked for
        with self.lock:
            for place in places:
                lane = self._lanes[place] = PartitionQueue(self, place, self._how.queue, self._how.window)
                self._new.append(lane)
            self._bell.ring()

    def _revoked(self, places: list[Place]) -> None:
        with self.lock:
            for place in places:
                lane = self._lanes.pop(place, None)
                if lane is not None:
                    lane.cut()
                    if lane in self._new:
                        self._new.remove(lane)


class PartitionQueue:
    """The queue of one partition; a reader of its records. Its state changes under the dealer's lock."""

    def __init__(self, dealer: Dealer, place: Place, size: int, window: int) -> None:
        self._dealer = dealer
        self.place = place
        self.size = size
        self._window = window
        self._waiting: deque[Message] = deque()
        self._bell = _Bell()
        self.paused = True
        self._ended = False
        self._failure: Exception | None = None
        self.entered = False

    def partition(self) -> KafkaPartition:
        """Return it as what users see."""
        records = reading(self._opened, most=MOST, window=self._window, notes=self._dealer.commits)
        return KafkaPartition(*self.place, records)

    async def _opened(self, after: int | None) -> PartitionQueue:
        if after is not None:
            raise ValueError("kafka: a partition of a group cannot be opened behind a position; use kafka.partition")
        self._dealer.enter(self)
        return self

    @property
    def flowing(self) -> bool:
        """Tell whether messages of it may come."""
        return not self.paused and not self._ended

    @property
    def waiting(self) -> int:
        """Return how many records wait."""
        return len(self._waiting)

    def take_in(self, messages: Iterable[Message]) -> None:
        """Take messages."""
        self._waiting.extend(messages)
        self._bell.ring()

    def end(self, failure: Exception | None) -> None:
        """Give what waits, and no more."""
        if not self._ended:
            self._ended, self._failure = True, failure
            self._bell.ring()

    def cut(self) -> None:
        """Give no more: what waits is read by the next holder of the partition."""
        self._waiting.clear()
        self.end(None)

    async def fetch(self, most: int, /) -> Sequence[tuple[int, Record]] | None:
        """Return up to so many records with their positions."""
        while True:
            with self._dealer.lock:
                found: list[Any] = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
                if found:
                    self._dealer.intake.ledger.gave(self.place, found[0].offset(), found[-1].offset() + 1)
                over = not found and self._ended
                rung = None if found or over else self._bell.listen()
                if self.paused and not self._ended and len(self._waiting) <= self.size // 2:
                    self.paused = False
                    self._dealer.wanted[self.place] = False
                self._dealer.lock.notify()
            if over:
                if self._failure is not None:
                    raise self._failure
                return None
            if found:
                ends = [message.offset() + 1 for message in found]
                return Positioned(MadeWhenRead(record_of, found, records_of), ends)
            assert rung is not None
            await rung.wait()

    async def commit(self, position: int, /) -> None:
        """Commit the offset, if the partition is still ours."""
        told = self._dealer.intake.ask_commit({self.place: position})
        with self._dealer.lock:
            self._dealer.lock.notify()
        await asyncio.wrap_future(told)

    async def close(self) -> None:
        """Read no more of it; the partition stays paused."""
        with self._dealer.lock:
            self._waiting.clear()
            if self.flowing:
                self._dealer.wanted[self.place] = True
            self.paused = self._ended = True
            self._dealer.lock.notify()
            self._dealer.open_lanes -= 1
        await self._dealer.leave()


__all__ = ["KafkaPartition", "partitions"]
