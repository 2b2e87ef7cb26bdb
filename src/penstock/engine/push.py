"""push: a run of stages behind a joint whose elements are pushed straight through.

What `FedRun` does for every segment with a queue and a loop that rests, this does with a call where the stages allow
it (`weave_push.pushable`). There are two kinds. Stages that make at most one element of one pass demand on as it is;
when an element is dropped, another one is asked for. Stages that come down to a result take everything and let nothing
through before the end; what they have made then is delivered as it is asked for, by a run of its own.

Signals are serial, since upstream's are. Only an illegal request (rule 3.9) may come from elsewhere: `_busy` is raised
before `_over` is read, and `_over` before `_busy` is, so that its error never overtakes a delivery.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from penstock.engine.demand import UNBOUNDED, add, refused
from penstock.engine.drain import Run
from penstock.engine.dropped import drop, signal_end
from penstock.engine.outlet import accepts, element_or_raise
from penstock.engine.part import Part, height_of, left_alone
from penstock.engine.segment import STARVED, Segment
from penstock.engine.weave_push import PushWeaver
from penstock.errors import InterruptionError
from penstock.spec.interfaces import Subscriber, Subscription


def _nobody(_: Any, /) -> None:
    """Take an element that comes after the end (rule 2.8)."""


class PushRun(Part):
    """Be the subscriber of a joint and the subscription of what follows it."""

    __slots__ = (
        "_busy", "_demand", "_everything", "_lock", "_over", "_push", "_refusal", "_segment", "_subscriber", "_tail",
        "_tails", "_unbounded", "_upstream", "deliver", "height",
    )  # fmt: skip

    def __init__(self, segment: Segment, subscriber: Subscriber[Any]) -> None:
        self.height = height_of(subscriber) + 1
        self._segment = segment
        self._subscriber: Subscriber[Any] | None = subscriber
        self.deliver: Callable[[Any], None] = subscriber.on_next
        """What takes the results; a listener may stand in between for one of them."""
        self._lock = Lock()
        self._over = False
        self._busy = False
        self._refusal: Exception | None = None
        self._everything = segment.demand(1) == UNBOUNDED
        self._unbounded = self._everything
        self._demand = 0
        self._upstream: Subscription | None = None
        self._push: Callable[[Any], Any] = _nobody
        self._tails: Callable[[], Iterator[Any]] | None = None
        self._tail: _Tail | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, or refuse a second one."""
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        subscriber = self._subscriber
        assert subscriber is not None
        failure: Exception | None = None
        try:
            self._push, self._tails = self._segment.open_pushed(PushWeaver, self)  # pyright: ignore[reportArgumentType]  it binds what slots hold
        except Exception as error:  # noqa: BLE001  rule 1.4: a variable of a stage could not be set
            failure = error
        returned = False
        try:
            subscriber.on_subscribe(self)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 2.13
            self._reject("on_subscribe", error)
            returned = True
        finally:
            if not returned:
                self.cancel()
        if failure is not None:
            self._fail(failure)

    def on_next(self, element: Any, /) -> None:
        """Push an element through."""
        if element is None:
            element_or_raise(element, "on_next")
        self._busy = True
        if self._over:
            self._busy = False
            return  # rule 2.8
        returned = False
        try:
            element = self._push(element)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 1.4
            returned = True
            self._fail(error)
            return
        finally:
            if not returned:
                self._interrupted()
        if element is STARVED:
            self._busy = False
            if not self._unbounded and self._upstream is not None:
                self._upstream.request(1)
        else:
            returned = False
            try:
                self.deliver(element)
                returned = True
            except Exception as error:  # noqa: BLE001  rule 2.13
                returned = True
                self._reject("on_next", error)
            finally:
                if not returned:
                    self.cancel()
            self._busy = False
        if self._refusal is not None:
            self._signal_refusal()

    def on_chunk(self, elements: list[Any], /) -> None:
        """Push several elements through, one after the other."""
        self._busy = True
        push, deliver = self._push, self.deliver
        left_out = 0
        pushing, returned = True, False
        try:
            for element in elements:
                if self._over:
                    break
                made = push(element)
                if made is STARVED:
                    left_out += 1
                else:
                    pushing = False
                    deliver(made)
                    pushing = True
            returned = True
        except Exception as error:  # noqa: BLE001  rules 1.4 and 2.13
            returned = True
            if pushing:
                self._fail(error)
                return
            self._reject("on_next", error)
        finally:
            if not returned:
                self._interrupted() if pushing else self.cancel()
        self._busy = False
        if left_out and not self._unbounded and self._upstream is not None:
            self._upstream.request(left_out)
        if self._refusal is not None:
            self._signal_refusal()

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure on."""
        element_or_raise(error, "on_error")
        if self._ends():
            for stage in self._segment.stages:
                stage.saw(error)
            signal_end(self._let_go(), error)
        else:
            drop("an error came after the end or the cancel", error)

    def on_complete(self) -> None:
        """Pass the end on, after what the stages have made of all elements."""
        if not self._everything:
            if self._ends():
                signal_end(self._let_go(), None)
            return
        with self._lock:
            if self._over:
                return
            assert self._tails is not None and self._subscriber is not None
            tail = self._tail = _Tail(self._tails, self._subscriber, self._demand)
            self._upstream = None
            self._subscriber, self.deliver, self._push = None, _nobody, _nobody
        tail.begin()

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        if type(n) is not int or n <= 0:
            error = refused(n)
            if error is not None:
                self._refuse(error)
                return
            n = int(n)
        if self._everything:
            self._ask_for_all(n)
            return
        if n >= UNBOUNDED:
            self._unbounded = True
        upstream = self._upstream
        if upstream is not None and not self._over:
            upstream.request(n)

    def _ask_for_all(self, n: int) -> None:
        with self._lock:
            tail, upstream = self._tail, None
            if tail is None and not self._over:
                upstream = None if self._demand else self._upstream
                self._demand = add(self._demand, n)
        if tail is not None:
            tail.request(n)
        elif upstream is not None:
            upstream.request(UNBOUNDED)

    def cancel(self) -> None:
        """End without a signal."""
        tail = self._tail
        if tail is not None:
            tail.cancel()
        elif self._ends():
            upstream = self._upstream
            self._let_go()
            if upstream is not None:
                upstream.cancel()

    def _ends(self) -> bool:
        """Be over, once."""
        with self._lock:
            ends = not self._over and self._tail is None
            if ends:
                self._over = True
        return ends

    def _let_go(self) -> Subscriber[Any]:
        """Forget both ends (rule 3.13)."""
        subscriber = self._subscriber
        self._subscriber = self._upstream = self._tails = None
        self.deliver = self._push = _nobody
        assert subscriber is not None
        return subscriber

    def _fail(self, error: Exception) -> None:
        """End with the failure of a stage."""
        if not self._ends():
            self._busy = False
            drop("the source failed after the cancel", error)
            if self._refusal is not None:
                self._signal_refusal()
            return
        upstream = self._upstream
        subscriber = self._let_go()
        if upstream is not None:
            upstream.cancel()
        signal_end(subscriber, error)

    def _reject(self, signal: str, error: Exception) -> None:
        """Treat a subscriber that raised as one that cancelled (rule 2.13)."""
        subscriber = self._subscriber
        self.cancel()
        if subscriber is not None:
            left_alone(subscriber)
        drop(f"rule 2.13: the subscriber raised in {signal}", error)

    def _interrupted(self) -> None:
        """Tell who is below of a KeyboardInterrupt or its like, which passes."""
        subscriber = self._subscriber
        self.cancel()
        if subscriber is not None:
            signal_end(subscriber, InterruptionError(f"the stream was interrupted by {sys.exception()!r}"))

    def _refuse(self, error: Exception) -> None:
        """End with the error of an illegal request (rule 3.9), after a delivery that is under way."""
        tail = self._tail
        if tail is not None:
            tail.refuse(error)
            return
        with self._lock:
            if self._over or self._tail is not None:
                return
            self._over = True
            self._refusal = error
        upstream = self._upstream
        if upstream is not None:
            upstream.cancel()
        if not self._busy:
            self._signal_refusal()

    def _signal_refusal(self) -> None:
        with self._lock:
            error, self._refusal = self._refusal, None
        if error is not None:
            signal_end(self._let_go(), error)


_ALONE = Segment(())


class _Tail(Run):
    """Deliver what follows when upstream has completed; its subscriber has its subscription already."""

    __slots__ = ()

    def __init__(self, tails: Callable[[], Iterator[Any]], subscriber: Subscriber[Any], demand: int) -> None:
        super().__init__(_ALONE, lambda _: tails(), None, subscriber)
        self._gate.final = True  # upstream is used up, so the end may be looked for without demand
        self._demand = demand

    def begin(self) -> None:
        """Serve the demand that is there."""
        self._drain()

    def _near_end(self) -> bool:
        return not self._held

    def refuse(self, error: Exception) -> None:
        """End with the error of an illegal request."""
        self._refuse(error)
