"""drain: the loop that delivers an iterator's elements under demand.

Theory of operation. Exactly one thread drains at a time: the one that adds demand while no thread drains. The others
leave their demand behind and return, and so does a `request` made inside `on_next`, which keeps the stack flat (rules
3.2, 3.3). The lock guards four small facts and is never held while a user's code runs.

- `_draining`: a thread is in the loop, or no thread will be again.
- `_demand`: what was requested and not yet taken into a batch; UNBOUNDED is never counted down (rule 3.17).
- `_gate`: the thread that sets `over` ends the run; the woven loop looks at it too, so that a run whose filter rejects
  everything stops.
- `_held`: an element that was computed when the end was looked for, and waits for demand.

A run starts as draining, so demand that arrives inside `on_subscribe` is served after it has returned (rule 1.3).
The end is delivered with the last element where it is known: a sized source that is used up, or a stage that has had
all it takes (`final`).

Where no stage stands between and the elements lie ready in a list or the like, a subscriber that takes chunks gets
them: no code of a user runs for them, so none has to wait for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice, repeat
from operator import is_
from threading import Lock
from typing import Any

from penstock.engine.grounds.cold_paths import interruption, left_alone, rejected, signal_end, welcome
from penstock.engine.weaving.segment import STARVED, Segment, close_quietly
from penstock.engine.words.demand import UNBOUNDED, add, legal
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Basket, Part, basket_of, chunks_of
from penstock.spec.interfaces import Subscriber
from penstock.stage import LeftLoop, LoopGate, Opener

BATCH = 1 << 20  # small integers count faster than 2**63

# Iterators that lie ready and never fail, and whether None may be among their items.
READY: dict[type, bool] = {
    type(iter([])): True,
    type(iter(())): True,
    type(iter(range(0))): False,
    type(iter("")): False,
    type(iter(b"")): False,
}
CHUNK = 128
_END = object()


def _given(source: Iterator[Any], _: LoopGate | None) -> Iterator[Any]:
    return source


def _raising(error: Exception, _: LoopGate | None) -> Iterator[Any]:
    raise error


class DrainRun(Part):
    """A subscription to an iterated source: it delivers what was asked for, closes the source and signals the end."""

    __slots__ = (
        "_basket", "_demand", "_draining", "_failure", "_gate", "_held", "_iterator", "_lock", "_loop", "_opener",
        "_ready", "_segment", "_stop", "_subscriber",
    )  # fmt: skip

    def __init__(self, segment: Segment, opener: Opener[Any], size: int | None, subscriber: Subscriber[Any]) -> None:
        self._lock = Lock()
        self._draining = True
        self._demand = 0
        self._gate = LoopGate()
        self._held = False
        self._failure: Exception | None = None
        self._segment = segment
        self._opener: Opener[Any] | None = opener
        if size == 0:
            self._gate.finish()
        self._ready: Iterator[Any] | None = None
        self._loop: Iterator[Any] | None = None
        self._iterator: Iterator[Any] | None = None
        self._subscriber: Subscriber[Any] | None = subscriber
        self._basket = basket_of(subscriber)
        self._stop: list[None] | None = None
        """What a loop looks at that puts elements into a basket, and at no other gate."""

    def start(self) -> None:
        """Signal `on_subscribe`, then serve the demand it left behind."""
        assert self._subscriber is not None
        if welcome(self._subscriber, self, self._abandon):
            self._drain()

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        if type(n) is not int or n <= 0:
            n = legal(n, self._end)
            if not n:
                return
        with self._lock:
            if self._gate.over:
                return  # rule 3.6
            self._demand = add(self._demand, n)
            if self._draining:
                return
            self._draining = True
        self._drain()

    def cancel(self) -> None:
        """End the run without a signal."""
        self._end(None)

    def _end(self, failure: Exception | None) -> None:
        """Be over, with the error of an illegal request (rule 3.9) or without a signal."""
        with self._lock:
            if self._gate.over:
                return  # rule 3.7
            self._gate.over = True
            self._failure = failure
            if self._draining:
                if self._stop is not None:
                    self._stop.append(None)
                return
            self._draining = True
        self._stopped()

    def _drain(self) -> None:
        """Deliver until there is no more demand, no more element, or a reason to stop."""
        returned = False
        try:
            self._drain_batches()
            returned = True
        finally:
            if not returned:
                self._interrupted()

    def _drain_batches(self) -> None:
        gate = self._gate
        while True:
            with self._lock:
                if gate.over:
                    break
                demand = self._demand
                if not demand and (self._held or not gate.spent()):  # else the end is found without reading
                    self._draining = False
                    gate.rested = True
                    return
                todo = demand if demand < BATCH else BATCH
                if demand < UNBOUNDED:
                    self._demand = demand - todo
            if not todo:
                if self._look_for_end():
                    return
            elif self._deliver(todo):
                return
        self._stopped()

    def _deliver(self, todo: int) -> bool:
        """Deliver up to `todo` elements; tell whether the drain is over."""
        gate = self._gate
        self._held = False
        subscriber = self._subscriber
        assert subscriber is not None
        if self._iterator is None:
            self._open()
        if self._ready is not None:
            return self._deliver_chunks(self._ready, todo)
        on_next = subscriber.on_next
        iterator = self._iterator
        assert iterator is not None
        if self._basket is not None:
            return self._fill(self._basket, iterator, todo)
        try:
            for element in iterator:
                if element is STARVED:
                    return self._starved(todo)
                try:
                    on_next(element)
                except Exception as error:  # noqa: BLE001  rule 2.13
                    return self._rejected(error)
                todo -= 1
                if gate.over or not todo:
                    return False
        except LeftLoop:
            return False
        except Exception as error:  # noqa: BLE001  rule 1.4: whatever it is, it is signalled
            self._finish(error)
            return True
        self._finish(None)
        return True

    def _fill(self, basket: Basket, iterator: Iterator[Any], todo: int) -> bool:
        """Deliver up to `todo` elements, where most of them need no signal; tell whether the drain is over."""
        gate, put = self._gate, basket.put
        stop = self._stop = basket.stop
        assert self._subscriber is not None
        on_next = self._subscriber.on_next
        while todo:
            room = basket.room(todo)
            if gate.over:  # looked at behind that, which empties `stop`
                if room:
                    basket.filled()
                return False
            element: Any = None
            put_in, failure = 0, None
            try:
                if not room:
                    element = next(iterator, _END)
                for element in islice(iterator, room):
                    if element is STARVED:
                        break
                    put(element)
                    if stop:
                        break
            except LeftLoop:
                element = _END
            except Exception as error:  # noqa: BLE001  rule 1.4: whatever it is, it is signalled
                failure = error
            if room:
                put_in = basket.filled()
                if put_in < room and not stop and element is not STARVED:
                    element = _END  # there was nothing else to end the loop
            if failure is not None or element is _END:
                self._finish(failure)
                return True
            todo -= put_in
            if element is STARVED:
                return self._starved(todo)
            if not room:
                try:
                    on_next(element)
                except Exception as error:  # noqa: BLE001  rule 2.13
                    return self._rejected(error)
                todo -= 1
        return False

    def _deliver_chunks(self, ready: Iterator[Any], todo: int) -> bool:
        """Deliver elements that lie ready, several at a time."""
        gate = self._gate
        on_chunk: Callable[[list[Any]], None] = self._subscriber.on_chunk  # type: ignore[union-attr]
        while todo and not gate.over:
            elements = list(islice(ready, min(todo, CHUNK)))
            if not elements:
                self._finish(None)
                return True
            if READY[type(ready)] and any(map(is_, elements, repeat(None))):
                self._ready = None  # the loop knows what to say to that
                rest = chain(elements, ready)
                self._iterator = self._loop = self._segment.open(partial(_given, rest), gate)
                return self._deliver(todo)
            todo -= len(elements)
            try:
                on_chunk(elements)
            except Exception as error:  # noqa: BLE001  rule 2.13
                return self._rejected(error)
        return False

    def _rejected(self, error: Exception) -> bool:
        """Be over, since the subscriber has raised; tell that."""
        self._abandon()
        rejected("on_next", error)
        return True

    def _open(self) -> Iterator[Any]:
        """Open the loop over the source on its first use."""
        opener = self._opener
        assert opener is not None
        segment = self._segment
        if not segment.stages and chunks_of(self._subscriber) is not None:
            opener = self._look_at(opener)
        self._iterator = self._loop = segment.open(opener, self._gate) if self._ready is None else self._ready
        return self._iterator

    def _look_at(self, opener: Opener[Any]) -> Opener[Any]:
        """Open the source to see whether its elements lie ready; return how to go on with it."""
        try:
            source = opener(self._gate)
        except Exception as error:  # noqa: BLE001  the loop says where it came from
            return partial(_raising, error)
        if type(source) in READY:
            self._ready = source
            self._gate.opened(source)
            self._segment.ready(source)
        return partial(_given, source)

    def _look_for_end(self) -> bool:
        """Resume the loop once: it ends, or a stage's tail comes first and is held for later demand."""
        try:
            element = next(self._iterator or self._open(), _END)
        except LeftLoop:
            return False
        except Exception as error:  # noqa: BLE001  rule 1.4
            self._finish(error)
            return True
        if element is _END:
            self._finish(None)
            return True
        if element is STARVED:
            return self._starved(0)
        assert self._loop is not None
        self._iterator = chain((element,), self._loop)
        self._held = True
        return False

    def _starved(self, todo: int) -> bool:
        """Handle an empty queue; only a fed run has one."""
        raise NotImplementedError

    def _finish(self, error: Exception | None) -> None:
        """Signal the end, unless the run was cancelled just before."""
        with self._lock:
            cancelled = self._gate.over
            self._gate.over = True
        if cancelled:
            if error is not None:
                drop("the source failed after the cancel", error)
            self._stopped()
            return
        signal_end(self._let_go(), error)

    def _stopped(self) -> None:
        """Let go of everything after a cancel, or signal the error of an illegal request."""
        subscriber = self._let_go()
        failure, self._failure = self._failure, None
        if failure is not None:
            signal_end(subscriber, failure)

    def _interrupted(self) -> None:
        """Let go behind a KeyboardInterrupt or its like, which passes; if the loop raised it, tell who is below."""
        raised_above = getattr(self._loop, "gi_frame", self) is None
        subscriber = self._subscriber
        self._abandon(silently=not raised_above)
        if raised_above and subscriber is not None:
            signal_end(subscriber, interruption())

    def _abandon(self, *, silently: bool = True) -> None:
        """Be over; a subscriber that raised counts as one that cancelled (rule 2.13)."""
        with self._lock:
            self._gate.over = True
        if self._subscriber is not None:
            subscriber = self._let_go()
            if silently:
                left_alone(subscriber)

    def _let_go(self) -> Subscriber[Any]:
        """Close the source and forget both ends (rule 3.13)."""
        subscriber, self._subscriber = self._subscriber, None
        loop, self._loop, self._iterator, self._opener = self._loop, None, None, None
        self._gate.let_go()
        self._ready = self._basket = self._stop = None
        close_quietly(loop)  # the end has been decided already
        assert subscriber is not None
        return subscriber
