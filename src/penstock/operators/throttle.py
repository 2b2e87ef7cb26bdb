"""throttle: let no more than so many elements pass in a time.

Group: mind the time
Marble: a.throttle(1, 2, clock=clock) over (123)-------|
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.relay import Leg, Relay
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Holding, Joint, MakeWaiting, Results, Tie

T = TypeVar("T")

GRAIN = 1 / 64
"""What comes within this part of the time is counted as having come together, at the later moment."""


class _Queue(Holding):
    """The rule, in pieces, where elements come whether they are asked for or not: they wait for tickets."""

    __slots__ = ("_count", "used")
    kept: ClassVar[tuple[str, ...]] = ("items", "used", "due")
    lingers: ClassVar[bool] = True

    def __init__(self, step: Throttle[Any]) -> None:
        super().__init__(step.per)
        self._count = step.count

    def begin(self, now: float, /) -> None:
        super().begin(now)
        self.used: list[list[Any]] = []

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        self.items.append(element)
        return self.rang(now)

    def rang(self, now: float, /) -> Iterable[Any]:
        while self.used and self.used[0][1] + self.seconds <= now:
            del self.used[0]
        tickets = self._count - sum(count for _, _, count in self.used)
        passed, self.items = self.items[:tickets], self.items[tickets:]
        if passed:
            use(self.used, now, len(passed), self.seconds * GRAIN)
        self.due = self.used[0][1] + self.seconds if self.items else None
        return passed

    def ended(self, now: float, /) -> Iterable[Any]:
        return ()


def use(used: list[list[Any]] | deque[list[Any]], now: float, count: int, grain: float) -> None:
    """Note that tickets were used; those that are used closely together are one group."""
    if used and now - used[-1][0] < grain:
        used[-1][1] = now
        used[-1][2] += count
    else:
        used.append([now, now, count])


@dataclass(frozen=True, slots=True)
class Throttle(Joint[T, T]):
    """Emit at most `count` elements in any `per` seconds, by asking upstream no faster; none is lost or held.

    Emits when upstream emits. Backpressures when downstream does, and when `count` elements have passed in the last
    `per` seconds: no more than `count` are ever asked for at a time. Completes when upstream completes. Cancels when
    downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.TIME
    waits: ClassVar[MakeWaiting | None] = _Queue
    count: int
    per: float = 1.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        count_given("throttle", "count", self.count, 1)
        seconds_of("throttle", "per", self.per, zero=False)
        clock_given("throttle", self.clock)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay that rations demand in front of what follows."""
        return _ThrottleRun(self, downstream).entrance


class _ThrottleRun(Relay[Any]):
    """A run with `count` tickets for demand; one that was used comes back `per` seconds after its element came."""

    def __init__(self, step: Throttle[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self._grain = step.per * GRAIN
        self._guard = Lock()
        self._tickets = step.count
        self._wanted = 0
        self._used: deque[list[Any]] = deque()
        """When the first and the last ticket of a group were used, and how many there are."""
        self._alarm = Alarm(step.clock, self._give_back, partial(self.end, cancel=True))
        self._publisher: Subscription | None = None

    def subscribed(self, leg: Leg, subscription: Subscription) -> None:
        self._publisher = subscription
        super().subscribed(leg, _Rationed(self, subscription))

    def ask(self, n: int) -> None:
        """Pass demand on as far as there are tickets."""
        with self._guard:
            self._wanted = add(self._wanted, n)
            passed = min(self._wanted, self._tickets)
            self._tickets -= passed
            if self._wanted < UNBOUNDED:
                self._wanted -= passed
        publisher = self._publisher
        if passed and publisher is not None:
            publisher.request(passed)

    def arrived(self, element: Any) -> None:
        now = self._alarm.now()
        with self._guard:
            first = not self._used
            use(self._used, now, 1, self._grain)
        if first:
            self._alarm.at(now + self._step.per)
        super().arrived(element)

    def _give_back(self, due: float) -> None:
        now = max(self._alarm.now(), due)
        with self._guard:
            used = self._used
            while used and used[0][1] + self._step.per <= now:
                self._tickets += used.popleft()[2]
            following = used[0][1] + self._step.per if used else None
        if following is not None:
            self._alarm.at(following)
        self.ask(0)

    def released(self) -> None:
        self._alarm.close()
        self._publisher = None


class _Rationed:
    """The subscription that the relay takes for its upstream; it passes on the demand that has tickets."""

    __slots__ = ("_run", "cancel")

    def __init__(self, run: _ThrottleRun, subscription: Subscription) -> None:
        self._run = run
        self.cancel = subscription.cancel

    def request(self, n: int, /) -> None:
        self._run.ask(n)
