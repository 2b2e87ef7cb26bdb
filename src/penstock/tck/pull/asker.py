"""asker: a consumer whose every request is made by a trial, and who writes down every answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.spec.pull_error import PullError
from penstock.spec.pull_interfaces import Abort, Answer, End, Read, end_of
from penstock.tck.environment import Environment
from penstock.tck.planned import PlannedFailure
from penstock.tck.probe import Runaway
from penstock.tck.pull.checker import PullChecker


@dataclass(frozen=True, slots=True)
class Reply:
    """The record of one answer: the number of its request, and an end or a value."""

    number: int
    end: End | None
    value: Any = None


class AnswerRaisedError(PlannedFailure):
    """The error that an answer function raises when a trial wants it to."""


def depth() -> int:
    """Return how many frames are on the stack."""
    frame, count = sys._getframe(), 0
    while frame.f_back is not None:
        frame, count = frame.f_back, count + 1
    return count


class Asker:
    """A reader that asks and aborts as told; what breaks the protocol is noted as a breach of its property."""

    def __init__(
        self,
        environment: Environment,
        read: Read,
        *,
        checked: bool = True,
        on_answer: Callable[[Asker, Reply], object] | None = None,
    ) -> None:
        self._environment = environment
        self._read = PullChecker(on_fault=self._blame).watch(read) if checked else read
        self._on_answer = on_answer
        self.replies: list[Reply] = []
        self.requests = 0
        self.asks = 0
        self.open = 0
        """How many requests wait for their answer."""
        self.deepest = 0

    def _blame(self, fault: PullError) -> None:
        self._environment.breach(fault.property_id, str(fault).partition(": ")[2])

    @property
    def values(self) -> list[Any]:
        """Return the values, in the order in which they came."""
        return [reply.value for reply in self.replies if reply.end is None]

    @property
    def by_request(self) -> list[Any]:
        """Return the values in the order of their requests, the first answer of each."""
        first = {reply.number: reply for reply in reversed(self.replies)}
        return [first[number].value for number in sorted(first) if first[number].end is None]

    @property
    def ends(self) -> list[End]:
        """Return the ends, in the order in which they came."""
        return [reply.end for reply in self.replies if reply.end is not None]

    def reply_to(self, number: int) -> Reply | None:
        """Return the answer to the request of that number, if it has come."""
        return next((reply for reply in self.replies if reply.number == number), None)

    def ask(self, count: int = 1) -> None:
        """Ask so many times, whether or not answers come."""
        for _ in range(count):
            self.asks += 1
            self._request(None)

    def abort(self, reason: End = True) -> int:
        """Abort, and return the number of the request."""
        self._request(reason)
        return self.requests

    def indicate(self, reason: End = True) -> None:
        """Abort without an answer function."""
        self.requests += 1
        self._read(reason)

    def loop(self, most: int) -> None:
        """Ask as long as answers come at once, in a loop, up to so many times."""
        while self.asks < most and not self.ends:
            self.ask()
            if self.open:
                break

    def _request(self, abort: Abort) -> None:
        if self._environment.stuck:
            raise Runaway
        self.requests += 1
        self.open += 1
        self._read(abort, self._answer(self.requests))

    def _answer(self, number: int) -> Answer:
        def answered(end: bool | Exception | None, value: Any = None, /) -> None:
            if self._environment.stuck:
                raise Runaway
            self.open -= 1
            reply = Reply(number, end_of(end), value)
            self.replies.append(reply)
            self.deepest = max(self.deepest, depth())
            self._environment.pulse()
            if self._on_answer is not None:
                self._on_answer(self, reply)

        return answered
