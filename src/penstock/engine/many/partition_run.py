"""partition_run: one run of a chain whose elements go to one of two sides.

A run begins with the first subscriber of either side; the first subscriber of the other side takes part in it, early or
late. Elements of a side that has no room for more go by its policy; a side without a subscriber yet holds `size`
elements like any other. Upstream is asked for what the more eager side asks for, or under Slow.WAIT for no more than
both have room for, come or not. A side whose subscriber is gone takes nothing and does not hold back the other.

A subscriber that comes when its side is taken begins another run.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.many.shared_run import WAIT, Member, SharedRun, Slow
from penstock.engine.runs.chain import Chain
from penstock.spec.interfaces import Subscriber

Choose = Callable[[Any], int]
"""Say to which side an element goes: 0 or 1."""


class ForkRun(SharedRun):
    """The run of a fork."""

    def __init__(self, operator: str, choose: Choose, size: int, slow: Slow) -> None:
        super().__init__(size, slow, 0)
        self._operator = operator
        self._choose = choose
        self._sides = self.members = (Member(), Member())

    def join(self, place: int, downstream: Subscriber[Any]) -> bool:
        """Take a side; tell whether the run was still good for it."""
        side = self._sides[place]
        with self.lock:
            if self.cancelled:
                return False
            self.seat(side, downstream)
        side.open()
        return True

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        if self.done:
            return
        try:
            side = self._sides[self._choose(element)]
        except Exception as error:  # noqa: BLE001  rule 1.4: `choose` has said already who raised
            self.end(error, cancel=True)
            return
        if side in self.members:
            if side.give(element):
                side.came += 1
            else:
                self.queue(side, element)
        self.sent += 1
        if self.asked - self.sent <= self.half:
            self.ask()

    def allowed(self) -> tuple[int, int]:
        wanted = max([side.wanted for side in self.members])
        waits = self.slow is WAIT
        room = min([side.room(self.size) for side in self.members]) if waits else self.size
        return min(wanted, room), wanted

    def left_alone(self) -> bool:
        return not any(side.taken for side in self.members)

    def forget(self) -> None:
        for side in self._sides:
            if not side.taken:  # one that is drains, or lets go of what is queued
                side.queue.clear()

    def behind(self) -> str:
        return (
            f"{self._operator}: this side is {self.size} elements behind the other one; take both at the same time, "
            "raise size, or let it miss elements with slow=Slow.DROP"
        )


class Fork:
    """The holder of the run that has a side to take; it makes a fresh one when there is none."""

    __slots__ = ("_lock", "_run", "_taken")

    def __init__(self) -> None:
        self._lock = Lock()
        self._run: ForkRun | None = None
        self._taken: set[int] = set()

    def join(
        self,
        place: int,
        operator: str,
        chain: Chain,
        downstream: Subscriber[Any],
        choose: Choose,
        size: int,
        slow: Slow,
    ) -> None:
        """Take a side of the current run, or of a fresh one, which begins with this subscriber."""
        while True:
            with self._lock:
                run = self._run
                start = run is None or run.cancelled or place in self._taken
                if run is None or start:
                    run = self._run = ForkRun(operator, choose, size, slow)
                    self._taken = set()
                self._taken.add(place)
                if len(self._taken) == 2:
                    self._run = None  # both sides are taken
            if run.join(place, downstream):
                if start:
                    run.begin(chain)
                return

    def __reduce__(self) -> tuple[type[Fork], tuple[()]]:
        return (Fork, ())
