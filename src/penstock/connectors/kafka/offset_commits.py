"""offset_commits: the commits of a consumer; they are asked for from any thread and made on the consumer's.

The client lets one call in at a time: a commit beside a call that waits for messages waits as long, and one beside the
callback of a rebalance until that has returned. So commits are made between two calls, and while a partition that is to
go waits for what was given of it. One that is asked for while messages are taken is sent with the next call for them,
and the answer comes in one after that, so that nothing waits for the brokers; where no such call follows, or the answer
is an error, it is made again and waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.connectors.kafka.consumer_settings import ConsumerSettings
from penstock.connectors.kafka.done_offsets import DoneOffsets
from penstock.connectors.kafka.link import LOGGER, passes, told
from penstock.connectors.kafka.positions import Place

COMMIT_SECONDS = 30.0
"""How long a commit is tried again while the brokers are away."""
_STALE = {KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.REBALANCE_IN_PROGRESS}


@dataclass(slots=True)
class _SentCommit:
    """A commit that is on its way to the brokers."""

    offsets: dict[Place, int]
    asked: list[Future[None]]
    """Who is told that it has come."""
    failed: bool = False


class OffsetCommits:
    """The commits of one consumer."""

    def __init__(self, how: ConsumerSettings) -> None:
        self.how = how
        """What is read, and how."""
        self.stopping = Event()
        """Set when the run is over, so that calls end soon that wait."""
        self.ledger = DoneOffsets()
        self._consumer: Any = None
        self._commits: SimpleQueue[tuple[Mapping[Place, int], Future[None]]] = SimpleQueue()
        self._sent: _SentCommit | None = None

    @property
    def unanswered(self) -> bool:
        """Tell whether a commit was asked for that has not come to its end."""
        return self._sent is not None or not self._commits.empty()

    def ask_commit(self, offsets: Mapping[Place, int]) -> Future[None]:
        """Have the group told what is done, with the next `commit_asked`; from any thread."""
        told: Future[None] = Future()
        self._commits.put((offsets, told))
        return told

    def commit_asked(self, wait: float = 0.0) -> None:
        """Make the commits that were asked for, waiting a little for the first, and for the brokers."""
        sent, self._sent = self._sent, None
        if sent is not None:  # its end will not be heard of, or it has failed
            self._settle(sent.offsets, sent.asked)
            wait = 0.0
        try:
            while True:
                offsets, told = self._commits.get(timeout=wait) if wait else self._commits.get_nowait()
                wait = 0.0
                if told.set_running_or_notify_cancel():
                    self._settle(offsets, [told])
        except Empty:
            return

    def _settle(self, offsets: Mapping[Place, int], asked: list[Future[None]]) -> None:
        """Commit offsets, wait for it, and tell those who have asked for it."""
        failure: Exception | None = None
        try:
            self._commit(offsets)
        except Exception as error:  # noqa: BLE001  told to the run
            failure = error
        for future in asked:
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)

    def send_asked(self) -> None:
        """Send the commits that were asked for as one; the answer comes while messages are taken."""
        if self._sent is not None:
            if self._sent.failed:
                self.commit_asked()
            return
        if self._commits.empty():
            return
        offsets: dict[Place, int] = {}
        asked: list[Future[None]] = []
        while not self._commits.empty():  # taken from on this thread alone
            more, told = self._commits.get()
            if told.set_running_or_notify_cancel():
                offsets.update(more)
                asked.append(told)
        found = self.ledger.done(offsets)
        if not found or self.how.group is None:
            self._settle(found, asked)
            return
        self._sent = _SentCommit(found, asked)
        try:
            self._consumer.commit(offsets=_given(found), asynchronous=True)
        except KafkaException:
            self.commit_asked()

    def _answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Be told what became of a commit; called by the client, inside a call for messages."""
        sent = self._sent
        if sent is None or sent.offsets != {(one.topic, one.partition): one.offset for one in partitions}:
            return  # it was made again meanwhile
        if error is not None or any(one.error is not None for one in partitions):
            sent.failed = True
            return
        self._sent = None
        self.ledger.committed(sent.offsets)
        for future in sent.asked:
            future.set_result(None)

    def _commit(self, offsets: Mapping[Place, int]) -> None:
        found = self.ledger.done(offsets)
        if not found:
            return
        if self.how.group is not None:
            try:
                self._patiently(lambda: self._consumer.commit(offsets=_given(found), asynchronous=False))
            except KafkaException as error:
                if error.args[0].code() in _STALE:
                    LOGGER.info("not ours any more: %s", error)  # the next holder reads it again
                    return
                raise told(error.args[0], self.how.link, f"commit of {found}") from error
        self.ledger.committed(found)

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """Make a call again while the brokers are away."""
        deadline = time.monotonic() + COMMIT_SECONDS
        while True:
            try:
                return call()
            except KafkaException as error:
                if not passes(error.args[0]) or error.args[0].code() in _STALE or time.monotonic() > deadline:
                    raise
                if self.stopping.wait(0.1):
                    raise


def _given(offsets: Mapping[Place, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]


__all__ = ["OffsetCommits"]
