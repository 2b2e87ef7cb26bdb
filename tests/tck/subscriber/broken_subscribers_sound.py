"""broken_subscribers_sound: subscribers that keep every rule, from which the broken ones are made."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from penstock.spec.interfaces import Subscription
from penstock.tck.subscriber.whitebox import SubscriberProbe

UNBOUNDED = 2**63 - 1


class Sound:
    """Ask only when told to, work where the signal arrives."""

    def __init__(self, probe: SubscriberProbe | None = None) -> None:
        self.probe = probe
        self.subscription: Subscription | None = None
        self.done = False

    # The four signals.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.refuse_none(subscription)
        if self.subscription is not None:
            self.on_second(subscription)
            return
        self.subscription = subscription
        if self.probe is not None:
            self.probe.subscribed(request=self.ask, cancel=self.quit, stop=self.stop)
        self.begin()

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        if not self.done:
            self.work(element)

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        self.done = True
        self.finish(error)

    def on_complete(self) -> None:
        self.done = True
        self.finish(None)

    # What it is made of.

    def refuse_none(self, argument: object) -> None:
        if argument is None:
            raise TypeError("a signal must not carry None")

    def on_second(self, subscription: Subscription) -> None:
        subscription.cancel()

    def begin(self) -> None:
        """Ask for nothing."""

    def ask(self, n: int = 1) -> None:
        if self.subscription is not None and not self.done:
            self.subscription.request(n)

    def quit(self) -> None:
        if self.subscription is not None and not self.done:
            self.done = True
            self.subscription.cancel()

    def stop(self) -> None:
        self.quit()

    def work(self, element: Any) -> None:
        if self.probe is not None:
            self.probe.processed(element)

    def finish(self, error: Exception | None) -> None:
        if self.probe is not None and error is None:
            self.probe.completed()
        elif self.probe is not None:
            self.probe.failed(error)


class Greedy(Sound):
    """Ask for everything at once."""

    def begin(self) -> None:
        self.ask(UNBOUNDED)


class StopAndWait(Sound):
    """Ask for one, and for the next when that is done."""

    def begin(self) -> None:
        self.ask(1)

    def work(self, element: Any) -> None:
        super().work(element)
        self.ask(1)


class Windowed(Sound):
    """Keep up to eight under way, asking again by halves."""

    taken = 0

    def begin(self) -> None:
        self.ask(8)

    def work(self, element: Any) -> None:
        super().work(element)
        self.taken += 1
        if self.taken == 4:
            self.taken = 0
            self.ask(4)


class Taking(Sound):
    """Ask for five, cancel after two."""

    taken = 0

    def begin(self) -> None:
        self.ask(5)

    def work(self, element: Any) -> None:
        super().work(element)
        self.taken += 1
        if self.taken == 2:
            self.quit()


class Asynchronous(Sound):
    """Work on a thread of its own, on which it also asks."""

    def __init__(self, probe: SubscriberProbe | None = None) -> None:
        super().__init__(probe)
        self.tasks: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        while (task := self.tasks.get()) is not None:
            task()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.refuse_none(subscription)
        if not self.thread.is_alive() and self.subscription is None:
            self.thread.start()
        super().on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        self.tasks.put(lambda: Sound.on_next(self, element))

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        self.tasks.put(lambda: Sound.on_error(self, error))
        self.tasks.put(None)

    def on_complete(self) -> None:
        self.tasks.put(lambda: Sound.on_complete(self))
        self.tasks.put(None)

    def begin(self) -> None:
        self.ask(4)

    def ask(self, n: int = 1) -> None:
        self.tasks.put(lambda: Sound.ask(self, n))

    def quit(self) -> None:
        self.tasks.put(lambda: Sound.quit(self))

    def work(self, element: Any) -> None:
        super().work(element)
        Sound.ask(self, 1)


SOUND: tuple[type[Sound], ...] = (Sound, Greedy, StopAndWait, Windowed, Taking, Asynchronous)
