"""broken_processors: for each rule that only a processor can break ones that do, and some that break a side's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.spec.interfaces import Subscriber, Subscription
from penstock.tck.outcome import Limits
from tests.tck.processor.broken_processors_sound import Action, Hub, Outlet, Relay
from tests.tck.subscriber.broken_subscribers import PROMPT


class FailsOnlyTheFirst(Hub):
    """Tell one subscriber that its upstream failed, and the others that it completed."""

    def end(self, outlet: Outlet) -> Action:
        action = super().end(outlet)
        self.error = None
        return action


class LeavesTheOthersHanging(Hub):
    """Take the end for sent once one subscriber has it."""

    def end(self, outlet: Outlet) -> Action:
        action = super().end(outlet)
        if self.error is not None:
            self.outlets.clear()
        return action


class AsksWhileDraining(Relay):
    """Ask upstream for every element that leaves the queue, whether or not any can still come."""

    def send(self, outlet: Outlet, element: Any) -> None:
        super().send(outlet, element)
        if self.ended and self.upstream is not None:
            self.upstream.request(1)


class KeepsItsUpstream(Relay):
    def left(self, outlet: Outlet) -> None:
        upstream, self.upstream = self.upstream, None
        super().left(outlet)
        self.upstream = upstream


class KeepsItsUpstreamAfterARefusal(Relay):
    """Cancel upstream for a subscriber that cancels, and not for one whose request was refused."""

    def left(self, outlet: Outlet) -> None:
        if outlet.fault is None:
            super().left(outlet)
        else:
            upstream, self.upstream = self.upstream, None
            super().left(outlet)
            self.upstream = upstream


class KeepsItsUpstreamAfterARaise(KeepsItsUpstream):
    """Cancel upstream for a subscriber that cancels, and not for one that raised."""

    def left(self, outlet: Outlet) -> None:
        if self.lost:
            super().left(outlet)
        else:
            Relay.left(self, outlet)


class LeavesWithTheFirst(Hub):
    """Cancel upstream as soon as anybody cancels."""

    def left(self, outlet: Outlet) -> None:
        super().left(outlet)
        if self.upstream is not None and not self.ended and not self.deserted:
            self.upstream.cancel()


class AsksWhereItIsAsked(Hub):
    """Ask upstream on whatever thread a subscriber asks."""

    def next_request(self) -> Action | None:
        return None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        self.ask_upstream()

    def wanted(self, outlet: Outlet, n: int) -> None:
        super().wanted(outlet, n)
        self.ask_upstream()

    def ask_upstream(self) -> None:
        request = super().next_request()
        if request is not None:
            request()


class AsksWhereElementsCome(Relay):
    """Ask upstream where elements come in, as well as where a subscriber asks."""

    size = 1

    def next_request(self) -> Action | None:
        return None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        self.ask_upstream()

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self.ask_upstream()

    def wanted(self, outlet: Outlet, n: int) -> None:
        super().wanted(outlet, n)
        self.asking += n  # more than it has room for, which is not what is wrong with it
        self.ask_upstream()

    def ask_upstream(self) -> None:
        request = super().next_request()
        if request is not None:
            request()


class ForgetsEarlyDemand(Relay):
    def wanted(self, outlet: Outlet, n: int) -> None:
        if self.upstream is not None:
            super().wanted(outlet, n)


class KeepsTheLastOfEarlyDemand(Relay):
    def wanted(self, outlet: Outlet, n: int) -> None:
        if self.upstream is None:
            outlet.demand = 0
        super().wanted(outlet, n)


class NoPublisher:
    """Take what comes and hand nothing on."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Ask for nothing."""

    def on_next(self, element: Any, /) -> None:
        """Take an element."""

    def on_error(self, error: Exception, /) -> None:
        """Take the failure."""

    def on_complete(self) -> None:
        """Take the end."""


class ExceedsDemand(Relay):
    """Send one element that nobody asked for."""

    unasked = 1

    def next_action(self) -> Action | None:
        for outlet in self.outlets:
            if outlet.begun and outlet.demand == 0 and len(self.queue) == self.size:
                outlet.demand, self.unasked = self.unasked, 0
        return super().next_action()


