"""relay: the ground of joints that pass elements straight through.

A relay is the subscription of what follows. Elements come in through a leg, the subscriber of one upstream. A joint
may change its upstream (`attach` a new leg): demand that is still open moves over to the new one, and signals of an
older leg are ignored. Joints override `arrived`, `failed`, `completed` and `released`. The end may come from anywhere
(a timer, another thread): while a signal is being delivered it waits for that delivery to return (rule 1.3). Demand
that comes inside `on_subscribe` waits for it too.

Publishers of other libraries enter through a relay, so it trusts no publisher: an element that was not requested and a
None end the run with an error that names the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, ClassVar, Generic, TypeVar

from penstock.engine.grounds.cold_paths import (
    interruption,
    interrupts_told,
    left_alone,
    rejected,
    signal_end,
    too_late,
    welcome,
)
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.words.demand import UNBOUNDED, add, legal
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.errors import InterruptionError, ProtocolError
from penstock.spec.interfaces import Subscriber, Subscription

T = TypeVar("T")
Attach = Callable[[Subscriber[Any]], None]


class Leg(Part):
    """A relay's subscriber to one upstream."""

    __slots__ = ("height", "on_chunk", "relay", "subscription")

    def __init__(self, relay: Relay[Any]) -> None:
        self.relay = relay
        self.height = relay.height
        self.subscription: Subscription | None = None
        self.on_chunk = self._take_together if relay.plain and chunks_of(relay.downstream) is not None else None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, or refuse a second one."""
        if subscription is None:
            self._refuse_none("on_subscribe")
        if self.subscription is not None:
            if subscription is self.subscription and self.relay.leg is self:  # to cancel it is to cut the stream off
                self.relay.end(ProtocolError("2.12", "the publisher sent its subscription twice"), cancel=True)
            else:
                subscription.cancel()  # rule 2.5
            return
        self.subscription = subscription
        self.relay.subscribed(self, subscription)

    def on_next(self, element: Any, /) -> None:
        """Pass an element to the relay."""
        if element is None:
            self._refuse_none("on_next")
        self.relay.take(self, element)

    def _take_together(self, elements: list[Any], /) -> None:
        """Pass several elements to the relay."""
        self.relay.take(self, elements, len(elements), together=True)

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure to the relay."""
        if error is None:
            self._refuse_none("on_error")
        if not isinstance(error, Exception):
            error = (
                interruption(error)
                if isinstance(error, BaseException)
                else ProtocolError("1.4", f"the publisher failed with {error!r}, which is not an exception")
            )
        if self.relay.leg is not self:
            too_late(error)
        elif isinstance(error, InterruptionError):
            self.relay.end(error)
        else:
            self.relay.failed(error)

    def on_complete(self) -> None:
        """Pass the end to the relay."""
        if self.relay.leg is self:
            self.relay.completed()

    def _refuse_none(self, signal: str) -> None:
        """Tell the publisher that None is no signal (rule 2.13), and what follows that the publisher is out."""
        try:
            element_or_raise(None, signal)
        except TypeError as error:
            if self.relay.leg is self:
                self.relay.end(error, cancel=True)
            raise


