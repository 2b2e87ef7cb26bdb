"""blackbox: how far the kit reaches into a subscriber of which it sees only the calls on its subscription."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.spec.interfaces import Subscriber
from penstock.tck.environment import NotApplicable

Hook = Callable[[Any], object]


class Outside:
    """The reach from outside: only how to make the subscriber ask and stop, if even that was told."""

    sees = False
    attached = True
    asks_its_own_way = True
    cancels = True

    def __init__(self, subject: Subscriber[Any], trigger: Hook | None, stop: Hook | None) -> None:
        self.processed_elements: list[Any] = []
        self.ends: list[object] = []
        self.ended_after: list[int] = []
        self._subject = subject
        self._trigger = trigger
        self._stop = stop

    def trigger_request(self, n: int) -> None:
        """Call the hook that makes the subscriber ask, once for each element, if one was given."""
        if self._trigger is not None:
            for _ in range(n):
                self._trigger(self._subject)

    def trigger_cancel(self) -> None:
        """Call the hook that makes the subscriber want no more, or bow out."""
        self.stop_wanting()

    def stop_wanting(self) -> None:
        """Call the hook that makes the subscriber want no more, or bow out."""
        if self._stop is None:
            raise NotApplicable("no hook was given that makes it stop wanting elements")
        self._stop(self._subject)

    def hold(self) -> None:
        """Bow out: processing cannot be seen from outside."""
        raise NotApplicable("its processing cannot be held up from outside: verify it whitebox")

    def release(self) -> None:
        """Do nothing, as nothing was held."""

    def abandon(self) -> None:
        """Do nothing, as its stream has ended."""
