"""A valve counts what passes, and what has passed comes to the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.run import Valve, Valved
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source
from penstock.testing import Probe


@dataclass(frozen=True, slots=True, eq=False)
class Unhearing(Source[Any]):
    """Be a publisher that goes on after a cancel, as it may for a while (rule 2.8)."""

    subscribers: list[Subscriber[Any]] = field(default_factory=list)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        self.subscribers.append(downstream)
        downstream.on_subscribe(self)

    def request(self, n: int, /) -> None:
        pass

    def cancel(self) -> None:
        pass


def test_what_comes_after_the_closing_is_neither_counted_nor_delivered():
    source, valve, probe = Unhearing(), Valve(), Probe[int](request=10)
    Valved(Chain(source), valve).connect(probe)
    (tap,) = source.subscribers
    tap.on_next(1)
    valve.close()
    tap.on_next(2)
    assert probe.elements == [1]
    assert probe.completed
    assert valve.rows == 1


def test_what_has_come_before_the_closing_waits_for_demand():
    source, valve, probe = Unhearing(), Valve(), Probe[int](request=1)
    Valved(Chain(source), valve).connect(probe)
    (tap,) = source.subscribers
    for number in range(3):
        tap.on_next(number)
    valve.close()
    assert not probe.ended
    probe.request(2)
    assert probe.elements == [0, 1, 2]
    assert probe.completed
    assert valve.rows == 3
