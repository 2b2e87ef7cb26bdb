"""pushed_run: a run of stages behind a joint whose elements are pushed straight through.

What `FedRun` does for every segment with a queue and a loop that rests, this does with a call where no stage makes
several elements of one. There are two kinds. In a `PushRun` stages make at most one element of one, and demand passes
as it is; when an element is dropped, another one is asked for. A `CountedRun` counts what was asked for, asked of
upstream, has come and was delivered, for stages that take only so many, need several to make one, end early, or have
something to add at the end; that is delivered as it is asked for, by a separate run.

Signals are serial, since upstream's are. Only an illegal request (rule 3.9) may come from elsewhere: `_busy` is raised
before `_over` is read, and `_over` before `_busy` is, so that its error never overtakes a delivery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from penstock.engine.grounds.cold_paths import interruption, left_alone, nobody, rejected, signal_end, too_late, welcome
from penstock.engine.grounds.outlet import accepts, element_or_raise
from penstock.engine.runs.drain import DrainRun
from penstock.engine.weaving.segment import STARVED, Segment
from penstock.engine.words.demand import UNBOUNDED, add, legal
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription

MOST_STAGES = 100


def pushed(segment: Segment, subscriber: Subscriber[Any]) -> PushRun | None:
    """Return the run that pushes elements through a segment, or None if a stage of it needs a loop."""
    if segment.expands or segment.headed or not 0 < len(segment.stages) <= MOST_STAGES or not segment.one_loop:
        return None
    counts = segment.capped or segment.ends or segment.tailed or segment.calls or segment.gathers
    return CountedRun(segment, subscriber) if counts else PushRun(segment, subscriber)


class PushRun(Part):
    """The subscriber of a joint and the subscription of what follows it."""

    __slots__ = (
        "_busy", "_lock", "_over", "_push", "_refusal", "_segment", "_stands", "_stop", "_subscriber", "_tails",
        "_unbounded", "_upstream", "deliver", "height",
    )  # fmt: skip

    def __init__(self, segment: Segment, subscriber: Subscriber[Any]) -> None:
        self.height = height_of(subscriber) + 1
        self._segment = segment
        self._subscriber: Subscriber[Any] | None = subscriber
        self.deliver: Callable[[Any], None] = subscriber.on_next
        """What takes the results; a listener may stand in between for one of them."""
        self._lock = Lock()
        self._over = False
        self._stop = False
        """Whether elements that still come are ignored: it is over, or the stages have had enough."""
        self._busy = False
        self._refusal: Exception | None = None
        self._unbounded = False
        self._upstream: Subscription | None = None
        self._push: Callable[[Any], Any] = nobody
        self._tails: Callable[[], Iterator[Any]] = tuple  # type: ignore[assignment]
        self._stands: Callable[[], dict[int, int]] = dict

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, or refuse a second one."""
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        subscriber, failure = self._subscriber, None
        assert subscriber is not None
        self._busy = True
        try:
            self._begin()
        except Exception as error:  # noqa: BLE001  rule 1.4: a variable of a stage could not be set
            failure = error
        if welcome(subscriber, self, self._abandon) and failure is not None:
            self._refuse(failure)
        self._rest()

    def _begin(self) -> None:
        """Set the variables of the stages."""
        self._push, self._tails, self._stands = self._segment.open_pushed(self)  # pyright: ignore[reportArgumentType]  it binds what slots hold

    def last(self) -> None:
        """Be told by a stage that nothing more is read of upstream."""
        raise NotImplementedError  # such a stage is counted

    def on_next(self, element: Any, /) -> None:
        """Push an element through."""
        if element is None:
            element_or_raise(element, "on_next")
        self._busy = True
        if self._stop:
            self._rest()
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
                rejected("on_next", error)
            finally:
                if not returned:
                    self._abandon()
            self._busy = False
        if self._refusal is not None:
            self._signal_refusal()

    def on_chunk(self, elements: list[Any], /) -> None:
        """Push several elements through, one after the other."""
        left_out = self._push_all(elements)
        if left_out and not self._unbounded and self._upstream is not None:
            self._upstream.request(left_out)

    def _push_all(self, elements: list[Any]) -> int:
        """Push elements through until the run is over; return how many were dropped."""
        self._busy = True
        push, deliver = self._push, self.deliver
        left_out = 0
        pushing, returned = True, False
        try:
            for element in elements:
                if self._stop:
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
            self._failed(error, pushing=pushing)
        finally:
            if not returned:
                self._interrupted() if pushing else self._abandon()
        self._rest()
        return left_out

    def _failed(self, error: Exception, *, pushing: bool) -> None:
        """End with the failure of a stage, or behind a subscriber that raised."""
        if pushing:
            self._fail(error)
        else:
            self._abandon()
            rejected("on_next", error)

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure on."""
        element_or_raise(error, "on_error")
        if self._ends():
            for stage in self._segment.stages:
                stage.saw(error)
            signal_end(self._let_go(), error)
        else:
            too_late(error)

    def on_complete(self) -> None:
        """Pass the end on."""
        if self._ends():
            signal_end(self._let_go(), None)

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        if type(n) is not int or n <= 0:
            n = legal(n, self._refuse)
            if not n:
                return
        if n >= UNBOUNDED:
            self._unbounded = True
        upstream = self._upstream
        if upstream is not None and not self._over:
            upstream.request(n)

    def cancel(self) -> None:
        """End without a signal."""
        with self._lock:
            again, self._over = self._over, True
            self._stop = True
            self._refusal = None  # rule 1.8: an error that waits for a delivery is not signalled any more
        if not again:
            upstream = self._upstream
            self._let_go()
            if upstream is not None:
                upstream.cancel()

    def _rest(self) -> None:
        """Be done with a signal, and tell the error of an illegal request that came meanwhile."""
        self._busy = False
        if self._refusal is not None:
            self._signal_refusal()

    def _ends(self) -> bool:
        """Be over, once."""
        with self._lock:
            ends, self._over = not self._over, True
            self._stop = True
        return ends

    def _let_go(self) -> Subscriber[Any]:
        """Forget both ends (rule 3.13)."""
        subscriber = self._subscriber
        self._subscriber = self._upstream = None
        self.deliver = self._push = nobody
        self._tails, self._stands = tuple, dict  # type: ignore[assignment]
        assert subscriber is not None
        return subscriber

    def _fail(self, error: Exception) -> None:
        """End with the failure of a stage."""
        if not self._ends():
            drop("the source failed after the cancel", error)
            self._rest()
            return
        upstream = self._upstream
        subscriber = self._let_go()
        if upstream is not None:
            upstream.cancel()
        signal_end(subscriber, error)

    def _abandon(self) -> None:
        """Be over behind a subscriber that raised, or a KeyboardInterrupt and its like, which pass (rule 2.13)."""
        subscriber = self._subscriber
        self.cancel()
        if subscriber is not None:
            left_alone(subscriber)

    def _interrupted(self) -> None:
        """Tell who is below of a KeyboardInterrupt or its like, which passes."""
        subscriber = self._subscriber
        self.cancel()
        if subscriber is not None:
            signal_end(subscriber, interruption())

    def _refuse(self, error: Exception) -> None:
        """End with an error that comes from elsewhere (rule 3.9), after a delivery that is under way."""
        with self._lock:
            if self._over:
                return
            upstream = self._upstream  # before the one who delivers lets go of it
            self._over = self._stop = True
            self._refusal = error
        if upstream is not None:
            upstream.cancel()
        if not self._busy:
            self._signal_refusal()

    def _signal_refusal(self) -> None:
        with self._lock:
            error, self._refusal = self._refusal, None
        if error is not None:
            signal_end(self._let_go(), error)


class CountedRun(PushRun):
    """A PushRun of stages for which demand has to be counted.

    `_requested`, `_asked` and `_tail` are guarded by the lock; `_delivered` and `_arrived` are written by the thread
    that brings elements. An element is counted as delivered before it is counted as arrived, so that a thread that asks
    meanwhile asks for too little; the thread that brings elements asks again when nothing is owed.
    """

    __slots__ = ("_arrived", "_asked", "_beginning", "_begun", "_delivered", "_last", "_requested", "_tail")

    def __init__(self, segment: Segment, subscriber: Subscriber[Any]) -> None:
        super().__init__(segment, subscriber)
        self._requested = self._asked = self._arrived = self._delivered = 0
        self._beginning = self._begun = False
        self._last = False
        """Whether nothing more is read of upstream."""
        self._tail: _Tail | None = None
        on_next = subscriber.on_next

        def counted(element: Any) -> None:
            self._delivered += 1
            on_next(element)

        self.deliver = counted

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription; a stage that takes no element needs no request to end."""
        if self._last:
            element_or_raise(subscription, "on_subscribe")
            subscription.cancel()  # rule 2.5
            return
        super().on_subscribe(subscription)
        if self._segment.never_asks and self._upstream is subscription:
            self.last()
            self._leave()
            self._finish()

    def _begin(self) -> None:
        if not self._segment.calls:  # a user's function is not called before the first request
            super()._begin()
            self._begun = True

    def _begins(self) -> None:
        """Set the variables of the stages, unless another thread does or did, and go on with what has come since."""
        with self._lock:
            if self._beginning or self._over:
                return
            self._beginning = True
        returned = False
        try:
            super()._begin()
            returned = True
        except Exception as error:  # noqa: BLE001  rule 1.4
            returned = True
            self._refuse(error)
            return
        finally:
            if not returned:
                self._interrupted()
        self._begun = True
        if self._last:
            self._finish()
        else:
            self._ask()

    def last(self) -> None:
        """Be told by a stage that nothing more is read of upstream."""
        self._last = self._stop = True

    def _leave(self) -> None:
        """Cancel upstream, of which nothing more is read."""
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()

    def on_next(self, element: Any, /) -> None:
        """Push an element through."""
        if element is None:
            element_or_raise(element, "on_next")
        self._busy = True
        if self._stop:
            self._rest()
            return  # rule 2.8
        pushing, returned = True, False
        try:
            made = self._push(element)
            if made is not STARVED:
                pushing = False
                self.deliver(made)
            returned = True
        except Exception as error:  # noqa: BLE001  rules 1.4 and 2.13
            returned = True
            self._failed(error, pushing=pushing)
        finally:
            if not returned:
                self._interrupted() if pushing else self._abandon()
        self._busy = False
        if self._refusal is not None:
            self._signal_refusal()
        self._arrived += 1
        if self._last or self._arrived >= self._asked:
            self._go_on()

    def on_chunk(self, elements: list[Any], /) -> None:
        """Push several elements through, one after the other; leave upstream behind the last one."""
        self._push_all(elements)
        self._arrived += len(elements)
        if self._last or self._arrived >= self._asked:
            self._go_on()

    def _go_on(self) -> None:
        """End behind the last element, or ask for more if nothing is owed."""
        if self._last:
            self._leave()
            self._finish()
        else:
            self._ask()

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure on, unless the stages have had enough."""
        if self._last and error is not None:
            too_late(error)
        else:
            super().on_error(error)

    def on_complete(self) -> None:
        """Pass the end on, after what the stages have made of all elements."""
        if self._last:
            return
        self.last()
        self._upstream = None
        if self._begun:
            self._finish()
        else:
            self._begins()

    def _finish(self) -> None:
        """Deliver what follows the last element, as it is asked for, or complete."""
        if not self._segment.tailed:
            super().on_complete()
            return
        with self._lock:
            if self._over:
                return
            self._over = True
            assert self._subscriber is not None
            tail = self._tail = _Tail(self._tails, self._subscriber, self._open_demand())
        self._let_go()
        tail.begin()

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        if type(n) is not int or n <= 0:
            n = legal(n, self._refuse)
            if not n:
                return
        with self._lock:
            tail = self._tail
            if tail is None:
                self._requested = add(self._requested, n)
        if tail is not None:
            tail.request(n)
        elif self._begun:
            self._ask()
        else:
            self._begins()

    def _open_demand(self) -> int:
        return UNBOUNDED if self._requested == UNBOUNDED else self._requested - self._delivered

    def _ask(self) -> None:
        """Ask upstream for what the stages need for the demand that is open."""
        with self._lock:
            demand, upstream = self._open_demand(), self._upstream
            if self._over or self._last or upstream is None or demand <= 0:
                return
            want = self._want(demand, self._asked - self._arrived)
            if want <= 0 or self._asked == UNBOUNDED:
                return
            self._asked = add(self._asked, want)
        upstream.request(want)

    def _want(self, demand: int, owed: int) -> int:
        segment = self._segment
        if segment.uncounted and self._asked:
            return 1 - owed
        if segment.gathers and owed > 0:
            return 0  # how many it lacks is known when all have come
        return segment.demand(demand, self._stands()) - owed

    def cancel(self) -> None:
        """End without a signal."""
        with self._lock:
            tail = self._tail
        if tail is None:
            super().cancel()  # which does nothing if a tail has come meanwhile
            tail = self._tail
        if tail is not None:
            tail.cancel()

    def _refuse(self, error: Exception) -> None:
        super()._refuse(error)
        if self._tail is not None:
            self._tail.refuse(error)


_ALONE = Segment(())


class _Tail(DrainRun):
    """A run that delivers what follows when nothing more is read; its subscriber has its subscription already."""

    __slots__ = ()

    def __init__(self, tails: Callable[[], Iterator[Any]], subscriber: Subscriber[Any], demand: int) -> None:
        super().__init__(_ALONE, lambda _: tails(), 0, subscriber)  # so that its end is looked for without demand
        self._demand = demand

    def begin(self) -> None:
        """Serve the demand that is there."""
        self._drain()

    def refuse(self, error: Exception) -> None:
        """End with the error of an illegal request."""
        self._refuse(error)