class Relay(Part, Generic[T]):
    """The subscription of `downstream` over an upstream that may change."""

    plain: ClassVar[bool] = False
    """Whether it passes elements on as they are, so that several may come together."""

    def __init__(self, downstream: Subscriber[T]) -> None:
        self.height = height_of(downstream) + 1
        self.downstream: Subscriber[T] | None = downstream
        self.leg: Leg | None = Leg(self)
        self.over = False
        self._lock = Lock()
        self._started = False
        self._opening = False
        self._delivering = 0
        self._ended = False
        self._released = False
        self._error: Exception | None = None
        self._ended_by = 0
        self.demand = 0
        """What was requested and not yet delivered."""
        self._upstream: Subscription | None = None
        self._next: Attach | None = None
        self._later: Attach | None = None
        self._attaching = False

    @property
    def entrance(self) -> Leg:
        """Return the subscriber that stands in front of a relay that was just made."""
        assert self.leg is not None
        return self.leg

    def arrived(self, element: T) -> None:
        """Deliver an element; joints override this to look at it."""
        downstream = self.downstream
        if downstream is not None:
            downstream.on_next(element)

    def arrived_together(self, elements: list[T]) -> None:
        """Deliver several elements."""
        on_chunk = chunks_of(self.downstream)
        if on_chunk is not None:
            on_chunk(elements)

    def failed(self, error: Exception) -> None:
        """Handle upstream's failure."""
        self.end(error)

    def completed(self) -> None:
        """Handle upstream's end."""
        self.end()

    def requested(self, n: int, first: bool) -> None:
        """Look at a legal request on its way up; `first` says that no demand was open before it."""

    def cancelled(self) -> None:
        """Look at the cancel, once."""

    def released(self) -> None:
        """Let go of timers and the like; called once, before the end is signalled or on cancel."""

    def start(self) -> None:
        """Signal `on_subscribe`, once; demand is kept until it has returned."""
        with self._lock:
            downstream = self.downstream
            if self._started or downstream is None:
                return
            self._started = self._opening = True
            self._delivering += 1
        try:
            welcome(downstream, self, self._give_up)
        finally:
            with self._lock:
                self._opening = False
                upstream, demand = self._upstream, self.demand
            self._delivered()
        if upstream is not None and demand:
            upstream.request(demand)

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        if type(n) is not int or n <= 0:
            n = legal(n, lambda error: self.end(error, cancel=True))
            if not n:
                return
        with self._lock:
            if self.over:
                return  # rule 3.6
            first = not self.demand
            self.demand = add(self.demand, n)
            upstream = None if self._opening else self._upstream
            waiting = self._later
            if waiting is not None:
                self._later = None
        self.requested(n, first)
        if upstream is not None:
            upstream.request(n)
        elif waiting is not None:
            self.attach(waiting)

    def cancel(self) -> None:
        """End without a signal."""
        with self._lock:
            again = self.over
            self.over = True
            upstream, self._upstream = self._upstream, None
            self.leg = self._later = None
            untold = self._error if again and self.downstream is not None else None
            self._error = None
            if again or not self._delivering:
                self.downstream = None  # rule 3.13, and rule 1.8: an end that waits is not signalled any more
        if again:  # rule 3.7
            too_late(untold)
            return
        try:
            self.cancelled()
            self._release()
        finally:
            if upstream is not None:
                upstream.cancel()

    def subscribed(self, leg: Leg, subscription: Subscription) -> None:
        """Start with the upstream of `leg`, moving open demand to it."""
        if self.over or leg is not self.leg:
            subscription.cancel()
            return
        live = False
        try:
            self.start()
            with self._lock:
                live = not self.over and leg is self.leg
                demand = 0 if self._opening else self.demand
                if live:
                    self._upstream = subscription
        finally:
            if not live:  # also where the subscriber raised a KeyboardInterrupt or its like, which passes
                subscription.cancel()
        if live and demand:
            subscription.request(demand)

    def take(self, leg: Leg, element: Any, count: int = 1, *, together: bool = False) -> None:
        """Deliver one element of `leg`, or `count` that come together, then an end that came meanwhile."""
        with self._lock:
            if self.over or leg is not self.leg:
                return  # rule 2.8
            excess = self.demand < count or self._upstream is None  # which it has not been asked for either
            if not excess:
                if self.demand < UNBOUNDED:
                    self.demand -= count
                self._delivering += 1
        if excess:
            self.end(ProtocolError("1.1", "the publisher sent an element that was not requested"), cancel=True)
            drop("rule 1.1: the publisher sent an element that was not requested", None, element)
            return
        returned = False
        try:
            if together:
                self.arrived_together(element)
            else:
                self.arrived(element)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 2.13
            rejected("on_next", error)
        finally:
            if not returned and not isinstance(self._error, InterruptionError):  # which was raised here, not below
                self._give_up()
            self._delivered()

    def left_out(self) -> None:
        """Ask for another element in place of one that is not delivered; only while it arrives."""
        with self._lock:
            if self.demand == UNBOUNDED:
                return
            self.demand += 1
            upstream = self._upstream
        if upstream is not None:
            upstream.request(1)

    def _delivered(self) -> None:
        """Signal an end that waited for a delivery, or let go of who cancelled meanwhile."""
        with self._lock:
            self._delivering -= 1
            if self._delivering:
                return
            ended = self._ended
            if self.over and not ended:
                self.downstream = None
        if ended:
            self._signal_end()

    def _give_up(self) -> None:
        """Let go of everything behind a subscriber that raised, or a KeyboardInterrupt and its like, which pass."""
        with self._lock:
            downstream, self.downstream = self.downstream, None
            untold, self._error = self._error, None
        too_late(untold)
        self.cancel()
        self._release()
        left_alone(downstream)

    def end(self, error: Exception | None = None, *, cancel: bool = False) -> None:
        """Signal the end once, after a signal that is being delivered; `cancel` upstream if it has not ended."""
        with self._lock:
            again = self.over
            if not again:
                self.over = self._ended = True
                self._error = error
                self._ended_by = id(error)
                self.leg = None
            upstream, self._upstream = self._upstream, None
            waits = self._delivering > 0
        if again:
            if self._ended and id(error) != self._ended_by and not cancel:
                too_late(error)
            return
        try:
            if cancel and upstream is not None:
                upstream.cancel()
        finally:
            if not waits:
                self._signal_end()

    def _signal_end(self) -> None:
        self.start()  # rule 1.9: on_subscribe comes first, whatever happened
        with self._lock:
            downstream, self.downstream = self.downstream, None
            error, self._error = self._error, None  # rule 3.13: its frames know the subscriber
        try:
            self._release()
        finally:
            if downstream is not None:
                signal_end(downstream, error)

    def _release(self) -> None:
        with self._lock:
            released, self._released = self._released, True
        if not released:
            self.released()

    def attach(self, connect: Attach, *, when_asked: bool = False) -> None:
        """Leave the upstream of before and subscribe to another, in a loop however many follow one another.

        One that is to be subscribed only `when_asked` waits until there is demand.
        """
        with self._lock:
            if self.over:
                return
            self._upstream = None
            self.leg = None
            if when_asked and not self.demand:
                self._later = connect
                return
            self._next = connect
            if self._attaching:
                return
            self._attaching = True
        while True:
            with self._lock:
                following, self._next = self._next, None
                if following is None or self.over:
                    self._attaching = False
                    return
                leg = self.leg = Leg(self)
            try:
                with interrupts_told(partial(self.end, cancel=True)):
                    following(leg)
            except Exception as error:  # noqa: BLE001  rule 1.9: a failure to subscribe is signalled
                self.failed(error)
