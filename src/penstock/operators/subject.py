"""subject: emit what is handed to it, to everybody who is subscribed.

Group: make a stream
Marble: Stream.subject(), late 5
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, NoReturn, TypeVar

from penstock.engine.grounds.seat import Lease, Seat, leased
from penstock.engine.many.emitter import (
    BUFFER,
    CANCELLED,
    DROP,
    ERROR,
    OK,
    OVERFLOW,
    TERMINATED,
    EmitResult,
    Emitter,
    Overflow,
)
from penstock.engine.words.arguments import count_given, stays_here
from penstock.engine.words.dropped import drop
from penstock.engine.words.trampoline import run_all
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Source

T = TypeVar("T")


class Hot:
    """The subscribers of the moment, the latest elements, and the end.

    Every subscriber has its own emitter with its own bound, so what one subscriber does not take does not affect the
    others. An element is put into all queues under one lock, so all see the same order, whichever thread emits; a
    queue's own lock is the only one taken inside of it. Elements are delivered when the lock is gone. The one policy
    under which a slow subscriber holds back the others is Overflow.BUFFER: an element that one of them has no room for
    is refused, and no subscriber gets it. The emitters are a tuple that is replaced and never changed, so that it can
    be read without the lock.
    """

    __slots__ = ("_emitters", "_error", "_kept", "_lease", "_lock", "_terminated")

    def __init__(self) -> None:
        self._lock = Lock()
        self._emitters: tuple[Emitter[Any], ...] = ()
        self._kept: deque[Any] = deque()
        self._lease: Lease | None = None
        self._terminated = False
        self._error: Exception | None = None

    @property
    def subscribers(self) -> int:
        """Return how many are subscribed."""
        return len(self._emitters)

    @property
    def requested(self) -> int:
        """Return how many elements every subscriber has asked for, not counting those on their way."""
        return min([emitter.requested for emitter in self._emitters], default=0)

    def join(self, downstream: Subscriber[Any], overflow: Overflow, size: int) -> None:
        """Add a subscriber; it gets what is kept first."""
        seat = Seat(downstream)
        with self._lock:
            emitter: Emitter[Any] = Emitter("subject", seat, overflow, size, len(self._kept))
            emitter.on_close(lambda: self._leave(emitter))
            seat.queue.extend(self._kept)
            terminated, error = self._terminated, self._error
            if not terminated:
                self._emitters = (*self._emitters, emitter)
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.let_go()
        if terminated:
            seat.complete(error)
        seat.open()

    def _leave(self, emitter: Emitter[Any]) -> None:
        with self._lock:
            self._emitters = tuple(each for each in self._emitters if each is not emitter)

    def emit(self, element: Any, overflow: Overflow, kept: int) -> EmitResult:
        """Pass an element on to all, or say why not."""
        if element is None:
            raise TypeError("emit: None is not an element (rule 2.13)")
        lease = self._lease
        if lease is not None:
            if lease.give(element):
                return OK
            lease.let_go()
            if not lease.seats:
                self._lease = None
        emitters = self._emitters
        # Where one listens there is no order to agree on.
        if len(emitters) == 1 and not kept and emitters[0].hand_on(element):
            return OK
        with self._lock:
            if self._terminated:
                return TERMINATED
            emitters = self._emitters
            if overflow is BUFFER and any(emitter.full for emitter in emitters):
                return OVERFLOW
            if kept:
                if len(self._kept) == kept:
                    self._kept.popleft()
                self._kept.append(element)
            results = [emitter.put(element) for emitter in emitters]
            missed = OVERFLOW in results
            if missed and overflow is ERROR:
                self._emitters = tuple(
                    one for one, result in zip(emitters, results, strict=True) if result is not OVERFLOW
                )
        run_all(deque([emitter.tell for emitter in emitters]))
        if not kept and self._lease is None and overflow is not DROP:
            self._keep_turns(emitters)
        return OVERFLOW if missed else OK if kept or OK in results else CANCELLED

    def _keep_turns(self, emitters: tuple[Emitter[Any], ...]) -> None:
        """Give what comes from now on to all at once, where that is possible."""
        lease = leased([emitter._seat for emitter in emitters])
        with self._lock:
            late = self._emitters is not emitters
            if not late:
                self._lease = lease
        if late and lease is not None:
            lease.let_go()

    def end(self, error: Exception | None) -> EmitResult:
        """End the stream for all, and for those who come later."""
        with self._lock:
            late, self._terminated = self._terminated, True
            if not late:
                self._error = error
            emitters, self._emitters = self._emitters, ()
        if late:
            if error is not None:
                drop("a subject failed after the end", error)
            return TERMINATED
        run_all(deque([partial(emitter.end, error) for emitter in emitters]))
        return OK

    def __reduce__(self) -> NoReturn:
        raise stays_here(
            "subject", "a subject", "what is handed to one would not reach the other; make it where it is used"
        )


@dataclass(frozen=True, slots=True)
class SubjectSource(Source[T]):
    """Emit to each subscriber what is handed to the subject while it is subscribed, and the last `kept` before that.

    Emits when downstream asks and there is an element. Backpressures by `overflow`, for each subscriber by itself: one
    that is `size` elements behind fails with OverflowedError, misses elements, or has only the latest, and the others
    go on; with BUFFER an element that one of them has no room for is refused for all. Completes when the subject does,
    at once for those who come later. Cancels by being forgotten.
    """

    overflow: Overflow = Overflow.ERROR
    size: int = 256
    kept: int = 0
    hot: Hot = field(default_factory=Hot, repr=False)
    """Who is subscribed, and what is kept: two subjects are never equal, and neither is a copy of the other."""

    def __post_init__(self) -> None:
        if not isinstance(self.overflow, Overflow):
            raise TypeError(f"subject: overflow must be an Overflow, got {self.overflow!r}")
        count_given("subject", "size", self.size, 1)
        count_given("subject", "kept", self.kept, 0)

    @property
    def again(self) -> Again:
        """Give what is handed to the subject from then on."""
        return Again.LATER

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Add a subscriber."""
        self.hot.join(downstream, self.overflow, self.size)
