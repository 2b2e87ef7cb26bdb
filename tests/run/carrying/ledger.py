"""ledger: a source of the numbers from 1 on that writes down what it gave and what it was told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from penstock import Stream

WAIT = 60


class Ledger:
    """A source for tests: its elements are their own positions."""

    def __init__(self, count: int, *, of: Any = None) -> None:
        self.count = count
        self.of = of or int
        self.opened: list[int | None] = []
        self.given = 0
        self.told: list[int] = []
        self.changed = threading.Condition()

    def stream(self, window: int = 100) -> Stream[Any]:
        return Stream.resumable(self.pairs, self.commit, window=window)

    def pairs(self, after: int | None) -> Iterator[tuple[int, Any]]:
        self.opened.append(after)
        for number in range((after or 0) + 1, self.count + 1):
            self.given = number
            yield number, self.of(number)

    def commit(self, position: int) -> None:
        with self.changed:
            self.told.append(position)
            self.changed.notify_all()

    @property
    def last(self) -> int:
        return self.told[-1] if self.told else 0

    def wait_for(self, position: int) -> None:
        """Wait until it was told of a position."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.last == position, WAIT), self.told
