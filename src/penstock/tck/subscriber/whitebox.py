"""whitebox: the probe by which a subscriber lets the kit drive its demand and see what it processes.

A subscriber under test is made by `factory(probe)` and tells the probe, from on_subscribe, what makes it ask and cancel
(`subscribed`), and from wherever it does its work what it works on (`processed`, `completed`, `failed`).

    class Printing:
        def __init__(self, probe): self.probe, self.subscription = probe, None
        def on_subscribe(self, subscription):
            if self.subscription is not None:
                return subscription.cancel()                              # rule 2.5
            self.subscription = subscription
            self.probe.subscribed(request=self.ask, cancel=self.quit)
        def on_next(self, element):
            print(element)
            self.probe.processed(element)
        ...
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from penstock.spec.shown import shown
from penstock.tck.environment import Environment, NotApplicable


class SubscriberProbe:
    """A probe that drives one subscriber from inside and records what it processes."""

    sees = True

    def __init__(self, environment: Environment) -> None:
        self.processed_elements: list[Any] = []
        self.ends: list[object] = []
        self.ended_after: list[int] = []  # how many elements had been processed when each end was
        self._environment = environment
        self._request: Callable[[int], object] | None = None
        self._cancel: Callable[[], object] | None = None
        self._stop: Callable[[], object] | None = None
        self.asks_its_own_way = True  # what makes it ask is its own method, so that it can be held to what that does
        self.cancels = True  # what makes it cancel is to reach its subscription
        self._since = 0.0  # when it last processed an element
        self._open = threading.Event()
        self._open.set()

    # What the subscriber under test calls.

    def subscribed(
        self,
        *,
        request: Callable[[int], object],
        cancel: Callable[[], object],
        stop: Callable[[], object] | None = None,
    ) -> None:
        """Take what makes the subscriber ask for n more and cancel, and what tells it that no more is wanted.

        All three go the subscriber's own ways. A `request` that is a method of the subscriber asks for nothing after
        the end (rule 2.4); any other function, as one that calls the subscription itself, is not called then. `stop` is
        left out by a subscriber that always wants everything.
        """
        with self._environment.activity.changed:
            if self._request is None:
                self.asks_its_own_way = _is_of_a_party(request)
                self._request, self._cancel, self._stop = request, cancel, stop
        self._environment.pulse()

    def processed(self, element: Any) -> None:
        """Take an element that the subscriber is working on; the kit may hold the work up here."""
        self._open.wait(5 * self._environment.limits.timeout)
        with self._environment.activity.changed:
            self.processed_elements.append(element)
            now = time.monotonic()
            self._environment.element_took(now - max(self._since, self._environment.sent_at))
            self._since = now
        self._environment.pulse()

    def completed(self) -> None:
        """Take that the subscriber has processed the completion."""
        self._end(None)

    def failed(self, error: object) -> None:
        """Take the failure that the subscriber has processed."""
        self._end(error)

    def _end(self, end: object) -> None:
        with self._environment.activity.changed:
            self.ends.append(end)
            self.ended_after.append(len(self.processed_elements))
        self._environment.pulse()

    # What the kit calls.

    @property
    def attached(self) -> bool:
        """Tell whether the subscriber has said what drives it."""
        return self._request is not None

    def trigger_request(self, n: int) -> None:
        """Make the subscriber ask for `n` more elements."""
        if self._request is not None:
            self._trigger(lambda: self._request and self._request(n), f"the trigger request({n})")

    def trigger_cancel(self) -> None:
        """Make the subscriber cancel."""
        if self._cancel is not None:
            self._trigger(self._cancel, "the trigger cancel()")

    def stop_wanting(self) -> None:
        """Tell the subscriber that no more is wanted."""
        if self._stop is None:
            raise NotApplicable("it offers no way to stop wanting elements")
        self._trigger(self._stop, "the trigger stop()")

    def hold(self) -> None:
        """Stop the subscriber where it processes."""
        self._open.clear()

    def release(self) -> None:
        """Let the subscriber process again."""
        self._open.set()

    def abandon(self) -> None:
        """Make the subscriber let go of what it holds, once its trial is over."""
        with suppress(Exception):
            if self._cancel is not None:
                self._cancel()

    def _trigger(self, call: Callable[[], object], name: str) -> None:
        try:
            call()
        except Exception as error:
            self._environment.fail(f"{name} raised {shown(error)}")


def _is_of_a_party(call: Callable[..., object]) -> bool:
    """Tell whether it is a method of a subscriber, or of a processor, rather than a string to pull from outside."""
    owner = getattr(call, "__self__", None)
    return any(callable(getattr(owner, name, None)) for name in ("on_next", "OnNext"))
