"""inlet: a processor lets go of its upstream, whichever of the two sides came first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import flow, processor
from penstock.testing import Probe


class Upstream:
    """A subscription that counts its cancels."""

    def __init__(self) -> None:
        self.cancels = 0

    def request(self, n: int, /) -> None:
        """Have nothing to send."""

    def cancel(self) -> None:
        self.cancels += 1


class Leaving(Probe[Any]):
    """A subscriber that does something with its subscription inside of on_subscribe."""

    def __init__(self, leave: Callable[[Any], object]) -> None:
        super().__init__()
        self.leave = leave

    def on_subscribe(self, subscription: Any, /) -> None:
        super().on_subscribe(subscription)
        self.leave(subscription)


@pytest.mark.parametrize("first", ["upstream", "subscriber"])
@pytest.mark.parametrize(
    "leave", [lambda held: held.cancel(), lambda held: held.request(-1)], ids=["cancel", "illegal request"]
)
def test_a_subscriber_that_leaves_inside_on_subscribe_leaves_no_upstream(
    leave: Callable[[Any], object], first: str
) -> None:
    made = processor(flow(lambda stream: stream.map(str)))
    upstream, subscriber = Upstream(), Leaving(leave)
    sides = [lambda: made.on_subscribe(upstream), lambda: made.subscribe(subscriber)]
    for side in sides if first == "upstream" else reversed(sides):
        side()
    assert upstream.cancels == 1


def test_an_upstream_that_has_ended_is_not_cancelled() -> None:
    made = processor(flow(lambda stream: stream.map(str)))
    upstream, subscriber = Upstream(), Leaving(lambda held: held.cancel())
    made.on_subscribe(upstream)
    made.on_complete()
    made.subscribe(subscriber)
    assert upstream.cancels == 0
