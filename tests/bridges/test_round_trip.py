"""Round trips Stream -> neighbour -> Stream keep elements, order, end, error, demand and cancel, at every bridge."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Stream
from penstock.tck import Limits, render, verify_publisher
from penstock.testing import Probe, Tracked
from tests.bridges.crossings import Crossing, Unforeseen
from tests.bridges.table import parameters

ENDLESS = 10**6
LIMITS = Limits(elements=20, timeout=5.0, quiet=0.02)
each = pytest.mark.parametrize("crossing", parameters())


def items(crossing: Crossing, count: int) -> list[Any]:
    return [crossing.element(n) for n in range(1, count + 1)]


@each
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_elements_their_order_and_the_end_are_kept(crossing: Crossing, count: int) -> None:
    expected = items(crossing, count)
    with crossing.cross(Stream.from_iterable(expected)) as stream:
        assert list(stream) == expected


@each
@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize(
    "error", [ValueError("no such pipe"), Unforeseen("burst")], ids=lambda error: type(error).__name__
)
def test_the_type_and_the_message_of_an_error_are_kept(crossing: Crossing, count: int, error: Exception) -> None:
    upstream = Tracked(items(crossing, count), error)
    with crossing.cross(Stream.from_iterable(upstream)) as stream:
        probe: Probe[Any] = Probe(count + 1)
        stream.subscribe(probe)
        probe.wait_for_end()
    assert (type(probe.error), str(probe.error)) == (type(error), str(error))
    if crossing.window is not None:
        assert probe.elements == upstream.items
    assert probe.breaches == []
    upstream.wait_until_closed()


@each
def test_nobody_is_sent_more_than_they_asked_for(crossing: Crossing) -> None:
    upstream = Tracked(items(crossing, 400))
    with crossing.cross(Stream.from_iterable(upstream)) as stream:
        probe: Probe[Any] = Probe()
        stream.subscribe(probe)
        for count in (1, 2, 300):
            asked = len(probe.elements) + count
            probe.request(count)
            probe.wait_for(asked)
            assert probe.elements == upstream.items[:asked]
            if crossing.window is not None:
                assert upstream.taken <= asked + crossing.window
        probe.cancel()
        upstream.wait_until_closed()
    assert probe.breaches == []


@each
def test_cancel_reaches_the_first_stream(crossing: Crossing) -> None:
    upstream = Tracked(items(crossing, 500))
    with crossing.cross(Stream.from_iterable(upstream)) as stream:
        assert list(stream.take(3)) == upstream.items[:3]
        upstream.wait_until_closed()
        if crossing.window is not None:
            assert upstream.taken <= 4 + crossing.window


@each
def test_what_comes_back_keeps_every_rule(crossing: Crossing) -> None:
    made = []

    def make(count: int | None) -> Stream[Any]:
        endless = ENDLESS if crossing.window is not None else 5000
        numbers = Stream.range(1, (endless if count is None else count) + 1).map(crossing.element)
        context = crossing.cross(numbers)
        made.append(context)
        return context.__enter__()

    try:
        report = verify_publisher(make, limits=LIMITS)
    finally:
        for context in reversed(made):
            context.__exit__(None, None, None)
    assert report.ok, render(report)
