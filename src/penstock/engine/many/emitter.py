"""emitter: the producing end of a source that cannot be slowed."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.engine.grounds.seat import Seat
from penstock.engine.words.arguments import of_class
from penstock.engine.words.dropped import attempt, drop
from penstock.errors import OverflowedError

T = TypeVar("T")


class Overflow(Enum):
    """What happens to an element for which there is neither demand nor room."""

    BUFFER = "buffer"
    """Refuse it: the caller sees OVERFLOW and still has the element."""
    DROP = "drop"
    """Drop it: an element is only taken when it was asked for and nothing waits."""
    LATEST = "latest"
    """Hold only the latest: it takes the place of the one that waits."""
    ERROR = "error"
    """Fail the stream with OverflowedError once `size` elements wait."""


class EmitResult(Enum):
    """What became of an element."""

    OK = "ok"
    OVERFLOW = "overflow"
    CANCELLED = "cancelled"
    TERMINATED = "terminated"


ELSEWHERE = {
    "next": "emit", "on_next": "emit", "send": "emit", "push": "emit", "put": "emit", "offer": "emit",
    "error": "fail", "on_error": "fail", "throw": "fail",
    "completed": "complete", "on_completed": "complete", "on_complete": "complete", "close": "complete",
    "end": "complete",
}  # fmt: skip
"""What the calls of an emitter or a subject are named in other libraries."""


# To look a member up in its Enum costs as much as two calls.
OK, OVERFLOW, CANCELLED, TERMINATED = EmitResult
BUFFER, DROP, LATEST, ERROR = Overflow


class Emitter(Generic[T]):
    """The end of a stream that takes elements from callbacks on any thread and passes them on under demand."""

    __slots__ = (
        "_came", "_direct", "_on_close", "_operator", "_overflow", "_overflowed", "_seat", "_size", "_terminated",
    )  # fmt: skip

    def __init__(self, operator: str, seat: Seat, overflow: Overflow, size: int, kept: int = 0) -> None:
        self._operator = operator
        self._seat = seat
        """Where its subscriber sits."""
        self._overflow = overflow
        self._size = size + kept
        self._came = kept
        """How many elements were taken under DROP, what was kept for the subscriber included."""
        self._terminated = False
        self._overflowed = False
        # Under DROP whether an element was asked for is decided first, for one after the other.
        self._direct = overflow is not DROP
        self._on_close: list[Callable[[], None]] = []
        seat.on_close = self._closed
        seat.chunk = 1  # what was taken out of the queue counts no more, so no more than one is

    if not TYPE_CHECKING:  # a checker would take every name for known

        def __getattr__(self, name: str) -> Any:
            here = f"; here it is {ELSEWHERE[name]}()" if name in ELSEWHERE else ""
            raise AttributeError(f"Emitter has no {name}{here}", name=name)

    @property
    def requested(self) -> int:
        """Return how many elements are asked for and not yet on their way."""
        return max(0, self._seat.demand - len(self._seat.queue))

    @property
    def cancelled(self) -> bool:
        """Tell whether the subscriber is gone."""
        return self._seat.closed and not self._terminated

    def emit(self, element: T) -> EmitResult:
        """Pass an element on, or say why not."""
        if element is None:
            raise TypeError("emit: None is not an element (rule 2.13)")
        if self.hand_on(element):
            return OK
        with self._seat.lock:
            result = self.put(element)
        self.tell()
        return result

    def _over(self) -> EmitResult | None:
        """Say why nothing is taken any more; under the seat's lock it stays so."""
        return TERMINATED if self._terminated else CANCELLED if self._seat.closed else None

    def hand_on(self, element: T) -> bool:
        """Deliver an element past the queue, if it was asked for and no other thread delivers; tell whether it was."""
        seat = self._seat
        return self._direct and seat.hand_on(seat.pass_on, element, seat.on_taken)

    @property
    def full(self) -> bool:
        """Tell whether an element would be refused now."""
        return len(self._seat.queue) >= self._size and not self._seat.closed

    def widen(self, by: int) -> None:
        """Have room for more elements, or for less; the caller holds the seat's lock.

        Args:
            by: How many more; less if it is below 0.
        """
        self._size += by

    def put(self, element: T) -> EmitResult:
        """Queue an element by the policy, without a signal to the subscriber; one at a time."""
        seat = self._seat
        queue = seat.queue
        over = self._over()
        if over is not None:
            return over
        # Demand is no room: a subscriber that asks for everything may still be slow to take it.
        if self._overflow is LATEST and queue:
            try:
                queue[-1] = element
            except IndexError:  # it was taken this moment
                queue.append(element)
                return OK
            return OVERFLOW
        if self._overflow is DROP:  # taken if it was asked for and nothing waits
            if queue or self._came >= seat.asked:
                return OVERFLOW
            self._came += 1
        if len(queue) < self._size:
            queue.append(element)
            return OK
        if self._overflow is ERROR:
            self._overflowed = self._terminated = True
            self._direct = False
        return OVERFLOW

    def tell(self) -> None:
        """Have what was queued delivered, and the failure of an overflow behind it."""
        seat = self._seat
        if self._overflowed:
            with seat.lock:
                failed, self._overflowed = self._overflowed, False
            if failed:
                seat.complete(
                    OverflowedError(
                        f"{self._operator}: {self._size} elements wait and another came; no subscriber asks for them"
                    )
                )
        else:
            seat.wake()

    def complete(self) -> EmitResult:
        """End the stream after what waits."""
        return self.end(None)

    def fail(self, error: Exception) -> EmitResult:
        """Fail the stream after what waits.

        Args:
            error: The failure.
        """
        if not isinstance(error, Exception):
            raise TypeError(f"fail: error must be an Exception, got {error!r}{of_class(error)}")
        return self.end(error)

    def end(self, error: Exception | None) -> EmitResult:
        """End the stream after what waits, with a failure or without.

        Args:
            error: The failure, or None.
        """
        with self._seat.lock:
            result = self._over() or OK
            if result is OK:
                self._terminated = True
                self._direct = False
        if result is OK:
            self._seat.complete(error)
        elif error is not None:
            drop("an emitter failed after the end", error)
        return result

    def on_close(self, fn: Callable[[], None]) -> None:
        """Call `fn` once, when the stream has ended or the subscriber is gone."""
        with self._seat.lock:
            closed = self._seat.closed
            if not closed:
                self._on_close.append(fn)
        if closed:
            fn()

    def _closed(self) -> None:
        with self._seat.lock:
            callbacks, self._on_close = self._on_close, []
        for fn in callbacks:
            attempt("an emitter's on_close raised", fn)  # the others must be called as well
