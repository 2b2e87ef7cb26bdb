"""substreams: the partitions of topics, each as a stream of its own with its own demand.

One consumer reads them all on one thread and hands each record to its partition's queue. A partition is paused while
its queue is full or no demand came yet, and goes on when half of the queue was taken; what the client had fetched ahead
of it is then fetched again, which is the price of one connection for all.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from confluent_kafka import Message

from penstock.connectors.kafka.intake import Intake, Reading, Start
from penstock.connectors.kafka.positions import Place
from penstock.connectors.kafka.record import Record
from penstock.connectors.kafka.topics import HELD, HELD_KBYTES, place_of, settled, topics_given
from penstock.connectors.reading import MOST, feeding, reading
from penstock.engine.words.arguments import count_given
from penstock.stream import Stream


@dataclass(frozen=True, slots=True)
class Partition:
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
    queue: int = MOST,
    held: int = HELD,
    held_kbytes: int = HELD_KBYTES,
    options: Mapping[str, Any] | None = None,
) -> Stream[Partition]:
    """Emit the partitions of topics as they come to this consumer, each with a stream of its records.

    A partition whose records are not asked for is paused, and holds up no other. Its stream ends when another member of
    the group gets it. A pipeline that is run over the records of one partition commits its offsets.
    Backpressures by pausing a partition when `queue` records of it wait here, and as many again of one call at most.

    Args:
        topics: One topic or several; with a group also patterns, which begin with `^`.
        servers: The brokers, as `host:port`.
        group: The group that shares the partitions, and in whose name offsets are committed. Without one, all
            partitions are read, and nothing is committed.
        start: Where a partition begins that has no committed offset.
        live: Whether to wait for more at the end of a partition; if not, its stream ends there.
        queue: How many records of a partition wait here before it is paused.
        held: How many records of each partition the client fetches ahead.
        held_kbytes: How many kilobytes the client fetches ahead, of all partitions together.
        options: Other settings of librdkafka, such as `security.protocol`.

    Raises:
        TypeError: A number is none.
        ValueError: A number is below 1, a name is empty, or an option is set that an argument is for.
    """
    names = topics_given(topics, group)
    count_given("kafka", "queue", queue, 1)
    return feeding(
        OpenPartitions(names, settled(servers, group, start, live, queue, held, held_kbytes, options), queue)
    )


@dataclass(frozen=True, slots=True)
class OpenPartitions:
    """What a run over partitions is opened by; a value that pickles."""

    topics: tuple[str, ...]
    how: Reading
    queue: int

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
        self.lock = threading.Lock()
        self.intake = Intake(how.how, self._assigned, self._revoked)
        self._thread = threading.Thread(target=self._run, name="penstock-kafka", daemon=True)
        self._lanes: dict[Place, Lane] = {}
        self._new: deque[Lane] = deque()
        self._bell = _Bell()
        self._gone = threading.Event()
        self._over = self._closed = False
        self._failure: Exception | None = None
        self.open_lanes = 0

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    # As a feed of partitions, on the loop.

    async def fetch(self, most: int, /) -> Sequence[Partition] | None:
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

    def enter(self, lane: Lane) -> None:
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
                self._deal(self.intake.take(self._how.queue))
        except Exception as error:  # noqa: BLE001  told to all that read
            failure = error
        with self.lock:
            self._over = True
            self._failure = failure
            self._bell.ring()
            for lane in self._lanes.values():
                lane.end(failure)
        self.intake.stopping.wait()  # commits may follow the last record
        try:
            self.intake.close()
        finally:
            self._gone.set()

    def _deal(self, messages: list[Message]) -> None:
        full: list[Place] = []
        place: Any
        with self.lock:
            for place, run in groupby(messages, place_of):
                lane = self._lanes.get(place)
                if lane is not None and lane.take_in(list(run)):
                    full.append(place)
            for place in self.intake.ended_places:
                if place in self._lanes:
                    self._lanes[place].end(None)
        if full:
            self.intake.pause(full)

    def _assigned(self, places: list[Place]) -> None:
        self.intake.pause(places)  # until they are asked for
        with self.lock:
            for place in places:
                lane = self._lanes[place] = Lane(self, place, self._how.queue)
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


class Lane:
    """The queue of one partition; a reader of its records. Its state changes under the dealer's lock."""

    def __init__(self, dealer: Dealer, place: Place, size: int) -> None:
        self._dealer = dealer
        self.place = place
        self._size = size
        self._waiting: deque[Message] = deque()
        self._bell = _Bell()
        self._paused = True
        self._ended = False
        self._failure: Exception | None = None
        self.entered = False

    def partition(self) -> Partition:
        """Return it as what users see."""
        return Partition(*self.place, reading(self._opened, most=self._size))

    async def _opened(self, after: int | None) -> Lane:
        if after is not None:
            raise ValueError("kafka: a partition of a group cannot be opened behind a position; use kafka.partition")
        self._dealer.enter(self)
        return self

    def take_in(self, messages: list[Message]) -> bool:
        """Take messages, and tell whether the partition is to be paused."""
        self._waiting.extend(messages)
        self._bell.ring()
        full = len(self._waiting) >= self._size and not self._paused
        self._paused = self._paused or full
        return full

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
                over = not found and self._ended
                rung = None if found or over else self._bell.listen()
                resume = self._paused and not self._ended and len(self._waiting) <= self._size // 2
                if resume:
                    self._paused = False
            if resume:
                self._dealer.intake.resume([self.place])
            if over:
                if self._failure is not None:
                    raise self._failure
                return None
            if found:
                self._dealer.intake.ledger.gave(self.place, found[0].offset(), found[-1].offset() + 1)
                return [(message.offset() + 1, Record(message)) for message in found]
            assert rung is not None
            await rung.wait()

    async def commit(self, position: int, /) -> None:
        """Commit the offset, if the partition is still ours."""
        await asyncio.to_thread(self._dealer.intake.commit, {self.place: position})

    async def close(self) -> None:
        """Read no more of it; the partition stays paused."""
        with self._dealer.lock:
            self._waiting.clear()
            pause = not self._paused and not self._ended
            self._paused = self._ended = True
            self._dealer.open_lanes -= 1
        if pause:
            self._dealer.intake.pause([self.place])
        await self._dealer.leave()


__all__ = ["Partition", "partitions"]
