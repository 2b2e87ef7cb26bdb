"""upstream: the publisher's end of a subscription, driven by hand, that records all calls on it.

Signals are sent one at a time and never beyond demand by those who drive it; every call on the subscription is noted
with the thread it came on and the signals it came within. What is wrong whatever a trial is about (a call inside an end
signal, a request below one, a signal that raises) is noted as a breach of its rule.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.spec.element_count import asked_for
from penstock.spec.interfaces import Subscriber
from penstock.spec.shown import shown
from penstock.tck.environment import Environment
from penstock.tck.probe import Runaway

ENDS = ("on_complete", "on_error")
THIS_TRIAL = "this trial"  # whom to blame for a signal that raises, if not a rule: the trial that sent it
NOBODY = "nobody"  # the trial is over


@dataclass(frozen=True, slots=True)
class SubscriptionCall:
    """The record of one call on the subscription; `inside` names the signals it was made within, innermost last."""

    name: str
    thread: int
    inside: tuple[str, ...] = ()


class WatchedSubscription:
    """A subscription that hands every call to the upstream it belongs to."""

    __slots__ = ("__weakref__", "_upstream")

    def __init__(self, upstream: DrivenUpstream) -> None:
        self._upstream = upstream

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        self._upstream.take_request(n)

    def cancel(self) -> None:
        """Ask for no more signals."""
        self._upstream.take_cancel()


class DrivenUpstream:
    """An upstream that signals one subscriber by hand, or by a script that plays inside its requests."""

    def __init__(self, environment: Environment, element: Callable[[int], Any]) -> None:
        self.subscription = WatchedSubscription(self)
        self.calls: list[SubscriptionCall] = []
        self.sent: list[Any] = []
        self.requested = 0
        self.cancelled = False
        self.ended = False
        self.overlap = ""  # how two requests were seen to overlap
        self.stays = False  # hold requests open that come on another thread than the last, ever more rarely
        self.lingering = 0  # how many requests are still to be held open, so that another one can be seen to overlap
        self._environment = environment
        self._changed = environment.activity.changed
        self._element = element
        self._subject: Subscriber[Any] | None = None
        self._signals: dict[int, list[str]] = {}
        self._requests: dict[int, int] = {}
        self._asked_on = 0  # the thread that the last request came on
        self._moves = 0  # how many requests came on another thread than the last
        self._script = (0, "")
        self._blame = THIS_TRIAL
        self._playing = False
        self._subscribing = 0  # the thread that is inside on_subscribe

    @property
    def demand(self) -> int:
        """Return how many elements were asked for and not sent."""
        return self.requested - len(self.sent)

    @property
    def subscribed(self) -> bool:
        """Tell whether on_subscribe was sent."""
        return self._subject is not None

    @property
    def asking(self) -> bool:
        """Tell whether a request is being made right now."""
        return bool(self._requests)

    @property
    def signalling(self) -> bool:
        """Tell whether a signal is being sent right now."""
        return any(self._signals.values())

    @property
    def calls_inside_ends(self) -> list[SubscriptionCall]:
        """Return the calls that were made from inside an end signal."""
        return [call for call in self.calls if set(call.inside) & set(ENDS)]

    # What is sent.

    def subscribe(self, subject: Subscriber[Any], *, blame: str = "2.13") -> None:
        """Send on_subscribe."""
        self._subject = subject
        self._subscribing = threading.get_ident()
        self._send("on_subscribe", lambda: subject.on_subscribe(self.subscription), blame)
        self._subscribing = 0
        self.play()

    def next(self, *, blame: str = "2.13") -> None:
        """Send one more element, whether or not it was asked for."""
        element = self._element(len(self.sent))
        self.sent.append(element)
        began = self._environment.sent_at = time.monotonic()
        self._send("on_next", lambda: self._receiver.on_next(element), blame)
        self._environment.element_took(time.monotonic() - began)

    def complete(self, *, blame: str = "2.9") -> None:
        """Send on_complete."""
        self.ended = True
        self._send("on_complete", self._receiver.on_complete, blame)

    def error(self, error: Exception, *, blame: str = "2.10") -> None:
        """Send on_error."""
        self.ended = True
        self._send("on_error", lambda: self._receiver.on_error(error), blame)

    def end(self, kind: str, *, blame: str = "") -> None:
        """Send the end signal of that kind."""
        if kind == "on_complete":
            self.complete(blame=blame or "2.9")
        else:
            self.error(RuntimeError("upstream failed, as the trial wants it"), blame=blame or "2.10")

    def script(self, count: int, end: str, *, blame: str = THIS_TRIAL) -> None:
        """Send `count` elements and the end, if one is named, from inside the requests that ask for them."""
        self._script = (count, end)
        self._blame = blame

    def cut(self, end: str) -> None:
        """Go to the end of the script, wherever it stands."""
        self._script = (0, end)
        self.play()

    def play(self) -> None:
        """Go on with the script as far as demand allows; signals never nest, however the subscriber asks (rule 3.3)."""
        with self._changed:
            elsewhere = self._subscribing not in {0, threading.get_ident()}
            if self._playing or elsewhere or self._subject is None:
                return
            self._playing = True
        while (signal := self._cue()) is not None:
            signal()

    def _cue(self) -> Callable[[], None] | None:
        """Return the signal that is due, or stop playing."""
        with self._changed:
            count, end = self._script
            due = not self.cancelled and not self.ended
            if due and self.demand > 0 and len(self.sent) < count:
                return partial(self.next, blame=self._blame)
            if due and end and len(self.sent) >= count:
                return partial(self.end, end)
            self._playing = False
            return None

    # What is received.

    def take_request(self, n: int) -> None:
        """Record a request and register its demand."""
        with self._requesting(f"request({shown(n)})"):
            with self._changed:
                if (asked := asked_for(n)) > 0:
                    self.requested += asked
                else:
                    self._environment.breach("3.9", f"request({shown(n)}) was called: a request must be positive")
                linger = self.lingering > 0 or self._moved()
                self.lingering -= self.lingering > 0
            self._environment.pulse()
            if linger:
                self._environment.lingers(lambda: bool(self.overlap))
            self.play()

    def _moved(self) -> bool:
        """Tell whether a request is worth being held open because it came on another thread than the last."""
        me = threading.get_ident()
        moved, self._asked_on = me != self._asked_on, me
        self._moves += moved
        return self.stays and moved and self._moves & (self._moves - 1) == 0

    def take_cancel(self) -> None:
        """Record a cancel."""
        with self._changed:
            self._record("cancel()")
            self.cancelled = True
        self._environment.pulse()

    # How signals and calls are watched.

    @property
    def _receiver(self) -> Subscriber[Any]:
        if self._subject is None:
            raise LookupError("a signal was to be sent before on_subscribe")
        return self._subject

    def _send(self, name: str, call: Callable[[], object], blame: str) -> None:
        me = threading.get_ident()
        self._signals.setdefault(me, []).append(name)
        try:
            call()
        except Exception as error:
            where = " after its cancel()" if self.cancelled else ""
            message = f"{name} raised {shown(error)}{where}"
            if blame == THIS_TRIAL:
                self._environment.fail(message)
            elif blame != NOBODY:
                self._environment.breach(blame, message)
        finally:
            self._signals[me].pop()
            self._environment.pulse()

    def _record(self, name: str) -> None:
        if self._environment.stuck:
            raise Runaway
        me = threading.get_ident()
        call = SubscriptionCall(name, me, tuple(self._signals.get(me, ())))
        self.calls.append(call)
        for end in set(call.inside) & set(ENDS):
            self._environment.breach("2.3", f"{name} was called from inside {end}")

    @contextmanager
    def _requesting(self, name: str) -> Iterator[None]:
        me = threading.get_ident()
        with self._changed:
            self._record(name)
            if set(self._requests) - {me}:
                self.overlap = self.overlap or f"{name} was called on one thread while a request ran on another"
            self._requests[me] = self._requests.get(me, 0) + 1
        self._environment.pulse()
        try:
            yield
        finally:
            with self._changed:
                self._requests[me] -= 1
                if not self._requests[me]:
                    del self._requests[me]
            self._environment.pulse()
