"""hot: the emitting end of a stream with any number of subscribers.

Every subscriber has an emitter of its own, with its own bound, so what one does not take is no concern of the others.
An element is put into all queues under one lock, so all see the same order whoever emits; a queue's own lock is the
only one taken inside of it. Elements are delivered when the lock is gone. The one policy under which a slow
subscriber holds back the others is Overflow.BUFFER: an element that one of them has no room for is refused, and nobody
gets it.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any, NoReturn

from penstock.engine.arguments import stays_here
from penstock.engine.dropped import drop
from penstock.engine.emitter import EmitResult, Emitter, Overflow
from penstock.engine.outlet import Outlet
from penstock.spec.interfaces import Subscriber


class Hot:
    """Hold the subscribers of the moment, the latest elements, and the end."""

    __slots__ = ("_emitters", "_error", "_kept", "_lock", "_terminated")

    def __init__(self) -> None:
        self._lock = Lock()
        self._emitters: list[Emitter[Any]] = []
        self._kept: deque[Any] = deque()
        self._terminated = False
        self._error: Exception | None = None

    @property
    def subscribers(self) -> int:
        """Return how many are subscribed."""
        return len(self._emitters)

    @property
    def requested(self) -> int:
        """Return how many elements every subscriber has asked for, not counting those on their way."""
        with self._lock:
            emitters = list(self._emitters)
        return min([emitter.requested for emitter in emitters], default=0)

    def join(self, downstream: Subscriber[Any], overflow: Overflow, size: int) -> None:
        """Add a subscriber; it gets what is kept first."""
        outlet: Outlet[Any] = Outlet(downstream)
        with self._lock:
            emitter: Emitter[Any] = Emitter("subject", outlet, overflow, size + len(self._kept))
            emitter.on_close(lambda: self._leave(emitter))
            outlet.queue.extend(self._kept)
            terminated, error = self._terminated, self._error
            if not terminated:
                self._emitters.append(emitter)
        if terminated:
            outlet.complete(error)
        outlet.open()

    def _leave(self, emitter: Emitter[Any]) -> None:
        with self._lock:
            if emitter in self._emitters:
                self._emitters.remove(emitter)

    def emit(self, element: Any, overflow: Overflow, kept: int) -> EmitResult:
        """Pass an element on to all, or say why not."""
        if element is None:
            raise TypeError("emit: None is not an element (rule 2.13)")
        emitters = self._emitters
        # Where one listens there is no order to agree on.
        if len(emitters) == 1 and not kept and emitters[0].hand_on(element):
            return EmitResult.OK
        with self._lock:
            if self._terminated:
                return EmitResult.TERMINATED
            emitters = list(self._emitters)
            if overflow is Overflow.BUFFER and any(emitter.full for emitter in emitters):
                return EmitResult.OVERFLOW
            if kept:
                if len(self._kept) == kept:
                    self._kept.popleft()
                self._kept.append(element)
            results = [emitter.put(element) for emitter in emitters]
            if overflow is Overflow.ERROR and EmitResult.OVERFLOW in results:
                self._emitters = [one for one, result in zip(emitters, results, strict=True) if result is EmitResult.OK]
        for emitter in emitters:
            emitter.tell()
        if EmitResult.OVERFLOW in results:
            return EmitResult.OVERFLOW
        return EmitResult.OK if kept or EmitResult.OK in results else EmitResult.CANCELLED

    def end(self, error: Exception | None) -> EmitResult:
        """End the stream for all, and for those who come later."""
        with self._lock:
            late, self._terminated = self._terminated, True
            if not late:
                self._error = error
            emitters, self._emitters = self._emitters, []
        if late:
            if error is not None:
                drop("a subject failed after the end", error)
            return EmitResult.TERMINATED
        for emitter in emitters:
            emitter.end(error)
        return EmitResult.OK

    def __reduce__(self) -> NoReturn:
        raise stays_here(
            "subject", "a subject", "what is handed to one would not reach the other; make it where it is used"
        )
