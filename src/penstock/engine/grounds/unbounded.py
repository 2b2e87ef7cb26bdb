"""unbounded: the ground of joints that ask for everything and decide themselves what becomes of it."""

from __future__ import annotations

from typing import Any

from penstock.engine.grounds.beside import Beside
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.part import height_of
from penstock.spec.interfaces import Subscriber, Subscription


class Flood(Beside):
    """The subscriber of an upstream that is never slowed; joints override `came`."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        self.outlet: Outlet[Any] = Outlet(downstream)
        super().__init__(height_of(downstream) + 1, self.came, self.outlet.complete)
        self.outlet.chunk = 1  # what was taken out of the queue counts no more, so no more than one is
        self.outlet.on_cancel = self.upstream.cancel

    def came(self, element: Any) -> None:
        """Put an element into the outlet, or do something else with it."""
        raise NotImplementedError

    def fail(self, error: Exception) -> None:
        """Leave upstream, and end with an error after what waits."""
        self.outlet.complete(error)
        self.upstream.cancel()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription and ask for everything."""
        if self.upstream.take(subscription):
            self.outlet.open()
            self.upstream.request(UNBOUNDED)
