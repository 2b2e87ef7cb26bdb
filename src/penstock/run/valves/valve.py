"""valve: the way into a run, which counts what passes and can be closed; what has passed by then goes on to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import length_hint
from threading import Lock
from typing import Any, Protocol

from penstock.engine.grounds.cold_paths import nobody
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.upstream import Queued
from penstock.engine.places.threads import AT_ONCE
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull
from penstock.engine.weaving.segment import close
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Source

_KNOWN = frozenset(map(type, () if AT_ONCE else (iter(range(0)), iter(()), iter(b""))))
"""Iterators over what never changes; they know how much is left, and can be told to be at the end.

They are told by another thread than the one that reads them, so there are none where threads run at the same time.
"""


class Passage(Protocol):
    """A way in that a valve closes."""

    @property
    def demand(self) -> int:
        """Return how many elements are asked for and have not come."""
        ...

    def close(self) -> None:
        """Let nothing more in."""
        ...


class Valve:
    """A valve that counts the elements of one run's source, and ends it when told."""

    __slots__ = ("_counted", "_read", "_taps", "closed", "lock")

    def __init__(self) -> None:
        self.lock = Lock()
        """Held where an element passes, so that it passes whole, and is counted, or not at all."""
        self._taps: list[Passage] = []
        self.closed = False
        self._counted = 0
        self._read: list[tuple[Any, int]] = []
        """Iterators that are read as they are, with the number of their elements."""

    @property
    def rows(self) -> int:
        """Return how many elements have passed; one that another thread reads just as it is closed may be left out."""
        return self._counted + sum([length - length_hint(iterator) for iterator, length in self._read])

    def count(self, rows: int) -> None:
        """Count elements that pass; while the lock is held, or by the one thread that passes any."""
        self._counted += rows

    @property
    def demand(self) -> int:
        """Return how many elements are asked for and have not come."""
        with self.lock:
            return sum(tap.demand for tap in self._taps)

    def close(self) -> None:
        """Let nothing more in: the source is cancelled, and what follows sees a completion."""
        with self.lock:
            self.closed = True
            taps = list(self._taps)
            for iterator, length in self._read:
                self._counted += length - length_hint(iterator)
                iterator.__setstate__(length)  # so that it is used up
            self._read = []
        for tap in taps:
            tap.close()

    def enter(self, tap: Passage) -> None:
        """Know of a subscription, or of what waits for one, as long as it lasts."""
        with self.lock:
            self._taps.append(tap)

    def leave(self, tap: Passage) -> None:
        """Forget it."""
        with self.lock:
            if tap in self._taps:
                self._taps.remove(tap)

    def watch(self, opener: Opener[Any], gate: LoopGate | None) -> Iterator[Any]:
        """Iterate until the end or until the valve is closed; behind a closed one nothing is opened."""
        if self.closed:
            return iter(())
        iterator = opener(gate)
        if type(iterator) not in _KNOWN:
            if gate is not None:
                gate.opened(iterator)
            return self._watched(iterator)
        with self.lock:  # it knows how far it was read, so nothing is done for each element
            if self.closed:
                return iter(())
            self._read = [*self._read, (iterator, length_hint(iterator))]
        return iterator

    def _watched(self, iterator: Iterator[Any]) -> Iterator[Any]:
        try:
            if self.closed:
                return
            for element in iterator:
                self._counted += 1
                yield element
                if self.closed:
                    return
        finally:
            close(iterator)


class _Tap(Queued):
    """The valve on one subscription."""

    def __init__(self, valve: Valve, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self.outlet.on_request = self.request
        self.outlet.on_taken = None
        self._valve = valve
        self._pass_on: Callable[[Any], None] = downstream.on_next

    def closed(self) -> None:
        self._pass_on = nobody  # rule 3.13
        self._valve.leave(self)

    @property
    def demand(self) -> int:
        return max(0, self.outlet.demand - len(self.outlet.queue))

    def subscribed(self) -> None:
        self._valve.enter(self)
        self.outlet.open()
        if self._valve.closed:
            self.close()

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        if not self.outlet.hand_on(self._pass_on, element):
            self.on_chunk([element])
            return
        valve = self._valve
        with valve.lock:  # behind the element: where it is closed first, nothing is handed on
            valve.count(1)

    def on_chunk(self, elements: list[Any], /) -> None:
        valve = self._valve
        with valve.lock:
            if valve.closed:
                return  # the publisher had not yet heard of the end (rule 2.8)
            valve.count(len(elements))
            self.outlet.queue.extend(elements)
        self.outlet.wake()

    def close(self) -> None:
        self.cancel()
        self.outlet.complete()


@dataclass(frozen=True, slots=True, eq=False)
class Valved(Source[Any]):
    """A chain with a valve behind it.

    Emits when the chain does. Backpressures when downstream does. Completes when the chain does or the valve is closed.
    Cancels the chain.
    """

    stream: Chain
    valve: Valve
    iterates: bool = True
    """Whether a chain that can be iterated is; that is faster, and it can be closed only between two elements."""

    def opener(self) -> Opener[Any] | None:
        """Iterate, counting."""
        opener = pull(self.stream) if self.iterates else None
        return None if opener is None else partial(self.valve.watch, opener)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe, counting; behind a closed valve there is nothing to subscribe to."""
        tap = _Tap(self.valve, downstream)
        if self.valve.closed:
            tap.subscribed()
        else:
            connect(self.stream, tap)
