"""model: a broker of the tests' own, which keeps what Kafka's description says of transactions and groups.

No broker with transactions was found in the package registries, and librdkafka's mock cluster confirms them without
keeping them. So this one stands in: producers have epochs, and an older one is refused; a transaction ends in each of
its partitions with a control record; readers of committed records get no further than the first open one, and are told
which were aborted; the offsets of a transaction count when it is committed, and only for a member of the group's
present generation. It is a model: what it shows is that penstock and librdkafka keep their side of that.
"""

from __future__ import annotations

import socketserver
import struct
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar

from tests.connectors.kafka.model_groups import Groups
from tests.connectors.kafka.model_logs import Log, Place, Transactional
from tests.connectors.kafka.wire import Answer, Asked, Batch

T = TypeVar("T")
PARTITIONS = 4
_last = attrgetter("last")
INVALID_EPOCH, INVALID_STATE, UNSTABLE = 47, 48, 88


class _Server(socketserver.ThreadingTCPServer):
    """A socket on loopback whose connections have a thread each."""

    daemon_threads = True


class ModelBroker:
    """The only broker of a cluster."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._logs: dict[Place, Log] = {}
        self._topics: set[str] = set()
        self._names: dict[str, Transactional] = {}
        self._latest: dict[tuple[int, Place], Batch] = {}
        self._count = 0
        self.groups = groups = Groups(self._changed)
        self.ended: list[tuple[str, bool]] = []
        """The transactions that have ended: their names, and whether they were committed."""
        self.on_produce: Callable[[], object] = bool
        """What is called when records have been taken in, before the client is told."""
        self.refused = 0
        """How many requests were refused because their producer's epoch, or member's generation, is over."""
        self._handlers: dict[int, tuple[int, Callable[[Asked, Answer, int], None]]] = {
            0: (3, self._produce),
            1: (4, self._fetch),
            2: (2, self._list_offsets),
            3: (1, self._metadata),
            8: (2, self._offset_commit),
            9: (7, self._offset_fetch),
            10: (1, self._find_coordinator),
            11: (1, groups.join),
            12: (0, groups.heartbeat),
            13: (0, groups.leave),
            14: (0, groups.sync),
            18: (0, self._versions),
            22: (1, self._init_producer),
            24: (0, self._add_partitions),
            25: (0, self._add_offsets),
            26: (1, self._end_transaction),
            28: (3, self._offsets_of_transaction),
        }
        answered = self._answered

        class Connection(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):  # a client was killed
                    while len(head := self.rfile.read(4)) == 4:
                        answer = answered(self.rfile.read(*struct.unpack(">i", head)))
                        self.wfile.write(struct.pack(">i", len(answer)) + answer)

        self._server = _Server(("127.0.0.1", 0), Connection)
        self._port = int(self._server.server_address[1])
        self.servers = f"127.0.0.1:{self._port}"
        threading.Thread(target=self._server.serve_forever, name="model-broker", daemon=True).start()

    def stop(self) -> None:
        """End it."""
        with self._server:
            self._server.shutdown()

    def create(self, topic: str) -> None:
        """Make a topic, as asking for it does."""
        with self._changed:
            self._made(topic)

    def _made(self, topic: str) -> None:
        self._topics.add(topic)
        self._logs = {(topic, number): Log() for number in range(PARTITIONS)} | self._logs

    def committed(self, topic: str, group: str) -> list[int]:
        """Return the committed offset of each partition, 0 where there is none."""
        with self._changed:
            return [self.groups.offsets[group].get((topic, number), 0) for number in range(PARTITIONS)]

    def give_up(self, group: str) -> None:
        """Take the members of a group for dead, as when their sessions have timed out."""
        with self._changed:
            self.groups.give_up(group)

    def forget(self, group: str) -> None:
        """Lose the members of a group and, for now, what it has committed, as an old broker does when it begins."""
        with self._changed:
            self.groups.forget(group)

    def held(self, topic: str) -> int:
        """Return how many records a topic holds, whether readers see them or not; control records do not count."""
        with self._changed:
            logs = [self._logs[topic, number] for number in range(PARTITIONS)]
            return sum(batch.count for log in logs for batch in log.batches if not batch.control)

    def _answered(self, request: bytes) -> bytes:
        key, version, number = struct.unpack(">hhi", request[:8])
        flexible = (key, version) in ((9, 6), (9, 7), (28, 3))
        asked, answer = Asked(request[8:], flexible=flexible), Answer(flexible=flexible)
        asked.text(short=True)  # the client's name
        _, handle = self._handlers[key]
        with self._changed:
            if key != 18:
                asked.end()
                self._end_late_ones()
            handle(asked, answer, version)
            self._changed.notify_all()
        return struct.pack(">i", number) + (b"\0" if flexible else b"") + answer.whole()

    def _versions(self, _: Asked, answer: Answer, version: int) -> None:
        answer.numbers("h", 35 if version else 0)
        answer.several(self._handlers.items(), lambda one: answer.numbers("hhh", one[0], 0, one[1][0]))

    @staticmethod
    def _by_place(asked: Asked, read: Callable[[Place], T]) -> list[tuple[str, list[T]]]:
        """Read what is asked of each partition of each topic."""

        def topic() -> tuple[str, list[T]]:
            name = asked.text()
            found = asked.several(lambda: read((name, asked.int32())))
            asked.end()
            return name, found or []

        return asked.several(topic) or []

    @staticmethod
    def _told(answer: Answer, found: list[tuple[str, list[T]]], write: Callable[[T], Any]) -> None:
        """Write the answer for each partition of each topic."""
        answer.several(found, lambda one: answer.text(one[0]).several(one[1], write).end())

    # What is where.

    def _this_one(self, answer: Answer) -> Answer:
        return answer.numbers("i", 0).text("127.0.0.1").numbers("i", self._port)

    def _metadata(self, asked: Asked, answer: Answer, _: int) -> None:
        named = asked.several(asked.text)
        for name in named or ():
            self._made(name)
        answer.several([0], lambda _: self._this_one(answer).text(None)).numbers("i", 0)

        def partition(number: int) -> None:
            answer.numbers("hiiiiii", 0, number, 0, 1, 0, 1, 0)

        answer.several(
            sorted(self._topics) if named is None else named,
            lambda name: answer.numbers("h", 0).text(name).numbers("b", 0).several(range(PARTITIONS), partition),
        )

    def _find_coordinator(self, _: Asked, answer: Answer, __: int) -> None:
        self._this_one(answer.numbers("ih", 0, 0).text(None))

    def _list_offsets(self, asked: Asked, answer: Answer, version: int) -> None:
        asked.int32()
        committed = version >= 2 and asked.int8() == 1

        def read(place: Place) -> tuple[int, int]:
            first = asked.int64() == -2
            return place[1], 0 if first else self._logs[place].limit(committed=committed)

        found = self._by_place(asked, read)
        if version >= 2:
            answer.numbers("i", 0)
        self._told(answer, found, lambda one: answer.numbers("ihqq", one[0], 0, -1, one[1]))

    # Records.

    def _produce(self, asked: Asked, answer: Answer, _: int) -> None:
        name = asked.text()
        asked.int16(), asked.int32()  # every record is kept before the answer, however long that takes
        found = self._by_place(asked, lambda place: (place[1], *self._appended(name, place, asked.data())))
        self._told(answer, found, lambda one: answer.numbers("ihqq", *one, -1))
        answer.numbers("i", 0)
        self.on_produce()

    def _appended(self, name: str, place: Place, data: bytes) -> tuple[int, int]:
        log = self._logs[place]
        batch = Batch.placed(data, log.end)
        if batch.transactional:
            error = self._lacks(name, batch.producer, batch.epoch)
            if error or place not in self._names[name].places:
                return error or INVALID_STATE, -1
            log.open.setdefault(batch.producer, batch.first)
        before = self._latest.get((batch.producer, place))
        if batch.producer >= 0 and before is not None and before.epoch == batch.epoch:
            if before.sequence == batch.sequence:
                return 0, before.first  # sent again after a lost answer
            assert batch.sequence == before.sequence + before.count, "a sequence number is missing"
        self._latest[batch.producer, place] = batch
        log.batches.append(batch)
        return 0, batch.first

    def _fetch(self, asked: Asked, answer: Answer, _: int) -> None:
        asked.int32()
        wait, _least, _most = asked.int32(), asked.int32(), asked.int32()
        committed = asked.int8() == 1
        wanted = self._by_place(asked, lambda place: (place, asked.int64(), asked.int32()))

        def more() -> bool:
            return any(self._logs[place].limit(committed=committed) > at for _, ones in wanted for place, at, _ in ones)

        self._changed.wait_for(more, wait / 1000)

        def partition(one: tuple[Place, int, int]) -> None:
            place, offset, size = one
            log = self._logs[place]
            end, data = log.limit(committed=committed), b""
            for batch in islice(log.batches, bisect_left(log.batches, offset, key=_last), None):
                if batch.last >= end or len(data) >= size:
                    break
                data += batch.data
            answer.numbers("ihqq", place[1], 0, log.end, log.limit(committed=True))
            gone = [each for each in log.aborted if each[2] >= offset] if committed else []
            answer.several(gone, lambda each: answer.numbers("qq", each[0], each[1])).data(data)

        answer.numbers("i", 0)
        self._told(answer, wanted, partition)

    # Transactions.

    def _lacks(self, name: str, producer: int, epoch: int) -> int:
        """Return why a producer may not go on with a transaction, 0 if it may."""
        owner = self._names.get(name)
        if owner is not None and (producer, epoch) == (owner.producer, owner.epoch):
            return 0
        self.refused += 1
        return INVALID_EPOCH

    def _init_producer(self, asked: Asked, answer: Answer, _: int) -> None:
        name, timeout = asked.text(), asked.int32() / 1000
        if name in self._names:
            owner = self._names[name]
            self._end(name, committed=False)
            owner.epoch, owner.timeout = owner.epoch + 1, timeout
        else:
            self._count += 1
            owner = Transactional(self._count, 0, timeout)
            if name:
                self._names[name] = owner
        answer.numbers("ihqh", 0, 0, owner.producer, owner.epoch)

    def _asked_by(self, asked: Asked) -> tuple[Transactional | None, int]:
        """Read the name and the producer of a request; return the transaction, which may begin by it."""
        name = asked.text()
        error = self._lacks(name, asked.int64(), asked.int16())
        if error:
            return None, error
        owner = self._names[name]
        owner.begun = owner.begun or time.monotonic()
        return owner, 0

    def _add_partitions(self, asked: Asked, answer: Answer, _: int) -> None:
        owner, error = self._asked_by(asked)
        found = self._by_place(asked, lambda place: place)
        if owner is not None:
            owner.places.update(place for _, places in found for place in places)
        answer.numbers("i", 0)
        self._told(answer, found, lambda place: answer.numbers("ih", place[1], error))

    def _add_offsets(self, asked: Asked, answer: Answer, _: int) -> None:
        _owner, error = self._asked_by(asked)
        answer.numbers("ih", 0, error)

    def _offsets_of_transaction(self, asked: Asked, answer: Answer, version: int) -> None:
        name, group = asked.text(), asked.text()
        error = self._lacks(name, asked.int64(), asked.int16())
        if version >= 3:
            generation, member = asked.int32(), asked.text()
            asked.text()
            late = self.groups.lacks(group, member, generation)
            self.refused += bool(late)
            error = error or late

        def read(place: Place) -> Place:
            offset = asked.int64()
            if version >= 2:
                asked.int32()
            asked.text()
            asked.end()
            if not error:
                self._names[name].offsets[group][place] = offset
            return place

        found = self._by_place(asked, read)
        answer.numbers("i", 0)
        self._told(answer, found, lambda place: answer.numbers("ih", place[1], error).end())
        answer.end()

    def _end_transaction(self, asked: Asked, answer: Answer, _: int) -> None:
        name = asked.text()
        error = self._lacks(name, asked.int64(), asked.int16())
        if not error:
            self._end(name, committed=asked.int8() == 1)
        answer.numbers("ih", 0, error)

    def _end(self, name: str, *, committed: bool) -> None:
        owner = self._names[name]
        if owner.begun is None:
            return
        for place in owner.places:
            log = self._logs[place]
            first = log.open.pop(owner.producer, None)
            if first is not None:
                if not committed:
                    log.aborted.append((owner.producer, first, log.end))
                now = int(time.time() * 1000)
                log.batches.append(Batch.ending(log.end, owner.producer, owner.epoch, now, committed=committed))
        if committed:
            for group, offsets in owner.offsets.items():
                self.groups.offsets[group].update(offsets)
        owner.begun, owner.places, owner.offsets = None, set(), defaultdict(dict)
        self.ended.append((name, committed))

    def _end_late_ones(self) -> None:
        for name, owner in self._names.items():
            if owner.begun is not None and time.monotonic() - owner.begun > owner.timeout:
                self._end(name, committed=False)
                owner.epoch += 1

    # Offsets.

    def _offset_commit(self, asked: Asked, answer: Answer, _: int) -> None:
        group, generation, member, _kept = asked.text(), asked.int32(), asked.text(), asked.int64()
        error = self.groups.lacks(group, member, generation)

        def read(place: Place) -> Place:
            offset = asked.int64()
            asked.text()
            if not error:
                self.groups.offsets[group][place] = offset
            return place

        self._told(answer, self._by_place(asked, read), lambda place: answer.numbers("ih", place[1], error))

    def _offset_fetch(self, asked: Asked, answer: Answer, version: int) -> None:
        group = asked.text()
        found = self._by_place(asked, lambda place: place)
        stable = version >= 7 and asked.int8() == 1
        waiting = [owner.offsets.get(group, {}) for owner in self._names.values() if stable]
        pending = {place for offsets in waiting for place in offsets}
        if version >= 3:
            answer.numbers("i", 0)

        def partition(place: Place) -> None:
            answer.numbers("iq", place[1], self.groups.offsets[group].get(place, -1))
            if version >= 5:
                answer.numbers("i", -1)
            answer.text("").numbers("h", UNSTABLE if place in pending else 0).end()

        self._told(answer, found, partition)
        if version >= 2:
            answer.numbers("h", 0)
        answer.end()


__all__ = ["PARTITIONS", "ModelBroker"]
