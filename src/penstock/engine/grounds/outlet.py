"""outlet: a queue in front of a subscriber, emptied under demand by one drain at a time.

Joints that gather elements from elsewhere (threads, tasks, callbacks, several inputs) put them here. The drain runs on
the thread that offers or requests, or on a worker where `submit` is given.

The turn. A subscriber is signalled only by the thread that has taken the one token out of `turn`, so signals are
serial (rule 1.3). Taking it and putting it back are atomic, with the GIL and without. A thread that changes something
(an element in the queue, demand, an end, a cancel) does so first and then tries to take the turn. The thread that has
the turn puts it back first and then looks for such a change. So if the first thread did not get the turn, the second
thread has not looked yet, and no change is forgotten. The turn is out from the start; `open` puts it back once
`on_subscribe` has returned, and after the end it is never put back. No lock is taken for an element that goes past the
queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from penstock.engine.grounds.cold_paths import interruption, left_alone, nobody, rejected, signal_end, too_late, welcome
from penstock.engine.places.errand import place_ended, send
from penstock.engine.words.demand import UNBOUNDED, add, legal
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part, chunks_of
from penstock.spec.interfaces import Subscriber, Subscription

T = TypeVar("T")
Submit = Callable[[Callable[[], None]], None]
CHUNK = 128


def _nothing() -> None:
    pass


class Outlet(Part, Generic[T]):
    """The subscription of `downstream` and the queue before it; a `downstream` of None comes later, by `serve`."""

    __slots__ = (
        "_cancelled", "_clear", "_done", "_downstream", "_error", "_on_chunk", "_refusal", "_stirred", "_submit",
        "_taken", "also_held", "asked", "chunk", "closed", "lock", "most_held", "on_cancel", "on_close", "on_request",
        "on_taken", "queue", "turn",
    )  # fmt: skip

    def __init__(self, downstream: Subscriber[T] | None, submit: Submit | None = None) -> None:
        self.queue: deque[T] = deque()
        self.chunk = CHUNK
        """How many elements are delivered before more are asked for."""
        self.also_held: Callable[[], int] = int
        """How many elements wait in the joint and not here, for those who listen."""
        self.most_held: Callable[[], int | None] = _nothing
        """How many elements may wait here and in the joint, where the joint says so, for those who listen."""
        self.closed = False
        """Whether nothing more will be delivered."""
        self.on_request: Callable[[int], None] = nobody
        self.on_taken: Callable[[int], None] | None = None
        self.on_cancel: Callable[[], None] = _nothing
        self.on_close: Callable[[], None] = _nothing
        self.lock = Lock()
        """Guards what is asked for; held by who takes elements out of the queue, so that the two agree."""
        self.asked = 0
        """How many elements were ever asked for."""
        self._taken = 0
        self.turn: list[None] = []
        """The one token; none while a thread drains."""
        self._stirred = True
        """Whether a drain was asked for since an element was handed on; if not, there is nothing to look at."""
        self._clear = False
        """Whether everything was asked for when an element was handed on."""
        self._done = False
        self._cancelled = False
        self._error: Exception | None = None
        self._refusal: Exception | None = None
        self._downstream: Subscriber[T] | None = downstream
        self._on_chunk: Callable[[list[T]], None] | None = chunks_of(downstream)
        self._submit = submit

    def serve(self, downstream: Subscriber[T]) -> None:
        """Take the subscriber, before the outlet is opened."""
        self._downstream = downstream
        self._on_chunk = chunks_of(downstream)

    def pending(self) -> int:
        """Return how many elements wait, here and in the joint that it belongs to."""
        return len(self.queue) + self.also_held()

    def most_pending(self) -> int | None:
        """Return how many elements may wait, here and in the joint that it belongs to."""
        return self.most_held()

    @property
    def demand(self) -> int:
        """Return what was requested and not yet taken out of the queue."""
        return self.asked - self._taken if self.asked < UNBOUNDED else UNBOUNDED

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
            self.asked = add(self.asked, n)
        returned = False
        try:
            self.on_request(n)
            returned = True
        finally:
            if not returned:  # a KeyboardInterrupt or its like passes, and those below may be on another thread
                self.fail_now(interruption())
        self.wake()

    def cancel(self) -> None:
        """End without a signal."""
        self.fail_now(None)

    def offer(self, element: T) -> None:
        """Deliver one element at once where that is possible, else queue it."""
        downstream = self._downstream if self._submit is None else None
        if downstream is None or not self.hand_on(downstream.on_next, element, self.on_taken):
            self.queue.append(element)
            self.wake()

    def hand_on(
        self, deliver: Callable[[Any], None], what: Any, taken: Callable[[int], None] | None = None, count: int = 1
    ) -> bool:
        """Deliver an element, or `count` as one, past the queue, if asked for and no thread drains; tell whether."""
        turn, queue = self.turn, self.queue
        if queue or not turn:  # an exception costs more than to look
            return False
        try:
            turn.pop()
        except IndexError:
            return False
        if self._stirred or not self._clear or queue:
            self._stirred = False
            after = self._taken + count
            if after > self.asked or queue or self._done or self.closed:
                turn.append(None)
                self._look()
                return False
            self._taken = after
            self._clear = self.asked >= UNBOUNDED
        delivered = returned = False
        try:
            deliver(what)
            delivered = True
            if taken is not None:
                taken(count)
            returned = True
        except Exception as error:
            if delivered:
                raise
            rejected("on_next", error)
            return True
        finally:
            if not delivered:
                self._abandon()
            elif not returned:
                self._interrupted()
        turn.append(None)
        if queue or self._stirred:
            self._look()
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
            self.unheard(error)

    def unheard(self, error: Exception) -> None:
        """Know of an error that comes after the end or the cancel, and is not signalled."""
        too_late(error)

    def fail_now(self, error: Exception | None) -> None:
        """End ahead of what is queued, with an error or without a signal; whatever feeds the outlet is cancelled."""
        with self.lock:
            if self.closed:
                return  # rule 3.7
            self._refusal = error
            self.closed = self._cancelled = True
        try:
            self.on_cancel()
        finally:
            self.wake()

    def wake(self) -> None:
        """Drain, unless another thread does already."""
        self._stirred = True
        if self.turn and self._takes_turn():  # an exception costs more than to look
            self._schedule()

    def _has_work(self) -> bool:
        """Tell whether there is anything to do for who has the turn."""
        return bool(self.asked > self._taken if self.queue else self._done) or self._cancelled

    def _look(self) -> None:
        """Do what others have left to do, after the turn was put back."""
        if self._has_work():
            self.wake()

    def _schedule(self) -> None:
        if self._submit is None:
            self._drain()
            return
        try:
            send(self._submit, self._drain, self._lost)
        except Exception as error:
            if self._downstream is None:
                raise  # the drain has run
            if self.closed:
                drop("a worker took no task after the end or the cancel", error)
            self.fail_now(error)
            self._drain()

    def _lost(self) -> None:
        with self.lock:  # a failure that waits is told instead
            error, self._error = (None, self._error) if self.closed else (self._error, None)
        self.fail_now(error or place_ended())
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
        if queue and self.asked > self._taken:
            with self.lock:
                count = min(self.asked - self._taken, len(queue), self.chunk)
                self._taken += count
                take = queue.popleft
                elements = [take() for _ in range(count)]
            return self._deliver(elements)
        if self._done and not queue:
            self._end()
            return True
        self.turn.append(None)
        return not self._has_work() or not self._takes_turn()

    def _takes_turn(self) -> bool:
        """Take the turn, unless another thread has it by now; tell whether it was there."""
        try:
            self.turn.pop()
        except IndexError:
            return False
        return True

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
        if self.on_taken is not None:
            returned = False
            try:
                self.on_taken(len(elements))
                returned = True
            finally:
                if not returned:
                    self._interrupted()
        return False

    def _end(self) -> None:
        downstream = self._downstream
        try:
            self._let_go()
        finally:
            error, self._error = self._error, None  # rule 3.13: its frames know the subscriber
            if self._cancelled:
                if error is not None:
                    self.unheard(error)
                error, self._refusal = self._refusal, None
            if downstream is not None and not (self._cancelled and error is None):
                signal_end(downstream, error)

    def _interrupted(self) -> None:
        """Tell the subscriber of a KeyboardInterrupt or its like, which passes: who was asked for more raised it."""
        self.fail_now(interruption())
        self._end()

    def _abandon(self) -> None:
        """Leave nothing open behind a subscriber that raised, or a KeyboardInterrupt and its like, which pass."""
        downstream = self._downstream
        try:
            self._let_go()
        finally:
            error, self._error = self._error, None  # which waits behind what was queued
            if error is not None:
                self.unheard(error)
            self.on_cancel()
            left_alone(downstream)

    def _let_go(self) -> None:
        """Forget the subscriber and what is queued (rule 3.13)."""
        with self.lock:
            self.closed = True
            self._downstream = self._on_chunk = None
        self.on_close()
        self.queue.clear()


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
