"""partition: two streams over one run; a side that is not taken never blocks the other without saying so."""

from __future__ import annotations

import asyncio
import pickle
import threading
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import OverflowedError, Slow, Stream, flow, thread
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, subscribed
from tests.operators.subjects import each_form, notes, over, place

BEHIND = (
    "partition: this side is 2 elements behind the other one; take both at the same time, raise size, or let it miss "
    "elements with slow=Slow.DROP"
)


def odd(n: int) -> bool:
    return n % 2 == 1


@pytest.mark.parametrize("side", [0, 1])
def test_laws_of_one_side(side: int) -> None:
    check_joint(
        lambda stream: stream.partition(odd)[side],
        lambda xs: [x for x in xs if odd(x) == (side == 0)],
        st.integers(),
        examples=15,
    )


def test_laws_of_both_sides() -> None:
    def make(stream: Stream[int]) -> Stream[int]:
        odds, evens = stream.partition(odd)
        return odds.merge(evens)

    check_joint(make, lambda xs: xs, st.integers(), ordered=False, examples=15)


@each_form
def test_one_after_the_other_is_fine_for_what_fits(form: Form) -> None:
    odds, evens = over(form, 1, 2, 3, 4).partition(odd)
    assert (list(odds), list(evens)) == ([1, 3], [2, 4])
    assert (list(evens), list(odds)) == ([2, 4], [1, 3])


def test_the_stream_runs_once_for_both() -> None:
    items = Tracked([1, 2, 3])
    odds, evens = Stream.from_iterable(items).partition(odd)
    assert list(odds.zip(evens)) == [(1, 2)]
    assert items.opened == 1
    assert list(odds) == [1, 3]
    assert items.opened == 2
    assert list(odds) == [1, 3]
    assert items.opened == 3
    assert list(evens) == [2]
    assert items.opened == 3


def sides(**options: Any) -> tuple[ManualPublisher[int], Stream[int], Stream[int]]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, *Stream.from_publisher(upstream).partition(odd, **options)


def test_asks_for_what_the_more_eager_side_asks_for() -> None:
    upstream, odds, evens = sides(size=8)
    first, second = subscribed(odds), subscribed(evens)
    assert upstream.requests == []
    first.request(2)
    assert upstream.requests == [2]
    second.request(3)
    assert upstream.requests == [2, 1]
    upstream.next(2, 4)
    assert upstream.requests == [2, 1, 1]
    assert (first.elements, second.elements) == ([], [2, 4])


def test_never_asks_for_more_than_size_ahead() -> None:
    upstream, odds, _ = sides(size=4)
    probe = subscribed(odds, 100)
    assert upstream.requests == [4]
    upstream.next(1)
    assert upstream.requests == [4]
    upstream.next(3)
    assert upstream.requests == [4, 2]
    assert probe.elements == [1, 3]


def test_elements_wait_for_a_side_that_has_not_asked_or_not_come() -> None:
    upstream, odds, evens = sides()
    subscribed(odds, 9)
    upstream.next(2, 1, 4)
    late = subscribed(evens, 1)
    assert late.elements == [2]
    upstream.complete()
    assert not late.ended
    late.request(1)
    assert late.elements == [2, 4]
    assert late.completed


@pytest.mark.parametrize("comes", ["early", "late"])
def test_a_side_that_is_not_taken_fails_and_the_other_goes_on(comes: str) -> None:
    upstream, odds, evens = sides(size=2)
    probe = subscribed(odds, 99)
    slow = subscribed(evens) if comes == "early" else None
    for element in (2, 4, 6, 1, 8, 3):
        upstream.next(element)
    assert probe.elements == [1, 3]
    slow = slow or subscribed(evens)
    assert slow.signals == []
    slow.request(9)
    assert slow.elements == [2, 4]
    assert type(slow.error) is OverflowedError
    assert str(slow.error) == BEHIND
    upstream.complete()
    assert probe.completed


def test_a_side_may_miss_elements() -> None:
    upstream, odds, evens = sides(size=2, slow=Slow.DROP)
    probe, slow = subscribed(odds, 99), subscribed(evens)
    for element in (2, 4, 6, 1, 8, 3):
        upstream.next(element)
    slow.request(9)
    upstream.next(10)
    assert slow.elements == [2, 4, 10]
    assert probe.elements == [1, 3]


def test_a_side_may_hold_back_the_other() -> None:
    upstream, odds, evens = sides(size=2, slow=Slow.WAIT)
    probe, slow = subscribed(odds, 99), subscribed(evens)
    assert upstream.requests == [2]
    upstream.next(2, 4)
    assert upstream.demand == 0
    assert probe.signals == slow.signals == []
    slow.request(1)
    assert upstream.demand == 1
    upstream.next(1)
    assert (probe.elements, slow.elements) == ([1], [2])


