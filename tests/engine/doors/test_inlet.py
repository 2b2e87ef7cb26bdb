"""inlet: a processor lets go of its upstream, whichever of the two sides came first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Dropped, flow, processor
from penstock.testing import Probe
from tests.engine.watch import dropped

__all__ = ["dropped"]


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


# A publisher that breaks the contract is answered here as everywhere.


def mapped() -> Any:
    return processor(flow(lambda stream: stream.map(str)))


@pytest.mark.parametrize(
    ("signal", "call"), [("on_next", "on_next"), ("on_error", "on_error"), ("on_subscribe", "on_subscribe")]
)
def test_none_is_refused_and_fails_what_follows(signal: str, call: str) -> None:
    made, upstream, probe = mapped(), Upstream(), Probe[Any](1)
    made.subscribe(probe)
    if signal != "on_subscribe":
        made.on_subscribe(upstream)
    with pytest.raises(TypeError, match=rf"^rule 2.13: {signal}\(None\): None is not allowed here$"):
        getattr(made, call)(None)
    assert str(probe.error) == f"rule 2.13: {signal}(None): None is not allowed here"
    assert upstream.cancels == (signal != "on_subscribe")


@pytest.mark.parametrize("first", ["upstream", "subscriber"])
def test_a_subscription_that_comes_twice_fails_what_follows(first: str) -> None:
    made, upstream, probe = mapped(), Upstream(), Probe[Any](1)
    sides = [lambda: made.on_subscribe(upstream), lambda: made.subscribe(probe)]
    for side in sides if first == "upstream" else reversed(sides):
        side()
    assert not probe.ended
    made.on_subscribe(upstream)
    assert str(probe.error) == "rule 2.12: the publisher sent its subscription twice"
    assert upstream.cancels == 1


def test_a_subscription_that_came_twice_before_the_subscriber_fails_what_follows() -> None:
    made, upstream, probe = mapped(), Upstream(), Probe[Any](1)
    made.on_subscribe(upstream)
    made.on_subscribe(upstream)
    made.subscribe(probe)
    assert str(probe.error) == "rule 2.12: the publisher sent its subscription twice"
    assert upstream.cancels == 1


@pytest.mark.parametrize("first", ["upstream", "subscriber"])
def test_another_subscription_is_cancelled(first: str) -> None:
    made, upstream, second, probe = mapped(), Upstream(), Upstream(), Probe[Any](1)
    sides = [lambda: made.on_subscribe(upstream), lambda: made.subscribe(probe)]
    for side in sides if first == "upstream" else reversed(sides):
        side()
    made.on_subscribe(second)
    assert (upstream.cancels, second.cancels) == (0, 1)
    made.on_next(1)
    assert probe.elements == ["1"]


def test_an_element_before_the_subscription_fails_what_follows(dropped: list[Dropped]) -> None:
    made, probe = mapped(), Probe[Any](1)
    made.subscribe(probe)
    made.on_next(1)
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    assert [one.element for one in dropped] == [1]
    dropped.clear()


@pytest.mark.parametrize("end", ["a completion", "a failure", "a cancel", "a cancel before the chain has subscribed"])
def test_an_error_behind_the_end_goes_to_the_hook(end: str, dropped: list[Dropped]) -> None:
    made, error = mapped(), ValueError("late")
    if end == "a cancel before the chain has subscribed":
        made.on_error(error)
        made.subscribe(Leaving(lambda held: held.cancel()))
    else:
        probe = Probe[Any](1)
        made.on_subscribe(Upstream())
        made.subscribe(probe)
        ends = {"a completion": made.on_complete, "a failure": lambda: made.on_error(KeyError("first"))}
        ends.get(end, probe.cancel)()
        made.on_error(error)
    assert [one.error for one in dropped] == [error]
    dropped.clear()


@pytest.mark.parametrize("first", ["error", "subscriber"])
def test_an_error_where_nothing_is_read_goes_to_the_hook(first: str, dropped: list[Dropped]) -> None:
    made, error, probe = processor(flow(lambda stream: stream.take(0))), ValueError("late"), Probe[Any]()
    sides = [lambda: made.on_error(error), lambda: made.subscribe(probe)]
    for side in sides if first == "error" else reversed(sides):
        side()
    told = [] if probe.error is None else [probe.error]
    assert [*told, *[one.error for one in dropped]] == [error]
    dropped.clear()
