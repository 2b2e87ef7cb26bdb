"""asker: a subscriber that asks only when told and lets a test wait for what comes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.spec.interfaces import Subscription

WAIT = 120.0


class Asker:
    """Record signals; `on_row` runs inside each on_next."""

    subscription: Subscription

    def __init__(self, on_row: Callable[[Any], None] | None = None) -> None:
        self.changed = threading.Condition()
        self.rows: list[Any] = []
        self.ends: list[Any] = []
        self._on_row = on_row

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = subscription

    def on_next(self, element: Any, /) -> None:
        with self.changed:
            self.rows.append(element)
            self.changed.notify_all()
        if self._on_row is not None:
            self._on_row(element)

    def on_error(self, error: Exception, /) -> None:
        self._end(error)

    def on_complete(self) -> None:
        self._end("complete")

    def _end(self, end: Any) -> None:
        with self.changed:
            self.ends.append(end)
            self.changed.notify_all()

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait until something holds, looked at after every signal, or the stream has ended."""
        with self.changed:
            assert self.changed.wait_for(lambda: ready() or bool(self.ends), WAIT), (len(self.rows), self.ends)
            assert ready(), (len(self.rows), self.ends)

    def until_end(self) -> Any:
        """Wait for the end and return it: an error, or "complete"."""
        self.until(lambda: bool(self.ends))
        return self.ends[0]

    def ask(self, count: int) -> None:
        """Ask for rows and wait until they are here."""
        due = len(self.rows) + count
        self.subscription.request(count)
        self.until(lambda: len(self.rows) >= due)
