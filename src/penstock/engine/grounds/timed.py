"""timed: the ground of joints that hold elements until their time has come."""

from __future__ import annotations

from typing import Any

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.upstream import Queued
from penstock.engine.places.clocks import Clock
from penstock.engine.words.credit import Credit
from penstock.spec.interfaces import Subscriber


class Timed(Queued):
    """The subscriber in front of an outlet and an alarm; it asks for no more than `size` at a time.

    Joints say what becomes of an element (`arrived`) and what the alarm is for (`rang`), and override what else
    differs. The lock guards the credit and what they hold.
    """

    def __init__(self, downstream: Subscriber[Any], clock: Clock, size: int) -> None:
        super().__init__(downstream)
        self.credit = Credit(size)
        self.alarm = Alarm(clock, self.rang, self.fail)

    def arrived(self, element: Any, /) -> None:
        """Hold an element, counting it as arrived, or put it into the outlet."""
        raise NotImplementedError

    def rang(self, what: Any, /) -> None:
        """Do what the alarm was set for."""
        raise NotImplementedError

    def requested(self, _: int, /) -> None:
        self.ask()

    def taken(self, count: int, /) -> None:
        with self.lock:
            self.credit.held -= count
        self.ask()

    def closed(self) -> None:
        self.alarm.close()

    def ask(self) -> None:
        """Ask upstream for what is asked for below and has room here."""
        with self.lock:
            if not self.here or self.outlet.closed:
                return
            count = self.credit.ask(self.outlet.demand)
        if count:
            self.request(count)

    def subscribed(self) -> None:
        self.outlet.open()
        self.ask()

    def came(self, element: Any, /) -> None:
        self.arrived(element)
        if not self.credit.owed:
            self.ask()
