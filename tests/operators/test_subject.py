"""subject: what is handed to it goes to everybody who is subscribed, each with a bound of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from penstock import Dropped, EmitResult, Overflow, OverflowedError, Stream, Subject, Subscription
from penstock.testing import check_source, subscribed
from tests.engine.stress import restless

EVERYTHING = 2**63 - 1
OK, FULL, GONE, OVER = EmitResult.OK, EmitResult.OVERFLOW, EmitResult.CANCELLED, EmitResult.TERMINATED


def filled(count: int = 3) -> Subject[int]:
    subject: Subject[int] = Stream.subject(kept=100)
    for number in range(count):
        assert subject.emit(number) is OK
    assert subject.complete() is OK
    return subject


def test_laws() -> None:
    check_source(filled, [0, 1, 2], examples=10)
    check_source(lambda: filled().map(str), ["0", "1", "2"], examples=5)


def test_everybody_gets_what_comes_while_they_are_there() -> None:
    subject: Subject[int] = Stream.subject()
    first = subscribed(subject, 9)
    assert subject.emit(1) is OK
    second = subscribed(subject.map(lambda n: n * 10), 9)
    assert subject.subscribers == 2
    assert subject.emit(2) is OK
    first.cancel()
    assert subject.subscribers == 1
    assert subject.emit(3) is OK
    assert subject.complete() is OK
    assert (first.elements, second.elements) == ([1, 2], [20, 30])
    assert second.completed


def test_says_that_nobody_listens() -> None:
    subject: Subject[int] = Stream.subject()
    assert subject.emit(1) is GONE
    probe = subscribed(subject, 9)
    probe.cancel()
    assert subject.emit(2) is GONE


def test_what_is_kept_comes_first() -> None:
    subject: Subject[int] = Stream.subject(kept=2)
    assert [subject.emit(number) for number in range(4)] == [OK] * 4
    late = subscribed(subject, 1)
    assert late.elements == [2]
    subject.emit(4)
    late.request(9)
    assert late.elements == [2, 3, 4]


def test_those_who_come_after_the_end_get_what_is_kept_and_the_end() -> None:
    subject = filled(3)
    assert list(subject) == list(subject) == [0, 1, 2]
    failed: Subject[int] = Stream.subject(kept=1)
    failed.emit(1)
    failed.fail(ValueError("lost"))
    late = subscribed(failed)
    assert not late.ended
    late.request(1)
    assert late.elements == [1]
    assert repr(late.error) == "ValueError('lost')"


def test_says_how_much_everybody_asks_for() -> None:
    subject: Subject[int] = Stream.subject()
    assert subject.requested == 0
    first, second = subscribed(subject, 5), subscribed(subject, 2)
    assert subject.requested == 2
    subject.emit(1)
    assert subject.requested == 1
    second.cancel()
    assert subject.requested == 4
    first.cancel()


def two(overflow: Overflow, size: int = 2) -> tuple[Subject[int], Any, Any]:
    subject: Subject[int] = Stream.subject(overflow=overflow, size=size)
    return subject, subscribed(subject, 99), subscribed(subject)


def test_a_slow_one_fails_and_the_others_go_on() -> None:
    subject, fast, slow = two(Overflow.ERROR)
    assert [subject.emit(number) for number in range(5)] == [OK, OK, FULL, OK, OK]
    assert fast.elements == [0, 1, 2, 3, 4]
    assert subject.subscribers == 1
    slow.request(99)
    assert slow.elements == [0, 1]
    assert type(slow.error) is OverflowedError
    assert str(slow.error) == "subject: 2 elements wait and another came; no subscriber asks for them"


def test_a_slow_one_misses_elements() -> None:
    subject, fast, slow = two(Overflow.DROP)
    assert subject.emit(0) is FULL
    slow.request(1)
    assert [subject.emit(1), subject.emit(2)] == [OK, FULL]
    assert fast.elements == [0, 1, 2]
    assert slow.elements == [1]


def test_a_slow_one_has_only_the_latest() -> None:
    subject, fast, slow = two(Overflow.LATEST)
    assert [subject.emit(number) for number in range(3)] == [OK, FULL, FULL]
    slow.request(99)
    assert fast.elements == [0, 1, 2]
    assert slow.elements == [2]


def test_a_slow_one_holds_back_the_others_if_it_is_to() -> None:
    subject, fast, slow = two(Overflow.BUFFER)
    assert [subject.emit(number) for number in range(4)] == [OK, OK, FULL, FULL]
    assert fast.elements == [0, 1]
    slow.request(1)
    assert subject.emit(2) is OK
    assert fast.elements == [0, 1, 2]
    slow.cancel()
    assert subject.emit(3) is OK


def test_what_is_kept_does_not_count_against_the_bound() -> None:
    subject: Subject[int] = Stream.subject(kept=5, size=1)
    for number in range(5):
        subject.emit(number)
    slow = subscribed(subject)
    assert [subject.emit(5), subject.emit(6)] == [OK, FULL]
    slow.request(99)
    assert slow.elements == [0, 1, 2, 3, 4, 5]


def test_after_the_end_nothing_is_taken(dropped: list[Dropped]) -> None:
    subject: Subject[int] = Stream.subject()
    probe = subscribed(subject, 9)
    assert subject.fail(ValueError("lost")) is OK
    assert subject.emit(1) is OVER
    assert subject.complete() is OVER
    assert subject.fail(KeyError("late")) is OVER
    assert repr(probe.error) == "ValueError('lost')"
    assert [(one.what, repr(one.error)) for one in dropped] == [("a subject failed after the end", "KeyError('late')")]
    dropped.clear()


def test_the_end_follows_what_waits() -> None:
    subject: Subject[int] = Stream.subject()
    probe = subscribed(subject)
    subject.emit(1)
    subject.complete()
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [1]
    assert probe.completed


def test_none_and_what_is_no_error_are_refused() -> None:
    subject: Subject[Any] = Stream.subject()
    with pytest.raises(TypeError, match=r"^emit: None is not an element \(rule 2\.13\)$"):
        subject.emit(None)
    with pytest.raises(TypeError, match=r"^fail: error must be an Exception, got 'lost'$"):
        subject.fail("lost")  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [99, EVERYTHING])
def test_one_that_emits_inside_on_next_keeps_the_order(asked: int) -> None:
    subject: Subject[int] = Stream.subject()
    seen: list[int] = []

    def again(n: int) -> None:
        seen.append(n)
        if n < 5:
            subject.emit(n + 1)

    probes = [subscribed(subject.tap(again), asked), subscribed(subject, asked)]
    subject.emit(5)  # from now on, where everything is asked for, elements go to all at once
    subject.emit(0)
    assert seen == probes[1].elements == [5, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("asked", [10_000, EVERYTHING])
def test_all_see_the_same_order_whoever_emits(asked: int) -> None:
    subject: Subject[int] = Stream.subject(size=10_000)
    probes = [subscribed(subject, asked) for _ in range(3)]
    start = threading.Barrier(4)

    def produce(first: int) -> None:
        start.wait(10)
        for number in range(first, first + 200):
            subject.emit(number)

    with restless():
        threads = [threading.Thread(target=produce, args=(1_000 * n,)) for n in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(20)
    subject.complete()
    for probe in probes:
        probe.wait_for_end()
        assert probe.breaches == []
        assert probe.elements == probes[0].elements
        assert len(probe.elements) == 800
    for n in range(4):
        mine = [number for number in probes[0].elements if number // 1_000 == n]
        assert mine == sorted(mine)


ROOM: ContextVar[str] = ContextVar("ROOM", default="hall")


class Takes:
    """A subscriber that asks for everything and hands elements to a function."""

    def __init__(self, take: Callable[[int], object], subscriptions: list[Subscription] | None = None) -> None:
        self.take = take
        self.subscriptions = [] if subscriptions is None else subscriptions

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscriptions.append(subscription)
        subscription.request(EVERYTHING)

    def on_next(self, element: int, /) -> None:
        self.take(element)

    def on_error(self, error: Exception, /) -> None:
        raise AssertionError(error)

    def on_complete(self) -> None:
        pass


def test_where_one_raises_the_others_get_the_element_and_those_that_follow(dropped: list[Dropped]) -> None:
    subject: Subject[int] = Stream.subject()
    lost = ValueError("lost")

    def fail(n: int) -> None:
        if n == 1:
            raise lost

    seen: list[int] = []
    subject.subscribe(Takes(seen.append))
    subject.subscribe(Takes(fail))
    last: list[int] = []
    subject.subscribe(Takes(last.append))
    assert [subject.emit(n) for n in range(4)] == [OK] * 4
    assert seen == last == [0, 1, 2, 3]
    assert [dropped.pop().error] == [lost]
    assert subject.subscribers == 2


def test_where_one_is_interrupted_the_others_get_the_element_and_those_that_follow() -> None:
    subject: Subject[int] = Stream.subject()

    def interrupted(n: int) -> None:
        if n == 1:
            raise KeyboardInterrupt

    seen: list[int] = []
    for take in (seen.append, interrupted, seen.append):
        subject.subscribe(Takes(take))
    assert subject.emit(0) is OK
    with pytest.raises(KeyboardInterrupt):
        subject.emit(1)
    assert subject.emit(2) is OK
    assert seen == [0, 0, 1, 1, 2, 2]


def test_one_that_is_cancelled_by_another_meanwhile_gets_nothing_more() -> None:
    subject: Subject[int] = Stream.subject()
    seen: list[int] = []
    subscriptions: list[Subscription] = []

    def cancel(n: int) -> None:
        if n == 1:
            subscriptions[1].cancel()

    for take in (cancel, seen.append):
        subject.subscribe(Takes(take, subscriptions))
    assert [subject.emit(n) for n in range(3)] == [OK] * 3
    assert seen == [0]
    assert subject.subscribers == 1


def test_one_that_comes_meanwhile_gets_what_follows() -> None:
    subject: Subject[int] = Stream.subject()
    seen: dict[str, list[int]] = {"one": [], "two": [], "late": []}
    for name in ("one", "two"):
        subject.subscribe(Takes(seen[name].append))
    assert [subject.emit(n) for n in range(2)] == [OK] * 2
    subject.subscribe(Takes(seen["late"].append))
    assert [subject.emit(n) for n in range(2, 5)] == [OK] * 3
    assert seen == {"one": [0, 1, 2, 3, 4], "two": [0, 1, 2, 3, 4], "late": [2, 3, 4]}


@pytest.mark.parametrize("names", [("north", "north"), ("north", "south")])
def test_everybody_is_in_their_own_context(names: tuple[str, str]) -> None:
    subject: Subject[int] = Stream.subject()
    seen: list[str] = []

    def subscribe(name: str) -> None:
        ROOM.set(name)
        subject.subscribe(Takes(lambda _: seen.append(ROOM.get())))

    for name in names:
        copy_context().run(subscribe, name)
    assert [subject.emit(n) for n in range(3)] == [OK] * 3
    assert seen == [*names] * 3
    assert ROOM.get() == "hall"


def test_two_subjects_are_different_values() -> None:
    tea: Subject[str] = Stream.subject()
    milk: Subject[str] = Stream.subject()
    assert tea != milk
    assert {tea: "tea", milk: "milk"} == {milk: "milk", tea: "tea"}
    both = [tea, milk]
    both.remove(milk)
    assert both[0] is tea
    assert tea.map(str) == tea.map(str)
    assert tea.map(str) != milk.map(str)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"overflow": "drop"}, TypeError, "subject: overflow must be an Overflow, got 'drop'"),
        ({"size": 0}, ValueError, "subject: size must be >= 1, got 0"),
        ({"kept": -1}, ValueError, "subject: kept must be >= 0, got -1"),
        ({"kept": "all"}, TypeError, "subject: kept must be a whole number, got 'all'"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.subject(**options)
