"""beside: the subscriber of a stream that is asked for everything, beside the main one or in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.grounds.relay import Relay
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription


class Beside(Part):
    """A subscriber that asks for everything, or as much as it is told to, until it has ended or its upstream is left.

    `came` takes the elements; `ended` takes the failure, or None for the end.
    """

    __slots__ = ("_asks", "_came", "_ended", "height", "upstream")

    def __init__(
        self,
        height: int,
        came: Callable[[Any], object],
        ended: Callable[[Exception | None], object],
        asks: int = UNBOUNDED,
    ) -> None:
        self.height = height
        self._came = came
        self._ended = ended
        self._asks = asks
        self.upstream = Upstream()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Ask for what is wanted."""
        if self.upstream.take(subscription):
            self.upstream.request(self._asks)

    def on_next(self, element: Any, /) -> None:
        """Hand an element to the run."""
        if element is None:
            element_or_raise(element, "on_next")
        if not self.upstream.over:
            self._came(element)

    def on_error(self, error: Exception, /) -> None:
        """Hand the failure to the run."""
        element_or_raise(error, "on_error")
        if self.upstream.ends():
            self._ended(error)
        else:
            too_late(error)

    def on_complete(self) -> None:
        """Tell the run of the end."""
        if self.upstream.ends():
            self._ended(None)


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


def notice(relay: Relay[Any], comes: Callable[[], None]) -> Beside:
    """Return a subscriber that calls `comes` with the first element, then cancels; a failure ends the relay."""

    def came(_: Any) -> None:
        beside.upstream.cancel()
        comes()

    def ended(error: Exception | None) -> None:
        if error is not None:
            relay.end(error, cancel=True)

    beside = Beside(relay.height, came, ended, 1)
    return beside
