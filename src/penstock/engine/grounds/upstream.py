"""upstream: a subscription from before it comes until it is let go of.

A cancel may come first, from a subscriber inside of `on_subscribe` or from another thread. Then the subscription is
cancelled when it comes, so no subscription is left open.
"""

from __future__ import annotations

from threading import Lock

from penstock.engine.grounds.outlet import element_or_raise
from penstock.spec.interfaces import Subscription


class Upstream:
    """The holder of a subscriber's one subscription."""

    __slots__ = ("_lock", "_subscription", "over")

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscription: Subscription | None = None
        self.over = False
        """Whether it has ended or was cancelled."""

    @property
    def here(self) -> bool:
        """Tell whether there is anything to ask."""
        return self._subscription is not None

    def take(self, subscription: Subscription) -> bool:
        """Hold a subscription, or cancel a second one, or one that comes after the end (rule 2.5); tell which."""
        element_or_raise(subscription, "on_subscribe")
        with self._lock:
            takes = self._subscription is None and not self.over
            if takes:
                self._subscription = subscription
        if not takes:
            subscription.cancel()
        return takes

    def request(self, n: int) -> None:
        """Ask for `n` elements, if there is anything to ask."""
        subscription = self._subscription
        if subscription is not None:
            subscription.request(n)

    def ends(self) -> bool:
        """Be over; tell whether it was not before."""
        with self._lock:
            ends, self.over = not self.over, True
            self._subscription = None
        return ends

    def cancel(self) -> None:
        """Cancel what is there, or what is to come."""
        with self._lock:
            self.over = True
            subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.cancel()


class UpstreamWindow(Upstream):
    """An upstream that is asked for a window of elements once, and again when half of them was taken."""

    __slots__ = ("_half", "_size", "_taken", "begun")

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._half = (size + 1) // 2
        self._taken = 0
        self.begun = False

    def begin(self) -> None:
        """Ask for the window, once."""
        with self._lock:
            begins = self._subscription is not None and not self.begun
            self.begun = self.begun or begins
        if begins:
            self.request(self._size)

    def credit(self, count: int) -> None:
        """Ask for more once half of them was taken; one thread at a time."""
        self._taken += count
        if self._taken >= self._half:
            taken, self._taken = self._taken, 0
            self.request(taken)
