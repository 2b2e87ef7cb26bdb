"""pushed_run: a run of stages behind a joint whose elements are pushed straight through.

What `FedRun` does for every segment with a queue and a loop that rests, this does with a call where no stage makes
several elements of one. Stages make at most one element of one, and demand passes as it is; when an element is dropped,
another one is asked for. Where stages count, `counted_run.py` has a run for them.

Signals are serial, since upstream's are. Only an illegal request (rule 3.9) may come from elsewhere: `_busy` is raised
before `_over` is read, and `_over` before `_busy` is, so that its error never overtakes a delivery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from penstock.engine.grounds.cold_paths import interruption, left_alone, nobody, rejected, signal_end, too_late, welcome
from penstock.engine.grounds.outlet import accepts, element_or_raise
from penstock.engine.weaving.segment import STARVED, Segment
from penstock.engine.words.demand import UNBOUNDED, legal
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part, height_of
from penstock.errors import InterruptionError
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import LoopGate


def _nothing(_: LoopGate) -> Iterator[Any]:
    return iter(())


class PushRun(Part):
    """The subscriber of a joint and the subscription of what follows it."""

    __slots__ = (
        "_arrived", "_asked", "_busy", "_counts", "_folded", "_last", "_lock", "_over", "_push", "_refusal", "_segment",
        "_stands", "_stop", "_subscriber", "_tails", "_unbounded", "_upstream", "chunk", "deliver", "fold", "height",
        "push_many",
    )  # fmt: skip

    def __init__(self, segment: Segment, subscriber: Subscriber[Any], *, counts: bool = False) -> None:
        self._counts = counts
        self._asked = self._arrived = 0
        self._last = False
        """Whether nothing more is read of upstream."""
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
        self.chunk: Iterator[Any] = iter(())
        """What is left of the elements that came together, for a listener that counts them."""
        self._push: Callable[[Any], Any] = nobody
        self.push_many: Callable[[Any], Any] = nobody
        """The same for elements that come together; a listener has another, since they are counted already."""
        self.fold: Callable[[Iterator[Any]], None] | None = None
        """A loop over elements that come together, where nothing comes of them before the end."""
        self._folded: list[Any] = []
        """The elements that it reads; it is emptied to end it."""
        self._tails: Callable[[LoopGate], Iterator[Any]] = _nothing
        self._stands: Callable[[], dict[int, int]] = dict

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, or refuse a second one."""
        if not accepts(subscription, self._upstream, closed=self._over or self._last):
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
        opened = self._segment.open_pushed(self)  # pyright: ignore[reportArgumentType]  it binds what slots hold
        self._push, self._tails, self._stands = opened
        if self.push_many is nobody:
            self.push_many = self._push

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
            self._rest()
            return
        finally:
            if not returned:
                self._fail(interruption()) if pushing else self._abandon()
        self._busy = False
        if self._refusal is not None:
            self._signal_refusal()
        if self._counts:
            self._arrived += 1
            if self._last or self._arrived >= self._asked:
                self._go_on()
        elif made is STARVED and not self._unbounded and (upstream := self._upstream) is not None:
            upstream.request(1)  # looked up once: a cancel on another thread takes it away

    def on_chunk(self, elements: list[Any], /) -> None:
        """Push several elements through, one after the other, until the run is over."""
        self._busy = True
        left_out = 0
        pushing, returned = True, False
        try:
            if (fold := self.fold) is not None:  # looked up once: a cancel on another thread takes it away
                self._fold(fold, elements)
                left_out = len(elements)
            else:
                push, deliver = self.push_many, self.deliver
                self.chunk = chunk = iter(elements)
                for element in chunk if not self._stop else ():
                    made = push(element)
                    if made is STARVED:
                        left_out += 1
                    else:
                        pushing = False
                        deliver(made)
                        pushing = True
                    if self._stop:
                        break
            returned = True
        except Exception as error:  # noqa: BLE001  rules 1.4 and 2.13
            returned = True
            self._failed(error, pushing=pushing)
        finally:
            if not returned:
                self._fail(interruption()) if pushing else self._abandon()
        self._rest()
        if self._counts:
            self._arrived += len(elements)
            if self._last or self._arrived >= self._asked:
                self._go_on()
        elif left_out and not self._unbounded and (upstream := self._upstream) is not None:
            upstream.request(left_out)

    def _fold(self, fold: Callable[[Iterator[Any]], None], elements: list[Any]) -> None:
        """Have the loop read elements, from a copy of the list: it ends where that is emptied."""
        self._folded = own = [*elements]
        self.chunk = iter(own)
        if self._stop:  # looked at behind that, so that no cancel is missed
            own.clear()
        fold(self.chunk)

    def _go_on(self) -> None:
        """End behind the last element, or ask for more if nothing is owed."""
        raise NotImplementedError  # only a run that counts knows

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
            self._folded.clear()
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
        self.deliver = self._push = self.push_many = nobody
        self.fold, self._folded = None, []
        self._tails, self._stands = _nothing, dict
        assert subscriber is not None
        return subscriber

    def _fail(self, error: Exception) -> None:
        """End with the failure of a stage, or what is told of a KeyboardInterrupt or its like, which passes."""
        if not self._ends():
            if not isinstance(error, InterruptionError):
                drop("the source failed after the cancel", error)
            self._rest()
            return
        upstream, subscriber = self._upstream, self._let_go()
        try:
            if upstream is not None:
                upstream.cancel()
        finally:
            signal_end(subscriber, error)

    def _abandon(self) -> None:
        """Be over behind a subscriber that raised, or a KeyboardInterrupt and its like, which pass (rule 2.13)."""
        subscriber = self._subscriber
        self.cancel()
        left_alone(subscriber)

    def _refuse(self, error: Exception) -> None:
        """End with an error that comes from elsewhere (rule 3.9), after a delivery that is under way."""
        with self._lock:
            if self._over:
                return
            upstream = self._upstream  # before the one who delivers lets go of it
            self._over = self._stop = True
            self._folded.clear()
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
