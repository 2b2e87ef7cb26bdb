"""upstream: the subscriber of one upstream, from before its subscription comes until it is let go of.

A cancel may come first, from a subscriber inside of `on_subscribe` or from another thread. Then the subscription is
cancelled when it comes, so no subscription is left open.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import Outlet, Submit, element_or_raise
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription


class Upstream(Part):
    """The subscriber of one upstream, and the holder of its subscription.

    Joints say what becomes of an element (`came`) and of the end (`ended`). Those that ask for a window of elements
    `begin` with it, and say what was `taken`: when that is half a window, as much is asked for again.
    """

    __slots__ = ("_subscription", "_taken_since", "_window_size", "begun", "half", "height", "lock", "over")

    def __init__(self, height: int, window: int = UNBOUNDED) -> None:
        self.height = height
        self.lock = Lock()
        """Guards the subscription, and what a joint keeps besides."""
        self.over = False
        """Whether it has ended or was cancelled."""
        self.begun = False
        """Whether the window was asked for."""
        self._subscription: Subscription | None = None
        self._window_size = window
        self.half = (window + 1) // 2
        self._taken_since = 0

    # What joints say.

    def subscribed(self) -> None:
        """Know that there is a subscription to ask; called once."""

    def came(self, element: Any, /) -> object:
        """Take an element."""
        raise NotImplementedError

    def ended(self, error: Exception | None, /) -> object:
        """Take the failure, or None for the end; called once, and not after a cancel."""
        raise NotImplementedError

    # What upstream does.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Hold a subscription, or cancel a second one, or one that comes after the end (rule 2.5)."""
        element_or_raise(subscription, "on_subscribe")
        with self.lock:
            takes = self._subscription is None and not self.over
            if takes:
                self._subscription = subscription
        if takes:
            self.subscribed()
        else:
            subscription.cancel()

    def on_next(self, element: Any, /) -> None:
        """Take an element, unless upstream was left."""
        if element is None:
            element_or_raise(element, "on_next")
        if not self.over:
            self.came(element)

    def on_error(self, error: Exception, /) -> None:
        """End with a failure."""
        element_or_raise(error, "on_error")
        if self._ends():
            self.ended(error)
        else:
            too_late(error)

    def on_complete(self) -> None:
        """End without a failure."""
        if self._ends():
            self.ended(None)

    def _ends(self) -> bool:
        """Be over; tell whether it was not before."""
        with self.lock:
            ends, self.over = not self.over, True
            self._subscription = None
        return ends

    # What is done with the subscription.

    @property
    def here(self) -> bool:
        """Tell whether there is anything to ask."""
        return self._subscription is not None

    def begin(self) -> None:
        """Ask for the window, once."""
        with self.lock:
            begins = self._subscription is not None and not self.begun
            self.begun = self.begun or begins
        if begins:
            self.request(self._window_size)

    def taken(self, count: int, /) -> None:
        """Ask for more once half of the window was taken; one thread at a time."""
        self._taken_since += count
        if self._taken_since >= self.half:
            taken, self._taken_since = self._taken_since, 0
            self.request(taken)

    def request(self, n: int, /) -> None:
        """Ask for `n` elements, if there is anything to ask."""
        subscription = self._subscription
        if subscription is not None:
            subscription.request(n)

    def cancel(self) -> None:
        """Cancel what is there, or what is to come."""
        with self.lock:
            self.over = True
            subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.cancel()


class Queued(Upstream):
    """An upstream whose elements wait in an outlet."""

    __slots__ = ("outlet",)

    def __init__(
        self, downstream: Subscriber[Any], window: int = UNBOUNDED, submit: Submit | None = None, height: int = 1
    ) -> None:
        super().__init__(height_of(downstream) + height, window)
        self.outlet: Outlet[Any] = Outlet(downstream, submit)
        self.outlet.on_request = self.requested
        self.outlet.on_taken = self.taken
        self.outlet.on_cancel = self.cancel
        self.outlet.on_close = self.closed

    def requested(self, n: int, /) -> None:
        """Look at a request."""

    def closed(self) -> None:
        """Let go of what is held besides the outlet's queue; called when nothing more will be delivered."""

    def subscribed(self) -> None:
        self.outlet.open()

    def ended(self, error: Exception | None, /) -> None:
        self.outlet.complete(error)

    def fail(self, error: Exception) -> None:
        """Leave upstream, and end with an error after what waits in the outlet."""
        try:
            self.cancel()
        finally:
            self.outlet.complete(error)


class Whole(Protocol):
    """The joint that several inputs are part of."""

    height: int
    window: int
    asked: bool
    """Whether the subscriber has asked for anything."""


W = TypeVar("W", bound=Whole)


class Filled(Upstream, Generic[W]):
    """An input that asks for a window of elements at the subscriber's first request, then for half windows."""

    __slots__ = ("done", "whole")

    def __init__(self, whole: W) -> None:
        super().__init__(whole.height, whole.window)
        self.whole = whole
        self.done = False
        """Whether it has ended, and the joint knows."""

    def subscribed(self) -> None:
        """Fill the window if the subscriber has asked."""
        if self.whole.asked:
            self.begin()