def test_a_side_may_hold_back_the_other_before_it_comes() -> None:
    upstream, odds, evens = sides(size=2, slow=Slow.WAIT)
    probe = subscribed(odds, 99)
    upstream.next(2, 4)
    assert upstream.demand == 0
    late = subscribed(evens, 1)
    assert upstream.demand == 1
    upstream.next(1)
    assert (probe.elements, late.elements) == ([1], [2])


def test_a_long_run_taken_one_side_after_the_other_says_what_to_do() -> None:
    odds, evens = Stream.range(1_000).partition(odd)
    assert len(list(odds)) == 500
    with pytest.raises(OverflowedError) as refusal:
        list(evens)
    assert str(refusal.value) == BEHIND.replace("2", "256")


def test_the_last_side_to_leave_cancels() -> None:
    upstream, odds, evens = sides()
    first, second = subscribed(odds, 9), subscribed(evens, 9)
    first.cancel()
    assert not upstream.cancelled
    upstream.next(1, 2)
    assert second.elements == [2]
    second.cancel()
    assert upstream.cancelled


def test_one_that_leaves_alone_cancels_and_the_other_starts_anew() -> None:
    upstream, odds, evens = sides()
    first = subscribed(odds, 9)
    upstream.next(2)
    first.cancel()
    assert upstream.cancelled
    second = subscribed(evens, 9)
    assert upstream.subscribers == 2
    assert second.elements == []


@pytest.mark.parametrize("comes", ["early", "late"])
def test_both_sides_see_a_failure(comes: str) -> None:
    upstream, odds, evens = sides()
    probes = [subscribed(odds, 9)]
    if comes == "early":
        probes.append(subscribed(evens, 9))
    upstream.next(2)
    upstream.fail(ValueError("lost"))
    if comes == "late":
        probes.append(subscribed(evens, 9))
    assert [probe.elements for probe in probes] == [[], [2]]
    assert [repr(probe.error) for probe in probes] == ["ValueError('lost')"] * 2


def bad(n: int) -> bool:
    raise LookupError("no side")


def test_a_predicate_that_raises_fails_both_and_is_named() -> None:
    items = Tracked([1, 2, 3])
    sides = Stream.from_iterable(items).partition(bad)
    probes = [subscribed(side, 9) for side in sides]
    for probe in probes:
        assert probe.error is not None
        assert repr(probe.error) == "LookupError('no side')"
        assert notes(probe.error) == [f"in partition(bad), {place(bad)}"]
    assert items.open_runs == 0


def test_both_sides_on_threads() -> None:
    odds, evens = Stream.range(2_000).publish_on(thread()).partition(odd, slow=Slow.WAIT, size=16)
    found: dict[str, list[int]] = {}
    threads = [
        threading.Thread(target=lambda name=name, side=side: found.__setitem__(name, list(side)))
        for name, side in (("odds", odds), ("evens", evens))
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(20)
    assert found == {"odds": list(range(1, 2_000, 2)), "evens": list(range(0, 2_000, 2))}


def test_both_sides_in_tasks() -> None:
    async def main() -> list[list[int]]:
        odds, evens = Stream.range(2_000).partition(odd, slow=Slow.WAIT, size=16)

        async def taken(side: Stream[int]) -> list[int]:
            return [element async for element in side]

        return await asyncio.gather(taken(odds), taken(evens))

    assert asyncio.run(main()) == [list(range(1, 2_000, 2)), list(range(0, 2_000, 2))]


def test_inside_a_flow_both_sides_still_share_one_run() -> None:
    @flow
    def both(numbers: Stream[int]) -> Stream[str]:
        odds, evens = numbers.partition(odd)
        return odds.map(lambda n: f"odd {n}").merge(evens.map(lambda n: f"even {n}"))

    items = Tracked([1, 2, 3])
    assert sorted(Stream.from_iterable(items) | both) == ["even 2", "odd 1", "odd 3"]
    assert items.opened == 1


def test_copies_of_both_sides_share_a_run_of_their_own() -> None:
    sides = Stream.range(4).partition(odd)
    odds, evens = pickle.loads(pickle.dumps(sides))
    assert (odds, evens) == sides
    assert list(odds.zip(evens)) == [(1, 0), (3, 2)]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"predicate": 5}, TypeError, "partition: predicate must be callable, got 5"),
        ({"size": 0}, ValueError, "partition: size must be >= 1, got 0"),
        ({"slow": "wait"}, TypeError, "partition: slow must be a Slow, got 'wait'"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).partition(**{"predicate": odd, **options})
