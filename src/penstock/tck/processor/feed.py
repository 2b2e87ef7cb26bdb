"""feed: the publisher that the kit puts above a processor to verify what comes out below."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.spec.element_count import asked_for
from penstock.spec.interfaces import Subscriber
from penstock.spec.shown import shown
from penstock.tck.planned import PlannedFailure

_ENDLESS = 20_000  # a processor that asks without bound must not run the kit out of memory


class NumberFeed:
    """A feed of numbered elements to one subscriber as it asks, on whatever thread it asks, then the end.

    Signals are serial and do not nest: a thread that finds the feed at work leaves its demand to the thread that works.
    """

    def __init__(
        self,
        element: Callable[[int], Any],
        count: int | None,
        error: Exception | None = None,
        let_go: Callable[[], object] | None = None,
    ) -> None:
        self._element = element
        self._count = _ENDLESS if count is None else count
        self._ends = count is not None
        self._error = error
        self._let_go = let_go
        self._subscriber: Subscriber[Any] | None = None
        self._lock = threading.Lock()
        self._demand = 0
        self._sent = 0
        self._working = False
        self.raised = ""
        """What came of a signal that raised, against rule 2.13."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Send on_subscribe, and what is asked for meanwhile once that has returned."""
        self._subscriber = subscriber
        self._working = True
        self._send("on_subscribe", lambda: subscriber.on_subscribe(self))
        self._work()

    def request(self, n: int, /) -> None:
        """Send `n` more elements."""
        asked = asked_for(n)
        with self._lock:
            if asked < 1:
                self._error = ValueError(f"rule 3.9: request({n}): a request must be positive")
                self._count, self._ends = 0, True
            self._demand += asked
            if self._working:
                return
            self._working = True
        self._work()

    def cancel(self) -> None:
        """Send nothing more."""
        self._part()

    def _part(self) -> None:
        self._subscriber = None
        if self._let_go is not None:
            self._let_go()

    def finish(self) -> None:
        """Complete what was left open, so that the subscriber can let go of what it holds."""
        with self._lock:
            self._count, self._ends, self._error = 0, True, None
            if self._working:
                return
            self._working = True
        self._work()

    def _work(self) -> None:
        while (signal := self._next_signal()) is not None:
            self._send(*signal)
            if self._subscriber is None:
                self._part()

    def _send(self, name: str, call: Callable[[], object]) -> None:
        """Make a signal; a subscriber that raises has cancelled, and what it raised is none of its caller's affair."""
        try:
            call()
        except Exception as error:
            if not isinstance(error, PlannedFailure):  # which it let pass from below
                self.raised = self.raised or f"{name} raised {shown(error)}"
            self._part()

    def _next_signal(self) -> tuple[str, Callable[[], object]] | None:
        with self._lock:
            subscriber = self._subscriber
            if subscriber is not None and self._sent < self._count and self._demand > 0:
                element = self._element(self._sent)
                self._sent += 1
                self._demand -= 1
                return "on_next", lambda: subscriber.on_next(element)
            if subscriber is not None and self._sent >= self._count and self._ends:
                self._subscriber = None
                error = self._error
                if error is None:
                    return "on_complete", subscriber.on_complete
                return "on_error", lambda: subscriber.on_error(error)
            self._working = False
            return None
