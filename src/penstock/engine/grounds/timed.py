"""timed: the ground of joints that hold elements until their time has come."""

from __future__ import annotations

from threading import Lock
from typing import Any

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import Outlet, accepts, element_or_raise
from penstock.engine.places.clocks import Clock
from penstock.engine.words.credit import Credit
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription


class Timed(Part):
    """The subscriber in front of an outlet and an alarm; it asks for no more than `size` at a time.

    Joints say what becomes of an element (`came`) and what the alarm is for (`rang`), and override what else differs.
    The lock guards the credit and what they hold.
    """

    def __init__(self, downstream: Subscriber[Any], clock: Clock, size: int) -> None:
        self.height = height_of(downstream) + 1
        self.lock = Lock()
        self.credit = Credit(size)
        self.alarm = Alarm(clock, self.rang, self.fail)
        self.done = False
        """Whether upstream has ended or was left."""
        self._upstream: Subscription | None = None
        self.outlet: Outlet[Any] = Outlet(downstream)
        self.outlet.on_request = self.requested
        self.outlet.on_taken = self.taken
        self.outlet.on_cancel = self._leave
        self.outlet.on_close = self.closed

    def came(self, element: Any) -> None:
        """Hold an element, counting it as arrived, or put it into the outlet."""
        raise NotImplementedError

    def rang(self, what: Any, /) -> None:
        """Do what the alarm was set for."""
        raise NotImplementedError

    def ended(self, error: Exception | None) -> None:
        """Handle upstream's end."""
        self.outlet.complete(error)

    def fail(self, error: Exception) -> None:
        """Leave upstream, and end with an error after what waits in the outlet; what is held has no time any more."""
        self._leave()
        self.outlet.complete(error)

    def requested(self, _: int) -> None:
        """Look at a request."""
        self.ask()

    def taken(self, count: int, /) -> None:
        """Let go of what was delivered."""
        with self.lock:
            self.credit.held -= count
        self.ask()

    def wanted(self) -> int:
        """Return how many elements those who ask could take; under the lock."""
        return self.outlet.demand

    def closed(self) -> None:
        """Let go of the timer, and of what is held."""
        self.alarm.close()

    def ask(self) -> None:
        """Ask upstream for what is asked for below and has room here."""
        upstream = self._upstream
        with self.lock:
            if upstream is None or self.done or self.outlet.closed:
                return
            count = self.credit.ask(self.wanted())
        if count:
            upstream.request(count)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, and ask for what is wanted."""
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        self.outlet.open()
        self.ask()

    def on_next(self, element: Any, /) -> None:
        """Take an element."""
        if element is None:
            element_or_raise(element, "on_next")
        if self.done:
            return
        self.came(element)
        if not self.credit.owed:
            self.ask()

    def on_error(self, error: Exception, /) -> None:
        """Take the failure, once."""
        element_or_raise(error, "on_error")
        if self._over():
            self.ended(error)
        else:
            too_late(error)

    def on_complete(self) -> None:
        """Take the end, once."""
        if self._over():
            self.ended(None)

    def _over(self) -> bool:
        """Be done with upstream; tell whether it was not before."""
        with self.lock:
            done, self.done = self.done, True
        return not done

    def _leave(self) -> None:
        if self._over() and self._upstream is not None:
            self._upstream.cancel()
