"""link: what stands between a run and the one who asks it for elements, whichever of the two is there first."""

from __future__ import annotations

from threading import Lock
from typing import Any

from penstock.spec.element_count import UNBOUNDED, asked_for
from penstock.spec.interfaces import Subscription


class Link:
    """A way for demand and a cancel to a run, which may begin later; it refers only to the run."""

    __slots__ = ("_illegal", "_lock", "_pending", "_subscription", "over")

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscription: Subscription | None = None
        self._pending = 0
        self._illegal: list[Any] = []
        self.over = False

    def begin(self, subscription: Subscription) -> None:
        """Take the run's subscription, which another thread may bring late, and pass on what has come meanwhile."""
        with self._lock:
            over, pending, illegal = self.over, self._pending, self._illegal
            if not over:
                self._subscription = subscription
        if over:
            subscription.cancel()
            return
        for n in (*([pending] if pending else ()), *illegal):
            subscription.request(n)

    def request(self, n: int) -> None:
        """Pass demand on, or keep it; of illegal requests the first is kept, since it ends the run."""
        with self._lock:
            subscription = self._subscription
            if self.over:
                return
            if subscription is None:
                if (asked := asked_for(n)) > 0:
                    self._pending = min(self._pending + asked, UNBOUNDED)
                elif not self._illegal:
                    self._illegal.append(n)
        if subscription is not None:
            subscription.request(n)

    def cancel(self) -> None:
        """End the run without a signal."""
        subscription = self.end()
        if subscription is not None:
            subscription.cancel()

    def end(self) -> Subscription | None:
        """Let go of a run that is over."""
        with self._lock:
            self.over = True
            subscription, self._subscription = self._subscription, None
        return subscription
