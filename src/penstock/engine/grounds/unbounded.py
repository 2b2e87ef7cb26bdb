"""unbounded: the ground of joints that ask for everything and decide themselves what becomes of it."""

from __future__ import annotations

from typing import Any

from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription


class Flood(Part):
    """The subscriber of an upstream that is never slowed; joints override `came`."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        self.height = height_of(downstream) + 1
        self._upstream = Upstream()
        self.outlet: Outlet[Any] = Outlet(downstream)
        self.outlet.chunk = 1  # what was taken out of the queue counts no more, so no more than one is
        self.outlet.on_cancel = self._upstream.cancel

    def came(self, element: Any) -> None:
        """Put an element into the outlet, or do something else with it."""
        raise NotImplementedError

    def fail(self, error: Exception) -> None:
        """Leave upstream, and end with an error after what waits."""
        self.outlet.complete(error)
        self._upstream.cancel()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription and ask for everything."""
        if self._upstream.take(subscription):
            self.outlet.open()
            self._upstream.request(UNBOUNDED)

    def on_next(self, element: Any, /) -> None:
        """Take an element, whether the subscriber has asked for it or not."""
        if element is None:
            element_or_raise(element, "on_next")
        if not self._upstream.over:
            self.came(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on, after what waits."""
        element_or_raise(error, "on_error")
        self._upstream.let_go()
        self.outlet.complete(error)

    def on_complete(self) -> None:
        """Pass the end on, after what waits."""
        self._upstream.let_go()
        self.outlet.complete()
