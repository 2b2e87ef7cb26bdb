"""beside: the subscriber of a stream that is asked for everything, beside the main one or in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.grounds.relay import Relay
from penstock.engine.grounds.upstream import Queued, Upstream
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Subscriber


class Beside(Upstream):
    """A subscriber that asks for everything, or as much as it is told to, until it has ended or its upstream is left.

    `came` takes the elements; `ended` takes the failure, or None for the end.
    """

    __slots__ = ("came", "ended")

    def __init__(
        self,
        height: int,
        came: Callable[[Any], object],
        ended: Callable[[Exception | None], object],
        asks: int = UNBOUNDED,
    ) -> None:
        super().__init__(height, asks)
        self.came = came  # type: ignore[method-assign]
        self.ended = ended  # type: ignore[method-assign]

    def subscribed(self) -> None:
        """Ask for what is wanted."""
        self.begin()


class Flood(Queued):
    """The subscriber of an upstream that is never slowed; joints override `came`."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self.outlet.on_taken = None
        self.outlet.chunk = 1  # what was taken out of the queue counts no more, so no more than one is

    def subscribed(self) -> None:
        """Ask for everything."""
        self.outlet.open()
        self.begin()


def notice(relay: Relay[Any], comes: Callable[[], None]) -> Beside:
    """Return a subscriber that calls `comes` with the first element, then cancels; a failure ends the relay."""

    def came(_: Any) -> None:
        beside.cancel()
        comes()

    def ended(error: Exception | None) -> None:
        if error is not None:
            relay.end(error, cancel=True)

    beside = Beside(relay.height, came, ended, 1)
    return beside
