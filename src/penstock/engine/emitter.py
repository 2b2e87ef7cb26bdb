"""emitter: the producing end of a source that cannot be slowed."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from enum import Enum
from functools import partial
from typing import Generic, TypeVar

from penstock.engine.context import run_in
from penstock.engine.dropped import drop
from penstock.engine.outlet import Outlet
from penstock.errors import OverflowedError

T = TypeVar("T")


class Overflow(Enum):
    """Say what happens to an element for which there is neither demand nor room."""

    BUFFER = "buffer"
    """Refuse it: the caller sees OVERFLOW and still has the element."""
    DROP = "drop"
    """Drop it: an element is only taken when it was asked for and nothing waits."""
    LATEST = "latest"
    """Hold only the latest: it takes the place of the one that waits."""
    ERROR = "error"
    """Fail the stream with OverflowedError once `size` elements wait."""


class EmitResult(Enum):
    """Say what became of an element."""

    OK = "ok"
    OVERFLOW = "overflow"
    CANCELLED = "cancelled"
    TERMINATED = "terminated"


class Emitter(Generic[T]):
    """Take elements from callbacks on any thread and pass them on under demand."""

    __slots__ = ("_context", "_on_close", "_operator", "_outlet", "_overflow", "_overflowed", "_size", "_terminated")

    def __init__(self, operator: str, outlet: Outlet[T], overflow: Overflow, size: int) -> None:
        self._context = copy_context()  # of the subscriber; callbacks have their own
        self._operator = operator
        self._outlet = outlet
        self._overflow = overflow
        self._size = size
        self._terminated = False
        self._overflowed = False
        self._on_close: list[Callable[[], None]] = []
        outlet.on_close = self._closed
        outlet.chunk = 1  # what was taken out of the queue counts no more, so no more than one is

    @property
    def requested(self) -> int:
        """Return how many elements are asked for and not yet on their way."""
        return max(0, self._outlet.demand - len(self._outlet.queue))

    @property
    def cancelled(self) -> bool:
        """Tell whether nobody listens any more."""
        return self._outlet.closed and not self._terminated

    def emit(self, element: T) -> EmitResult:
        """Pass an element on, or say why not."""
        if element is None:
            raise TypeError("emit: None is not an element (rule 2.13)")
        if self.hand_on(element):
            return EmitResult.OK
        result = self.put(element)
        self.tell()
        return result

    def hand_on(self, element: T) -> bool:
        """Deliver an element past the queue, if it was asked for and nobody is at work; tell whether it was."""
        outlet = self._outlet
        if not outlet.idle or outlet.queue or self._terminated:
            return False
        return self._context.copy().run(outlet.deliver_now, element)

    @property
    def full(self) -> bool:
        """Tell whether an element would be refused now."""
        return len(self._outlet.queue) >= self._size and not self._outlet.closed

    def widen(self, by: int) -> None:
        """Have room for more elements, or for less; whoever calls it holds the outlet's lock."""
        self._size += by

    def put(self, element: T) -> EmitResult:
        """Queue an element by the policy, without telling anybody."""
        outlet = self._outlet
        with outlet.lock:
            if self._terminated:
                return EmitResult.TERMINATED
            if outlet.closed:
                return EmitResult.CANCELLED
            # Demand is no room: a subscriber that asks for everything may still be slow to take it.
            result = EmitResult.OK
            queue = outlet.queue
            if self._overflow is Overflow.LATEST:
                if queue:
                    queue.pop()
                    result = EmitResult.OVERFLOW
                queue.append(element)
            elif self._overflow is Overflow.DROP:
                if queue or not outlet.demand:
                    return EmitResult.OVERFLOW
                queue.append(element)
            elif len(queue) < self._size:
                queue.append(element)
            else:
                result = EmitResult.OVERFLOW
                self._overflowed = self._terminated = self._overflow is Overflow.ERROR
        return result

    def tell(self) -> None:
        """Have what was queued delivered, and the failure of an overflow behind it."""
        outlet = self._outlet
        if self._overflowed:
            with outlet.lock:
                failed, self._overflowed = self._overflowed, False
            if failed:
                error = OverflowedError(
                    f"{self._operator}: {self._size} elements wait and another came; nobody asks for them"
                )
                run_in(self._context, partial(outlet.complete, error))
        elif outlet.idle:
            run_in(self._context, outlet.wake)

    def complete(self) -> EmitResult:
        """End the stream after what waits."""
        return self.end(None)

    def fail(self, error: Exception) -> EmitResult:
        """Fail the stream after what waits."""
        if not isinstance(error, Exception):
            raise TypeError(f"fail: error must be an Exception, got {error!r}")
        return self.end(error)

    def end(self, error: Exception | None) -> EmitResult:
        """End the stream after what waits, with a failure or without."""
        with self._outlet.lock:
            if self._terminated:
                result = EmitResult.TERMINATED
            elif self._outlet.closed:
                result = EmitResult.CANCELLED
            else:
                result = EmitResult.OK
                self._terminated = True
        if result is EmitResult.OK:
            run_in(self._context, partial(self._outlet.complete, error))
        elif error is not None:
            drop("an emitter failed after the end", error)
        return result

    def on_close(self, fn: Callable[[], None]) -> None:
        """Call `fn` once, when the stream has ended or nobody listens any more."""
        with self._outlet.lock:
            closed = self._outlet.closed
            if not closed:
                self._on_close.append(fn)
        if closed:
            fn()

    def _closed(self) -> None:
        with self._outlet.lock:
            callbacks, self._on_close = self._on_close, []
        for fn in callbacks:
            try:
                fn()
            except Exception as error:  # noqa: BLE001  the others must be called as well
                drop("an emitter's on_close raised", error)
