"""outlet: a queue in front of a subscriber, emptied under demand by one drain at a time.

Joints that gather elements from elsewhere (threads, tasks, callbacks, several inputs) put them here. The drain runs on
whoever offers or requests, or on a worker where `submit` is given. `idle` says that nobody drains: it is raised
before the queue is looked at one last time, and an element is queued before `idle` is read, so between the two none
is forgotten. An outlet starts as not idle; `open` lets it go once `on_subscribe` has returned (rule 1.3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from penstock.engine.cold_paths import rejected, signal_end, too_late, welcome
from penstock.engine.demand import UNBOUNDED, add, legal
from penstock.engine.dropped import drop
from penstock.engine.part import Part, chunks_of
from penstock.spec.interfaces import Subscriber, Subscription

T = TypeVar("T")
Submit = Callable[[Callable[[], None]], None]
CHUNK = 128


def _nothing() -> None:
    pass


def _ignore(_: int) -> None:
    pass


class Outlet(Part, Generic[T]):
    """Be the subscription of `downstream` and the queue before it."""

    __slots__ = (
        "_cancelled", "_demand", "_done", "_downstream", "_error", "_on_chunk", "_refusal", "_submit", "also_held",
        "chunk", "closed", "idle", "lock", "on_cancel", "on_close", "on_request", "on_taken", "queue",
    )  # fmt: skip

    def __init__(self, downstream: Subscriber[T], submit: Submit | None = None) -> None:
        self.queue: deque[T] = deque()
        self.chunk = CHUNK
        """How many elements are delivered before more are asked for."""
        self.also_held: Callable[[], int] = int
        """How many elements wait in the joint and not here, for those who listen."""
        self.closed = False
        """Whether nothing more will be delivered."""
        self.on_request: Callable[[int], None] = _ignore
        self.on_taken: Callable[[int], None] = _ignore
        self.on_cancel: Callable[[], None] = _nothing
        self.on_close: Callable[[], None] = _nothing
        self.lock = Lock()
        """Guards the demand; held by whoever takes elements out of the queue, so that the two agree."""
        self.idle = False
        self._demand = 0
        self._done = False
        self._cancelled = False
        self._error: Exception | None = None
        self._refusal: Exception | None = None
        self._downstream: Subscriber[T] | None = downstream
        self._on_chunk: Callable[[list[T]], None] | None = chunks_of(downstream)
        self._submit = submit

    def pending(self) -> int:
        """Return how many elements wait, here and in the joint that it belongs to."""
        return len(self.queue) + self.also_held()

    @property
    def demand(self) -> int:
        """Return what was requested and not yet taken out of the queue."""
        return self._demand

    def open(self) -> None:
        """Signal `on_subscribe`, then begin to drain."""
        assert self._downstream is not None
        if welcome(self._downstream, self, self._abandon):
            self._schedule()

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        if type(n) is not int or n <= 0:
            n = legal(n, self.fail_now)
            if not n:
                return
        with self.lock:
            if self.closed:
                return  # rule 3.6
            self._demand = add(self._demand, n)
        self.on_request(n)
        self.wake()

    def cancel(self) -> None:
        """End without a signal."""
        with self.lock:
            if self.closed:
                return  # rule 3.7
            self.closed = self._cancelled = True
        try:
            self.on_cancel()
        finally:
            self.wake()

    def offer(self, element: T) -> None:
        """Deliver one element at once where that is possible, else queue it."""
        if self.idle and self._submit is None and self.deliver_now(element):
            return
        self.queue.append(element)
        if self.idle:
            self.wake()

    def deliver_now(self, element: T) -> bool:
        """Deliver one element past the queue, if that is possible; tell whether it was."""
        downstream = self._downstream
        return downstream is not None and self.hand_on(downstream.on_next, element, self.on_taken)

    def hand_on(self, deliver: Callable[[Any], None], what: Any, taken: Callable[[int], None], count: int = 1) -> bool:
        """Deliver an element, or `count` as one, past the queue, if asked for and nobody drains; tell whether."""
        with self.lock:
            if not self.idle or self._demand < count or self.queue or self.closed:
                return False
            self.idle = False
            if self._demand < UNBOUNDED:
                self._demand -= count
        returned = False
        try:
            deliver(what)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 2.13
            rejected("on_next", error)
            return True
        finally:
            if not returned:
                self._abandon()
        taken(count)
        with self.lock:
            self.idle = True
        if self._cancelled or self._done or (self.queue and self._demand):
            self.wake()
        return True

    def complete(self, error: Exception | None = None) -> None:
        """End after what is queued has been delivered."""
        with self.lock:
            late = self._done or self.closed
            if not late:
                self._error = error
                self._done = True
        if not late:
            self.wake()
        elif error is not None and error is not self._error:
            too_late(error)

    def fail_now(self, error: Exception) -> None:
        """End with an error, ahead of what is queued; whatever feeds the outlet is cancelled."""
        with self.lock:
            if self.closed:
                return
            self._refusal = error
            self._cancelled = self.closed = True
        self.on_cancel()
        self.wake()

    def wake(self) -> None:
        """Drain, unless somebody does already."""
        with self.lock:
            if not self.idle:
                return
            self.idle = False
        self._schedule()

    def _schedule(self) -> None:
        if self._submit is None:
            self._drain()
            return
        try:
            self._submit(self._drain)
        except Exception as error:
            if self._downstream is None:
                raise  # the drain has run
            if self.closed:
                drop("a worker took no task after the end or the cancel", error)
            self.fail_now(error)
            self._drain()

    def _drain(self) -> None:
        returned = False
        try:
            while not self._step():
                pass
            returned = True
        finally:
            if not returned:
                self._abandon()

    def _step(self) -> bool:
        """Deliver one batch or the end; tell whether the drain is over."""
        queue = self.queue
        if self._cancelled:
            self._end()
            return True
        if queue and self._demand:
            with self.lock:
                count = min(self._demand, len(queue), self.chunk)
                if self._demand < UNBOUNDED:
                    self._demand -= count
                take = queue.popleft
                elements = [take() for _ in range(count)]
            return self._deliver(elements)
        if self._done and not queue:
            self._end()
            return True
        with self.lock:
            self.idle = True
        if not ((queue and self._demand) or (self._done and not queue) or self._cancelled):
            return True
        with self.lock:
            if not self.idle:
                return True  # somebody else drains by now
            self.idle = False
        return False

    def _deliver(self, elements: list[T]) -> bool:
        downstream = self._downstream
        assert downstream is not None
        try:
            if self._on_chunk is not None:
                self._on_chunk(elements)
            else:
                on_next = downstream.on_next
                for element in elements:
                    on_next(element)
                    if self._cancelled:
                        return False
        except Exception as error:  # noqa: BLE001  rule 2.13
            self._abandon()
            rejected("on_next", error)
            return True
        self.on_taken(len(elements))
        return False

    def _end(self) -> None:
        downstream = self._let_go()
        error, self._error = self._error, None  # rule 3.13: its frames know the subscriber
        if self._cancelled:
            too_late(error)
            error, self._refusal = self._refusal, None
        if downstream is None or (self._cancelled and error is None):
            return
        signal_end(downstream, error)

    def _abandon(self) -> None:
        """Leave nothing open behind a subscriber that raised, or a KeyboardInterrupt and its like, which pass."""
        try:
            self._let_go()
        finally:
            self.on_cancel()

    def _let_go(self) -> Subscriber[T] | None:
        """Forget the subscriber and what is queued (rule 3.13)."""
        with self.lock:
            self.closed = True
            downstream, self._downstream, self._on_chunk = self._downstream, None, None
            self.queue.clear()
        self.on_close()
        return downstream


def element_or_raise(element: Any, signal: str) -> None:
    """Refuse None, which is neither an element nor an error nor a subscription."""
    if element is None:
        raise TypeError(f"rule 2.13: {signal}(None): None is not allowed here")


def accepts(subscription: Subscription, current: Subscription | None, *, closed: bool = False) -> bool:
    """Tell whether a subscriber takes this subscription; a second one, or a late one, is cancelled (rule 2.5)."""
    element_or_raise(subscription, "on_subscribe")
    if current is None and not closed:
        return True
    subscription.cancel()
    return False