class SwapsTwo(Relay):
    def hand_on(self, element: Any, outlets: list[Outlet]) -> Action:
        return super().hand_on({4: 5, 5: 4}.get(element, element), outlets)


class TakesASecondUpstream(Relay):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.refuse_none(subscription)
        if self.upstream is None:
            super().on_subscribe(subscription)


class ErrorWaitsForElements(Relay):
    """Hand on what it holds before the failure."""

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        with self.lock:
            self.ended, self.error = True, error
        self.work()


class AsksAfterRecovery(Relay):
    """Take a failure for a pause and go on asking."""

    recovered = False

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        self.recovered = True

    def wanted(self, outlet: Outlet, n: int) -> None:
        super().wanted(outlet, n)
        if self.recovered and self.upstream is not None:
            self.upstream.request(n)


class WorksOnEveryThread(Relay):
    """Keep no other thread out while one is handing elements on."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()

    def work(self) -> None:
        if getattr(self.here, "busy", False):
            return
        self.here.busy = True
        while (action := self.next_action()) is not None:
            action()
        self.here.busy = False


class HandsOnWhereItComes(Relay):
    """Hand an element on at once if nothing waits before it, whoever is handing another one on."""

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        with self.lock:
            outlets = [outlet for outlet in self.outlets if outlet.begun and outlet.demand]
            action = self.hand_on(element, outlets) if outlets and not self.queue else None
            if action is None and not self.ended and not self.deserted:
                self.queue.append(element)
        if action is not None:
            action()
        self.work()


class RaisesLate(Relay):
    """Have no room for the thirtieth element, and say so the wrong way."""

    taken = 0

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self.taken += 1
        assert self.taken < 30, "no room"


class RaisesAtAnEarlyEnd(Relay):
    taken = 0

    def on_next(self, element: Any, /) -> None:
        self.taken += 1
        super().on_next(element)

    def on_complete(self) -> None:
        assert self.taken
        super().on_complete()


class LosesTheFirst(Relay):
    lost_one = False

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        if self.lost_one:
            super().on_next(element)
        self.lost_one = True


class LetsNobodySubscribe(Relay):
    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        assert subscriber is None, "nobody"
        raise TypeError("a subscriber must not be None")


class KeepsALateUpstream(Relay):
    """Take an upstream though its subscriber has left."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.refuse_none(subscription)
        if self.upstream is not None:
            subscription.cancel()
            return
        self.upstream = subscription
        self.asking += self.size
        self.work()


class KeepsAnEarlyUpstream(Relay):
    """Miss a subscriber that leaves before it has begun."""

    def left(self, outlet: Outlet) -> None:
        upstream = self.upstream
        if not outlet.begun:
            self.upstream = None
        super().left(outlet)
        self.upstream = upstream


class AsksALateUpstream(KeepsALateUpstream):
    """Ask it, too."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        if self.deserted:
            subscription.request(1)


class Between(Relay):
    """Know whether another thread is handing elements on."""

    worker = 0

    def send(self, outlet: Outlet, element: Any) -> None:
        self.worker = threading.get_ident()
        super().send(outlet, element)
        self.worker = 0

    @property
    def busy(self) -> bool:
        return self.worker not in (0, threading.get_ident())


class LosesWhatComesMeanwhile(Between):
    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        if not self.busy:
            super().on_next(element)


class ForgetsDemandMeanwhile(Between):
    def wanted(self, outlet: Outlet, n: int) -> None:
        if not self.busy:
            super().wanted(outlet, n)


@dataclass(frozen=True)
class BrokenProcessor:
    """Say what a processor breaks: the tests that must fail, by rule, and what the first of them says."""

    make: Callable[[], Any]
    tests: dict[str, tuple[str, ...]]
    detail: str
    claims: dict[str, Any] = field(default_factory=dict)
    limits: Limits = PROMPT

    def __str__(self) -> str:
        return self.make.__name__
