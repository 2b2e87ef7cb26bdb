"""planted: a small outlet, and copies of it with one fault each, to see that the explorer finds them.

It is written as the engine's is, and has points as the engine has; `Sound` must show nothing.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any


class Sound:
    """Be a queue in front of a subscriber, emptied by one drain at a time."""

    def __init__(self, downstream: Any) -> None:
        self.downstream = downstream
        self.queue: deque[Any] = deque()
        self.lock = Lock()
        self.other = Lock()
        self.idle = True
        self.demand = 0
        self.done = False
        self.refused = False
        self.over = False
        self.upstream: Any = None

    def on_subscribe(self, subscription: Any, /) -> None:
        self.upstream = subscription
        self.downstream.on_subscribe(self)
        subscription.request(4)

    def on_next(self, element: Any, /) -> None:
        self.queue.append(element)
        self.wake()

    def on_error(self, error: Exception, /) -> None:
        self.on_complete()

    def on_complete(self) -> None:
        self.done = True
        self.wake()

    def request(self, n: int, /) -> None:
        if n < 1:
            self.refuse()
            return
        with self.lock:
            self.demand += n
        self.wake()

    def refuse(self) -> None:
        self.upstream.cancel()
        self.refused = True
        self.wake()

    def cancel(self) -> None:
        with self.lock:
            over, self.over = self.over, True
        if not over:
            self.upstream.cancel()

    def wake(self) -> None:
        with self.lock:
            if not self.idle:
                return
            self.idle = False
        self.drain()

    def drain(self) -> None:
        while True:
            while self.queue and self.demand and not self.over and not self.refused:
                with self.lock:
                    self.demand -= 1
                self.downstream.on_next(self.queue.popleft())
            if self.ends():
                self.end()
                return
            if self.rest():
                return

    def ends(self) -> bool:
        return self.refused or (self.done and not self.queue)

    def rest(self) -> bool:
        with self.lock:
            self.idle = True
        if self.over or not ((self.queue and self.demand) or self.ends()):
            return True
        with self.lock:
            idle, self.idle = self.idle, False
        return not idle

    def end(self) -> None:
        with self.lock:
            over, self.over = self.over, True
        if not over and self.refused:
            self.downstream.on_error(ValueError("rule 3.9"))
        elif not over:
            self.downstream.on_complete()


class WithoutLock(Sound):
    """Look whether somebody drains without holding the lock."""

    def wake(self) -> None:
        if not self.idle:
            return
        self.idle = False
        self.drain()


class LostWakeUp(Sound):
    """Look at the queue before saying that nobody drains, and not after."""

    def rest(self) -> bool:
        if not self.over and ((self.queue and self.demand) or self.ends()):
            return False
        with self.lock:
            self.idle = True
        return True


class TwoEnds(Sound):
    """End for an illegal request without looking whether it has ended."""

    def refuse(self) -> None:
        if not self.over:
            self.upstream.cancel()
            self.over = True
            self.downstream.on_complete()


class Crossed(Sound):
    """Take two locks in one order here and in the other there."""

    def request(self, n: int, /) -> None:
        with self.lock, self.other:
            self.demand += max(n, 0)
        self.wake()

    def cancel(self) -> None:
        with self.other, self.lock:
            over, self.over = self.over, True
        if not over:
            self.upstream.cancel()


class Leaking(Sound):
    """Forget upstream when a cancel meets the end of a subscription."""

    def on_subscribe(self, subscription: Any, /) -> None:
        self.downstream.on_subscribe(self)
        self.upstream = subscription
        subscription.request(4)

    def cancel(self) -> None:
        self.over = True
        if self.upstream is not None:
            self.upstream.cancel()


class Raising(Sound):
    """Look at the queue and take from it as if nobody else could."""

    def cancel(self) -> None:
        super().cancel()
        self.queue.clear()


PLANTED = (WithoutLock, LostWakeUp, TwoEnds, Crossed, Leaking, Raising)
