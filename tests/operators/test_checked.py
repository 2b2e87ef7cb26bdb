"""checked: watches the contract at one place of a chain and reports who breaks it, by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Dropped, Observation, ProtocolError, RunState, Stream, Subscriber
from penstock.engine.runs.chain import Chain
from penstock.stage import Source
from penstock.testing import ManualPublisher, PlannedBreach, subscribed
from tests.engine.parts import Plain


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


class Told:
    """Be a listener that keeps how runs have ended."""

    def __init__(self) -> None:
        self.states: list[RunState] = []

    def started(self, run: Observation, /) -> None:
        pass

    def progressed(self, run: Observation, /) -> None:
        pass

    def ended(self, run: Observation, /) -> None:
        self.states.append(run.state)


def stumble(_: object) -> None:
    raise ArithmeticError("subscriber")


def interrupt(_: object) -> None:
    raise KeyboardInterrupt


def test_a_listener_behind_it_is_told_of_a_subscriber_that_raises(dropped: list[Dropped]) -> None:
    told = Told()
    Stream.range(3).checked().observed(told).subscribe(Plain(3, stumble))
    assert told.states == [RunState.CANCELLED]
    assert [entry.what for entry in dropped] == ["rule 2.13: the subscriber raised in on_next"]
    dropped.clear()


@pytest.mark.parametrize("signals", [False, True])
def test_those_behind_it_are_told_of_an_interruption(signals: bool) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    stream = (Stream.from_publisher(upstream) if signals else Stream.range(3)).checked().share()
    probe = subscribed(stream)
    interrupted = Plain(0, interrupt)
    stream.subscribe(interrupted)
    assert interrupted.subscription is not None
    if signals:
        interrupted.subscription.request(1)
    with pytest.raises(KeyboardInterrupt):
        upstream.next(0) if signals else interrupted.subscription.request(1)
    probe.request(1)
    assert probe.elements == [0]
    assert repr(probe.error) == "InterruptionError('the stream was interrupted by KeyboardInterrupt()')"
