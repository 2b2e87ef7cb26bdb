"""checked: watches the contract at one place of a chain and reports who breaks it, by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Dropped, ProtocolError, Stream, Subscriber
from penstock.engine.runs.chain import Chain
from penstock.stage import Source
from penstock.testing import ManualPublisher, PlannedBreach, subscribed


def test_a_chain_in_order_passes_unchanged() -> None:
    assert list(Stream.range(5).map(str).checked().filter(bool).checked()) == ["0", "1", "2", "3", "4"]


def test_passes_demand_and_cancel_on() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).checked(), 3)
    assert upstream.requested == 3
    probe.cancel()
    assert upstream.cancelled


def test_is_a_value() -> None:
    assert Stream.range(3).checked() == Stream.range(3).checked()


@dataclass(frozen=True)
class Unguarded(Source[Any]):
    """Hand a chain's subscriber to a publisher as it is, so that breaches reach the monitor."""

    publisher: ManualPublisher[Any]

    def connect(self, downstream: Subscriber[Any], /) -> None:
        self.publisher.subscribe(downstream)


@pytest.mark.parametrize(
    ("breach", "act", "rule"),
    [
        (PlannedBreach.EXCEED_DEMAND, lambda p: p.next("a", "b"), "1.1"),
        (PlannedBreach.NO_ON_SUBSCRIBE, lambda p: p.complete(), "1.9"),
    ],
)
def test_a_stream_that_breaks_a_rule_fails_by_its_name(
    breach: PlannedBreach, act: Any, rule: str, dropped: list[Dropped]
) -> None:
    upstream: ManualPublisher[Any] = ManualPublisher(breach)
    probe = subscribed(Stream(Chain(Unguarded(upstream))).checked(), 1 if rule == "1.1" else 0)
    act(upstream)
    assert isinstance(probe.error, ProtocolError)
    assert probe.error.rule == rule
    assert probe.breaches == []
    dropped.clear()
