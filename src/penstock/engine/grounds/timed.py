"""timed: the ground of joints that hold elements until their time has come."""

from __future__ import annotations

from threading import Lock
from typing import Any

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.beside import Beside
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.places.clocks import Clock
from penstock.engine.words.credit import Credit
from penstock.engine.words.part import height_of
from penstock.spec.interfaces import Subscriber, Subscription


class Timed(Beside):
    """The subscriber in front of an outlet and an alarm; it asks for no more than `size` at a time.

    Joints say what becomes of an element (`came`) and what the alarm is for (`rang`), and override what else differs.
    The lock guards the credit and what they hold.
    """

    def __init__(self, downstream: Subscriber[Any], clock: Clock, size: int) -> None:
        super().__init__(height_of(downstream) + 1, self._take, self.ended)
        self.lock = Lock()
        self.credit = Credit(size)
        self.alarm = Alarm(clock, self.rang, self.fail)
        self.outlet: Outlet[Any] = Outlet(downstream)
        self.outlet.on_request = self.requested
        self.outlet.on_taken = self.taken
        self.outlet.on_cancel = self.upstream.cancel
        self.outlet.on_close = self.closed

    @property
    def done(self) -> bool:
        """Tell whether upstream has ended or was left."""
        return self.upstream.over

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
        self.upstream.cancel()
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
        with self.lock:
            if not self.upstream.here or self.outlet.closed:
                return
            count = self.credit.ask(self.wanted())
        if count:
            self.upstream.request(count)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, and ask for what is wanted."""
        if self.upstream.take(subscription):
            self.outlet.open()
            self.ask()

    def _take(self, element: Any) -> None:
        self.came(element)
        if not self.credit.owed:
            self.ask()
