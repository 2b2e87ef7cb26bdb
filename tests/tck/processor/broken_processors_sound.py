"""broken_processors_sound: processors that keep every rule, from which the broken ones are made.

All that leaves a processor, elements and ends downwards and requests upwards, is sent from one loop, which one thread
at a time goes through: nothing overlaps and nothing nests. No lock is held meanwhile.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.spec.interfaces import Subscriber, Subscription

Action = Callable[[], object]


class Refused:
    """Be the subscription of a subscriber that is turned away."""

    def request(self, n: int, /) -> None:
        """Ask in vain."""

    def cancel(self) -> None:
        """Cancel nothing."""


class Outlet:
    """Hold one subscriber, its demand and what is still to be sent to it."""

    def __init__(self, processor: Relay, subscriber: Subscriber[Any]) -> None:
        self.processor = processor
        self.subscriber: Subscriber[Any] | None = subscriber
        self.demand = 0
        self.begun = False
        self.fault: Exception | None = None

    def request(self, n: int, /) -> None:
        if n < 1:
            self.fault = self.fault or ValueError(f"rule 3.9: request({n}): a request must be positive")
            self.processor.work()
        else:
            self.processor.wanted(self, n)

    def cancel(self) -> None:
        self.processor.left(self)


class Relay:
    """Hand elements on to one subscriber by way of a queue of four."""

    size = 4
    most = 1

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.working = False
        self.queue: deque[Any] = deque()
        self.outlets: list[Outlet] = []
        self.served = 0
        self.upstream: Subscription | None = None
        self.asking = 0
        self.ended = False
        self.error: Exception | None = None
        self.deserted = False
        self.lost: list[Exception] = []

    # The subscriber's side.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.refuse_none(subscription)
        if self.upstream is not None or self.deserted:
            subscription.cancel()
            return
        with self.lock:
            self.upstream = subscription
            self.asking += self.size
        self.work()

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        with self.lock:
            if not self.ended and not self.deserted:
                self.queue.append(element)
        self.work()

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        with self.lock:
            self.ended, self.error = True, error
            self.queue.clear()  # rule 4.2: it does not wait
        self.work()

    def on_complete(self) -> None:
        with self.lock:
            self.ended = True
        self.work()

    # The publisher's side.

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.refuse_none(subscriber)
        with self.lock:
            self.served += 1
            full = self.served > self.most or self.deserted  # rule 3.14: it shut down with its last subscriber
            outlet = Outlet(self, subscriber)
            if not full:
                self.outlets.append(outlet)
        if full:
            subscriber.on_subscribe(Refused())
            subscriber.on_error(RuntimeError("it serves no more subscribers"))
            return
        subscriber.on_subscribe(outlet)
        outlet.begun = True
        self.work()

    def wanted(self, outlet: Outlet, n: int) -> None:
        with self.lock:
            outlet.demand += n
        self.work()

    def left(self, outlet: Outlet) -> None:
        with self.lock:
            outlet.subscriber = None
            if outlet not in self.outlets:
                return
            self.outlets.remove(outlet)
            last = not self.outlets
            self.deserted = last
            upstream = self.upstream
            if last:
                self.queue.clear()
        if last and upstream is not None and not self.ended:
            upstream.cancel()
        self.work()

    # The loop.

    def refuse_none(self, argument: object) -> None:
        if argument is None:
            raise TypeError("a signal must not carry None")

    def work(self) -> None:
        with self.lock:
            if self.working:
                return
            self.working = True
        while True:
            with self.lock:
                action = self.next_action()
                if action is None:
                    self.working = False
                    return
            action()

    def next_action(self) -> Action | None:
        return self.next_request() or self.next_dismissal() or self.next_signal()

    def next_request(self) -> Action | None:
        if self.upstream is None or not self.asking or self.ended or self.deserted:
            return None
        asking, self.asking = self.asking, 0
        return partial(self.upstream.request, asking)

    def next_dismissal(self) -> Action | None:
        for outlet in self.outlets:
            if outlet.begun and outlet.fault is not None:
                return self.dismiss(outlet, outlet.subscriber, outlet.fault)
        return None

    def next_signal(self) -> Action | None:
        outlets = [outlet for outlet in self.outlets if outlet.begun]
        if self.queue and outlets and all(outlet.demand for outlet in outlets):
            return self.hand_on(self.queue.popleft(), outlets)
        if self.ended and not self.queue and outlets:
            return self.end(outlets[0])
        return None

    def hand_on(self, element: Any, outlets: list[Outlet]) -> Action:
        self.asking += 1
        for outlet in outlets:
            outlet.demand -= 1

        def action() -> None:
            for outlet in outlets:
                self.send(outlet, element)

        return action

    def dismiss(self, outlet: Outlet, subscriber: Subscriber[Any] | None, error: Exception) -> Action:
        def action() -> None:
            self.left(outlet)
            if subscriber is not None:
                subscriber.on_error(error)

        return action

    def send(self, outlet: Outlet, element: Any) -> None:
        subscriber = outlet.subscriber
        if subscriber is None:
            return
        try:
            subscriber.on_next(element)
        except Exception as error:
            self.lost.append(error)
            self.left(outlet)  # rule 2.13: it counts as cancelled

    def end(self, outlet: Outlet) -> Action:
        self.outlets.remove(outlet)
        subscriber, outlet.subscriber = outlet.subscriber, None
        error = self.error

        def action() -> None:
            if subscriber is not None and error is None:
                subscriber.on_complete()
            elif subscriber is not None and error is not None:
                subscriber.on_error(error)

        return action


class Lockstep(Relay):
    """Hand elements on to any number of subscribers, as fast as the slowest of them asks."""

    most = 10**9


class Hub(Relay):
    """Hand elements on to any number of subscribers, as fast as the fastest of them asks."""

    most = 10**9
    size = 0

    def __init__(self) -> None:
        super().__init__()
        self.received = 0
        self.requested = 0
        self.waiting: dict[Outlet, deque[Any]] = {}
        self.goals: dict[Outlet, int] = {}

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        with self.lock:
            self.received += 1
            for outlet in self.outlets:
                self.waiting.setdefault(outlet, deque()).append(element)
        self.work()

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        with self.lock:
            self.waiting.clear()
        super().on_error(error)

    def wanted(self, outlet: Outlet, n: int) -> None:
        with self.lock:
            self.goals[outlet] = self.goals.get(outlet, self.received) + n
            if self.goals[outlet] > self.requested and not self.ended and outlet.subscriber is not None:
                self.asking += self.goals[outlet] - self.requested
                self.requested = self.goals[outlet]
        super().wanted(outlet, n)

    def next_signal(self) -> Action | None:
        for outlet in self.outlets:
            waiting = self.waiting.get(outlet)
            if outlet.begun and waiting and outlet.demand:
                outlet.demand -= 1
                return partial(self.send, outlet, waiting.popleft())
            if outlet.begun and not waiting and self.ended:
                return self.end(outlet)
        return None


class Offloaded(Relay):
    """Hand elements on from a thread of its own, which lives as long as there is something to do."""

    running = False
    called = False

    def work(self) -> None:
        with self.lock:
            self.called = True
            if self.running:
                return
            self.running = True
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            with self.lock:
                self.running = self.called
                if not self.called:
                    return
                self.called = False
            super().work()


class Recovering(Relay):
    """Take a failure for the end."""

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        self.on_complete()
