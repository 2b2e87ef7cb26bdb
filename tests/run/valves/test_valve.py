"""A valve counts what passes, and what has passed comes to the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import pytest

from penstock import Stream, inline
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.run import Valve, Valved
from penstock.run.valves.stopping import valved
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source
from penstock.testing import Probe, VirtualClock


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


@pytest.mark.parametrize(
    "items", [range(5, 50, 3), tuple(range(15)), bytes(range(1, 16)), list(range(15)), "abcdefghijklmno"]
)
def test_what_is_iterated_is_counted_and_closed_between_two_elements(items: Any):
    valve, probe = Valve(), Probe[Any]()
    connect(Chain(Valved(Stream.from_iterable(items)._chain, valve)), probe)
    probe.request(4)
    assert valve.rows in {4, 5}
    probe.request(2)
    assert probe.elements == list(items)[:6]
    valve.close()
    probe.request(99)
    assert probe.elements == list(items)[: len(probe.elements)]
    assert len(probe.elements) == valve.rows < 8
    assert probe.completed


def test_a_valve_that_is_closed_lets_nothing_in():
    valve, probe = Valve(), Probe[int](request=9)
    valve.close()
    connect(Chain(Valved(Stream.range(9)._chain, valve)), probe)
    assert probe.elements == []
    assert probe.completed
    assert valve.rows == 0


@pytest.mark.parametrize(
    "around",
    [
        lambda lists: lists,
        lambda lists: lists.subscribe_on(inline()),
        lambda lists: lists.checked(),
        lambda lists: lists.merge(Stream.never()),
        lambda lists: Stream.never().merge(lists.merge(Stream.never()).subscribe_on(inline())),
        lambda lists: lists.interleave(Stream.never()),
        lambda lists: lists.merge_sorted(Stream.never()),
        lambda lists: lists.concat(Stream.never()),
        lambda lists: Stream.empty().concat(lists),
        lambda lists: lists.switch_if_empty(Stream.never()),
        lambda lists: Stream.empty().switch_if_empty(lists),
        lambda lists: lists.race(Stream.never()),
        lambda lists: lists.retry(),
        lambda lists: lists.concat(Stream.never()).retry(backoff=1).merge(Stream.never()),
        lambda lists: lists.take_until(Stream.never()),
        lambda lists: lists.skip_until(Stream.just(0)),
        lambda lists: lists.window(until=Stream.never()).concat_map(lambda window: window),
        lambda lists: lists.zip(Stream.range(9)).map(itemgetter(0)),
        lambda lists: lists.combine_latest(Stream.just(0)).map(itemgetter(0)),
        lambda lists: lists.with_latest_from(Stream.just(0)).map(itemgetter(0)),
        lambda lists: lists.join(Stream.just(0), key=lambda _: 0).map(itemgetter(0)),
        lambda lists: lists.materialize().dematerialize(),
    ],
    ids=[
        "alone", "subscribe_on", "checked", "merge", "nested", "interleave", "merge_sorted", "concat", "concat_second",
        "switch_if_empty", "switch_if_empty_other", "race", "retry", "retry_nested", "take_until", "skip_until",
        "window", "zip", "combine_latest", "with_latest_from", "join", "materialize",
    ],
)  # fmt: skip
def test_what_is_inside_of_a_step_comes_to_the_end_wherever_the_step_stands(around: Any):
    source, valve, probe = Unhearing(), Valve(), Probe[Any](request=10)
    connect(valved(around(Stream(Chain(source)).buffer(2))._chain, valve), probe)
    (tap,) = source.subscribers
    for number in range(3):
        tap.on_next(number)
    valve.close()
    assert probe.elements == [[0, 1], [2]]
    assert probe.completed
    assert valve.closed


@pytest.mark.parametrize(
    "around",
    [
        lambda first, made: first.concat(made),
        lambda first, made: first.switch_if_empty(made),
        lambda first, made: first.concat(made).merge(Stream.never()),
        lambda first, made: first.concat(Stream.just(1, 2).publish_on(inline()), made),
    ],
    ids=["concat", "switch_if_empty", "merge", "iterated"],
)
def test_no_other_stream_begins_behind_a_closed_valve(around: Any):
    made: list[str] = []

    def make() -> Stream[int]:
        made.append("made")
        return Stream.just(1)

    source, valve, probe = Unhearing(), Valve(), Probe[Any](request=10)
    connect(valved(around(Stream(Chain(source)), Stream.defer(make))._chain, valve), probe)
    valve.close()
    assert probe.elements == made == []
    assert probe.completed


@pytest.mark.parametrize("when", [None, ArithmeticError, lambda error: True], ids=["all", "a_type", "a_function"])
def test_an_attempt_that_fails_behind_a_closed_valve_is_the_last_and_fails_the_run(when: Any):
    source, valve, probe = Unhearing(), Valve(), Probe[Any](request=10)

    def divide(numbers: list[int]) -> float:
        return 1 / numbers[-1]

    connect(valved(Stream(Chain(source)).buffer(2).map(divide).retry(when=when)._chain, valve), probe)
    (tap,) = source.subscribers
    tap.on_next(0)
    valve.close()
    assert len(source.subscribers) == 1
    assert repr(probe.error) == "ZeroDivisionError('division by zero')"


def refuse(error: Exception) -> bool:
    raise LookupError("no")


@pytest.mark.parametrize(
    ("when", "error", "notes"),
    [(KeyError, "ValueError('gone')", []), (refuse, "LookupError('no')", ["in retry(refuse)"])],
    ids=["not_meant", "raises"],
)
def test_an_open_valve_leaves_it_to_retry_which_failures_are_meant(when: Any, error: str, notes: list[str]):
    probe = Probe[Any](request=10)
    connect(valved(Stream.error(ValueError("gone")).retry(3, when=when)._chain, Valve()), probe)
    assert repr(probe.error) == error
    assert [note.partition(",")[0] for note in getattr(probe.error, "__notes__", [])] == notes


@pytest.mark.parametrize(
    "waiting",
    [
        lambda stream, clock: stream.retry(backoff=60, clock=clock),
        lambda stream, clock: Stream.just(1).delay_subscription(60, clock=clock),
    ],
    ids=["retry", "delay_subscription"],
)
def test_who_waits_for_a_time_waits_no_more_when_the_valve_is_closed(waiting: Any):
    clock, valve, probe = VirtualClock(), Valve(), Probe[Any](request=10)
    connect(valved(waiting(Stream.error(ValueError("gone")), clock)._chain, valve), probe)
    assert not probe.ended
    assert clock.pending == 1
    valve.close()
    assert probe.completed
    assert clock.pending == 0


def test_a_wait_takes_its_time_while_the_valve_is_open():
    clock, valve, probe = VirtualClock(), Valve(), Probe[Any](request=10)
    connect(valved(Stream.just(1).delay_subscription(60, clock=clock)._chain, valve), probe)
    clock.advance(59)
    assert probe.elements == []
    clock.advance(1)
    assert probe.elements == [1]
    assert probe.completed
    assert valve.demand == 0


def test_a_wait_that_is_cancelled_leaves_nothing_in_the_valve():
    clock, valve, probe = VirtualClock(), Valve(), Probe[Any](request=10)
    connect(valved(Stream.just(1).delay_subscription(60, clock=clock)._chain, valve), probe)
    probe.cancel()
    assert clock.pending == 0
    valve.close()
    assert not probe.ended


def test_a_step_before_a_thousand_streams_inside_of_each_other_has_a_valve():
    source, valve, probe = Unhearing(), Valve(), Probe[Any](request=10)
    stream = Stream(Chain(source)).buffer(2)
    for _ in range(1000):
        stream = stream.subscribe_on(inline())
    connect(valved(stream._chain, valve), probe)
    (tap,) = source.subscribers
    tap.on_next(1)
    valve.close()
    assert probe.elements == [[1]]
    assert probe.completed
