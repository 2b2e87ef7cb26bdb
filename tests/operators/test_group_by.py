"""group_by: a stream for each key, within bounds, and with a clear word where it cannot go on."""

from __future__ import annotations

import asyncio
import operator
import re
import threading
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Dropped, GroupedStream, OverflowedError, PenstockError, Stream, VirtualClock, inline, thread
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, Tracked, check_joint, subscribed
from tests.engine.stress import restless
from tests.operators.subjects import each_form, failure_of, notes, over, place

CLOCK = VirtualClock()


def parity(n: int) -> int:
    return n % 2


def third(n: int) -> int:
    return n % 3


def with_key(group: GroupedStream[int, int]) -> Stream[tuple[int, list[int]]]:
    return group.to_list().map(lambda some: (group.key, some))


def by_key(elements: list[int]) -> list[tuple[int, list[int]]]:
    return [(key, [n for n in elements if n % 3 == key]) for key in dict.fromkeys(n % 3 for n in elements)]


@pytest.mark.parametrize("size", [1, 2, 256])
def test_laws(size: int) -> None:
    check_joint(
        lambda stream: stream.group_by(third, size=size, clock=CLOCK).flat_map(with_key, concurrency=3),
        by_key,
        st.integers(0, 20),
        ordered=False,
        examples=10,
    )


@pytest.mark.parametrize("prefetch", [1, 32])
def test_laws_of_elements_that_are_merged_again(prefetch: int) -> None:
    check_joint(
        lambda stream: stream.group_by(third, size=2, clock=CLOCK).flat_map(
            lambda group: group, concurrency=3, prefetch=prefetch
        ),
        lambda xs: xs,
        st.integers(0, 20),
        ordered=False,
        examples=10,
    )


def test_laws_with_groups_on_threads() -> None:
    check_joint(
        lambda stream: (
            stream.publish_on(thread(), prefetch=4)
            .group_by(third, size=4)
            .flat_map(
                lambda group: group.publish_on(thread(), prefetch=2).to_list().map(lambda some: (group.key, some)),
                concurrency=3,
            )
        ),
        by_key,
        st.integers(0, 20),
        ordered=False,
        examples=3,
    )


@each_form
def test_the_order_of_arrival_is_kept_where_nobody_waits(form: Form) -> None:
    groups = over(form, 3, 1, 2, 5, 4).group_by(parity)
    merged = groups.flat_map(lambda group: group.map(lambda n: (group.key, n)), concurrency=2)
    assert list(merged) == [(1, 3), (1, 1), (0, 2), (1, 5), (0, 4)]


def test_a_group_knows_its_key_and_says_so() -> None:
    group = Stream.just("word").group_by(len).get()
    assert type(group) is GroupedStream
    assert group.key == 4
    assert repr(group) == "GroupedStream(key=4, group_by)"
    assert repr(group.map(str)) == "Stream(group_by | map(str))"


def test_groups_may_be_read_after_the_end_if_they_fit() -> None:
    groups = list(Stream.range(5).group_by(parity, clock=CLOCK))
    assert [(group.key, list(group)) for group in groups] == [(0, [0, 2, 4]), (1, [1, 3])]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"key": 5}, TypeError, "group_by: key must be callable, got 5"),
        ({"key": parity, "groups": 0}, ValueError, "group_by: groups must be >= 1, got 0"),
        ({"key": parity, "size": 0}, ValueError, "group_by: size must be >= 1, got 0"),
        ({"key": parity, "size": "1"}, TypeError, "group_by: size must be a whole number, got '1'"),
        ({"key": parity, "patience": -1}, ValueError, "group_by: patience must be >= 0 and finite, got -1"),
        ({"key": parity, "patience": "1"}, TypeError, "group_by: patience must be seconds or a timedelta, got '1'"),
        ({"key": parity, "clock": 5}, TypeError, "group_by: clock must be a Clock, got 5"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).group_by(**options)
    assert str(refusal.value) == message


# Demand and bounds.


class Groups:
    """Subscribe to the groups of a publisher driven by hand, and to each group when told to."""

    def __init__(self, request: int = 0, key: Any = parity, **options: Any) -> None:
        self.clock = VirtualClock()
        self.upstream: ManualPublisher[Any] = ManualPublisher()
        stream = Stream.from_publisher(self.upstream).group_by(key, clock=self.clock, patience=3, **options)
        self.outer: Probe[Any] = subscribed(stream, request)

    def take(self, number: int, request: int = 0) -> Probe[Any]:
        return subscribed(self.outer.elements[number], request)

    @property
    def keys(self) -> list[Any]:
        return [group.key for group in self.outer.elements]


def test_nothing_is_asked_for_before_somebody_asks() -> None:
    groups = Groups(size=4)
    assert groups.upstream.requests == []
    groups.outer.request(1)
    assert groups.upstream.requests == [4]


def test_a_group_comes_with_its_first_element_and_gets_what_it_asks_for() -> None:
    groups = Groups(UNBOUNDED, size=8)
    groups.upstream.next(1, 2, 3)
    assert groups.keys == [1, 0]
    odd, even = groups.take(0, 1), groups.take(1, 1)
    assert (odd.elements, even.elements) == ([1], [2])
    groups.upstream.next(4, 5)
    assert (odd.elements, even.elements) == ([1], [2])
    odd.request(5)
    assert odd.elements == [1, 3, 5]
    groups.upstream.next(7)
    groups.upstream.complete()
    assert odd.elements == [1, 3, 5, 7]
    assert odd.completed
    assert not even.ended
    even.request(1)
    assert even.elements == [2, 4]
    assert even.completed
    assert groups.outer.completed
    assert odd.breaches == even.breaches == groups.outer.breaches == []


def test_a_group_that_nobody_asks_for_waits() -> None:
    groups = Groups(1)
    groups.upstream.next(1, 2)
    assert groups.keys == [1]
    groups.outer.request(1)
    assert groups.keys == [1, 0]
    assert groups.take(1, 5).elements == [2]


def test_no_more_than_its_size_is_held_for_all_groups_together() -> None:
    groups = Groups(UNBOUNDED, size=4)
    groups.upstream.next(1, 2)
    odd, even = groups.take(0), groups.take(1)
    groups.upstream.next(4, 6)
    assert groups.upstream.requested == 4
    even.request(1)
    assert groups.upstream.requested == 5  # the one that was taken makes room for another
    groups.upstream.next(8)
    assert groups.upstream.requested == 5
    odd.request(2)
    assert odd.elements == [1]
    assert groups.upstream.requested == 6
    assert even.elements == [2]


def test_a_slow_group_holds_the_others_back_and_lets_them_go_again() -> None:
    groups = Groups(2, size=4)
    groups.upstream.next(1, 2)
    slow, fast = groups.take(0), groups.take(1, UNBOUNDED)
    groups.upstream.next(*[3] * groups.upstream.demand)
    groups.upstream.next(*[5] * groups.upstream.demand)
    assert groups.upstream.demand == 0
    groups.clock.advance(100)
    assert not groups.outer.ended
    slow.request(3)
    assert groups.upstream.demand > 0
    groups.upstream.next(4)
    assert fast.elements == [2, 4]


# What cannot go on, and says so.

CURE = (
    "group_by: 4 elements wait in streams without a subscriber, the group of 0 among them, and others wait "
    "for elements; subscribe to each as it comes: flat_map(fn, concurrency=n) with n >= the number open at a time, or "
    "say group_by(..., size=n) with n > 4"
)


def test_a_group_that_is_never_subscribed_fails_the_rest_with_the_cure() -> None:
    groups = Groups(UNBOUNDED, size=4)
    groups.upstream.next(1, 2)
    odd = groups.take(0, UNBOUNDED)
    groups.upstream.next(4, 6)
    groups.upstream.next(*[8] * groups.upstream.demand)
    assert groups.upstream.demand == 0
    groups.clock.advance(2.9)
    assert not odd.ended
    groups.clock.advance(0.1)
    assert type(odd.error) is OverflowedError
    assert str(odd.error) == CURE
    assert groups.outer.error is odd.error
    assert groups.upstream.cancelled
    assert groups.clock.pending == 0
    late = groups.take(1, UNBOUNDED)
    assert late.elements == [2, 4, 6, 8]
    assert late.error is odd.error


def test_a_group_that_is_subscribed_in_time_goes_on() -> None:
    groups = Groups(UNBOUNDED, size=4)
    groups.upstream.next(1, 2)
    odd = groups.take(0, UNBOUNDED)
    groups.upstream.next(4, 6)
    groups.upstream.next(*[8] * groups.upstream.demand)
    groups.clock.advance(2.9)
    even = groups.take(1, UNBOUNDED)
    assert even.elements == [2, 4, 6, 8]
    groups.clock.advance(100)
    groups.upstream.next(3)
    assert odd.elements == [1, 3]
    assert not groups.outer.ended


def test_each_stall_has_its_own_time() -> None:
    groups = Groups(UNBOUNDED, size=1)
    groups.upstream.next(1)
    groups.clock.advance(2)
    first = groups.take(0, UNBOUNDED)
    groups.upstream.next(2)
    groups.clock.advance(2)
    assert not groups.outer.ended
    groups.clock.advance(1)
    assert type(first.error) is OverflowedError


def test_who_asks_for_nothing_may_wait_for_ever() -> None:
    groups = Groups(1, size=2)
    groups.upstream.next(1)
    groups.clock.advance(100)
    assert not groups.outer.ended
    assert groups.clock.pending == 0
    assert groups.take(0, 2).elements == [1]


def test_too_little_concurrency_fails_with_the_cure() -> None:
    clock = VirtualClock()
    probe: Probe[int] = Probe(UNBOUNDED)
    groups = Stream.range(1000).group_by(lambda n: 1 - n % 2, size=4, clock=clock, patience=3)
    groups.flat_map(lambda group: group, concurrency=1).subscribe(probe)
    clock.advance(3)
    assert str(probe.error) == CURE
    assert clock.pending == 0


def test_groups_that_are_collected_first_fail_with_the_cure_if_they_do_not_fit() -> None:
    with pytest.raises(OverflowedError) as failure:
        list(Stream.range(100).group_by(lambda n: 0, size=4, patience=0.001))
    assert str(failure.value) == CURE


@pytest.mark.parametrize("concurrency", [1000, 2000])
def test_a_thousand_keys_with_small_bounds_work_where_all_are_taken(concurrency: int) -> None:
    sums = Stream.range(5000).group_by(lambda n: n % 1000, size=4)
    totals = sums.flat_map(lambda group: group.scan(operator.add, 0).last(), concurrency=concurrency, prefetch=1)
    assert sorted(totals) == [5 * n + 10_000 for n in range(1000)]


def test_a_thousand_keys_and_too_little_concurrency_fail_with_the_message() -> None:
    sums = Stream.range(5000).group_by(lambda n: n % 1000, size=4, patience=0.001)
    error = failure_of(sums.flat_map(lambda group: group.scan(operator.add, 0), concurrency=500, prefetch=1))
    assert type(error) is OverflowedError
    assert re.fullmatch(
        r"group_by: 4 elements wait in streams without a subscriber, the group of \d+ among them, and .*",
        str(error),
    )


def test_more_groups_than_allowed_fail_with_the_cure() -> None:
    error = failure_of(Stream.range(9).group_by(lambda n: n, groups=3).flat_map(lambda group: group, concurrency=9))
    assert type(error) is OverflowedError
    assert str(error) == (
        "group_by: 3 groups are open and an element came for another, 3; end groups when they are done, with take or "
        "timeout say, or say group_by(..., groups=n) with a greater n"
    )


def test_groups_that_have_ended_make_room_for_others() -> None:
    ones = (
        Stream.range(500).group_by(lambda n: n, groups=2, size=2).flat_map(lambda group: group.take(1), concurrency=2)
    )
    assert ones.count().get() == 500


# Cancelling.


def test_a_cancelled_group_begins_anew_with_the_next_element_of_its_key() -> None:
    pairs = Stream.range(8).group_by(parity).flat_map(lambda group: group.take(2).to_list(), concurrency=2)
    assert sorted(pairs) == [[0, 2], [1, 3], [4, 6], [5, 7]]


def in_pairs(elements: list[int]) -> list[list[int]]:
    groups = [some for _, some in by_key(elements)]
    return [some[start : start + 2] for some in groups for start in range(0, len(some), 2)]


@pytest.mark.parametrize("size", [1, 3, 256])
def test_laws_of_groups_that_begin_anew(size: int) -> None:
    """What a cancelled group has not been asked for is the beginning of the next one, however demand is sliced."""
    check_joint(
        lambda stream: stream.group_by(third, size=size, clock=CLOCK).flat_map(
            lambda group: group.take(2).to_list(), concurrency=3
        ),
        in_pairs,
        st.integers(0, 20),
        ordered=False,
        examples=15,
    )


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("boundary", [False, True])
def test_groups_that_are_cancelled_before_their_first_element_come_to_an_end(batch: int, boundary: bool) -> None:
    """Each goes with the element that it began with, whether that waits for a subscriber or is on its way."""
    seen: list[int] = []

    def refused(group: GroupedStream[int, int]) -> Stream[int]:
        assert len(seen) < 8, "a group follows another one for ever"
        seen.append(group.key)
        return group.take(0)

    groups = Stream.range(8).map_batches(list, size=batch).group_by(parity)
    if boundary:
        groups = groups.publish_on(inline())
    assert list(groups.flat_map(refused, concurrency=1)) == []
    assert sorted(seen) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_groups_that_cancel_each_other_come_to_an_end() -> None:
    """While nothing is asked for, each new group ends the one before it, which has given nothing."""
    seen: list[int] = []

    def counted(group: GroupedStream[int, int]) -> Stream[int]:
        assert len(seen) < 8, "a group follows another one for ever"
        seen.append(group.key)
        return group

    probe = subscribed(Stream.range(8).group_by(parity).switch_map(counted), 1)
    probe.request(9)
    assert probe.completed
    assert probe.elements == [0, 7]


def test_the_groups_go_on_when_no_more_are_wanted() -> None:
    assert list(Stream.range(10).group_by(third).take(2).flat_map(with_key, concurrency=2)) == [
        (0, [0, 3, 6, 9]),
        (1, [1, 4, 7]),
    ]


def test_upstream_is_cancelled_with_the_last_who_could_take_an_element() -> None:
    groups = Groups(UNBOUNDED)
    groups.upstream.next(1, 2)
    odd = groups.take(0, 5)
    even = groups.take(1, 5)
    groups.outer.cancel()
    odd.cancel()
    assert not groups.upstream.cancelled
    groups.upstream.next(3, 4, 6)
    assert even.elements == [2, 4, 6]
    even.cancel()
    assert groups.upstream.cancelled
    assert odd.elements == [1]


def test_a_group_that_nobody_had_subscribed_to_is_gone_with_the_cancel() -> None:
    groups = Groups(1)
    groups.upstream.next(1, 2)
    groups.outer.cancel()
    assert groups.upstream.cancelled
    late = groups.take(0, 5)
    assert type(late.error) is PenstockError
    assert str(late.error) == (
        "group_by: the group of 1 had no subscriber when all were cancelled; subscribe to each as it comes, as "
        "flat_map does"
    )


def test_leaving_a_loop_over_the_groups_closes_the_source() -> None:
    items = Tracked(range(100))
    for group in Stream.from_iterable(items).group_by(parity):
        assert group.key == 0
        break
    assert items.opened == 1
    assert items.open_runs == 0


def test_a_second_subscriber_of_a_group_is_refused() -> None:
    groups = Groups(1)
    groups.upstream.next(1)
    first, second = groups.take(0, 5), groups.take(0, 5)
    assert first.elements == [1]
    assert str(second.error) == (
        "group_by: the group of 1 was taken by an earlier subscriber; put share() behind it for more"
    )


def test_a_cancel_of_all_closes_the_source_and_releases_what_was_held() -> None:
    items = Tracked(range(1000))
    probe = subscribed(Stream.from_iterable(items).group_by(third).flat_map(lambda group: group, concurrency=3), 5)
    assert len(probe.elements) == 5
    assert items.open_runs == 1
    probe.cancel()
    assert items.open_runs == 0


# Failing.


def test_a_failure_of_upstream_is_told_to_all_and_reported_to_nobody_else() -> None:
    groups = Groups(UNBOUNDED)
    groups.upstream.next(1, 2)
    odd, even = groups.take(0, 5), groups.take(1)
    groups.upstream.fail(ValueError("lost"))
    assert repr(odd.error) == repr(groups.outer.error) == "ValueError('lost')"
    assert not even.ended
    even.cancel()


def test_a_failure_that_nobody_hears_is_reported_once(dropped: list[Dropped]) -> None:
    groups = Groups(1)
    groups.upstream.next(1, 2)
    odd = groups.take(0)
    groups.upstream.fail(ValueError("lost"))
    assert not groups.outer.ended
    groups.outer.cancel()
    assert dropped == []
    odd.cancel()
    assert [repr(entry.error) for entry in dropped] == ["ValueError('lost')"]
    dropped.clear()


def no_key(n: int) -> int:
    if n == 3:
        raise KeyError("no key")
    return n % 2


@each_form
def test_a_key_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 1, 2, 3, 4).group_by(no_key).flat_map(lambda group: group, concurrency=2))
    assert repr(error) == "KeyError('no key')"
    assert notes(error) == [f"in group_by(no_key), {place(no_key)}"]


def test_a_key_function_that_raises_in_the_middle_of_a_chunk() -> None:
    probe: Probe[int] = Probe(UNBOUNDED)
    stream = Stream.range(1, 9).publish_on(inline()).group_by(no_key)
    stream.flat_map(lambda group: group, concurrency=2).subscribe(probe)
    assert probe.elements == [1, 2]
    assert repr(probe.error) == "KeyError('no key')"


def test_a_key_that_cannot_be_hashed_is_an_error_of_the_function() -> None:
    error = failure_of(Stream.range(3).group_by(lambda n: [n]).flat_map(lambda group: group, concurrency=2))
    assert str(error) == "unhashable type: 'list'"
    assert notes(error)[0].startswith("in group_by(")


def test_a_leaked_stop_iteration_is_an_error_not_an_end() -> None:
    def leak(n: int) -> int:
        return next(iter(()))

    error = failure_of(Stream.range(3).group_by(leak))
    name = leak.__qualname__.replace("<locals>.", "")
    assert str(error) == f"group_by({name}): the function raised StopIteration; that is an error, not an end"


def test_none_may_be_a_key() -> None:
    assert list(Stream.range(3).group_by(lambda n: None).flat_map(with_key, concurrency=1)) == [(None, [0, 1, 2])]


# Threads and loops.


def test_chunks_are_sorted_into_their_groups() -> None:
    stream = Stream.range(1000).publish_on(inline(), prefetch=64).group_by(third)
    assert sorted(stream.flat_map(with_key, concurrency=3)) == [(key, list(range(key, 1000, 3))) for key in range(3)]


def test_groups_that_are_subscribed_from_tasks_that_start_later() -> None:
    async def collect(group: GroupedStream[int, int], into: dict[int, int]) -> None:
        async for _ in group:
            into[group.key] = into.get(group.key, 0) + 1

    async def main() -> dict[int, int]:
        counts: dict[int, int] = {}
        async with asyncio.TaskGroup() as tasks:
            async for group in Stream.range(3000).group_by(third, size=16):
                tasks.create_task(collect(group, counts))
        return counts

    assert asyncio.run(main()) == {0: 1000, 1: 1000, 2: 1000}


def test_groups_that_are_taken_by_threads_of_their_own() -> None:
    found: dict[int, list[int]] = {}
    workers: list[threading.Thread] = []
    for group in Stream.range(3000).publish_on(thread()).group_by(third, size=16):
        worker = threading.Thread(target=lambda group=group: found.update({group.key: list(group)}))
        worker.start()
        workers.append(worker)
    for worker in workers:
        worker.join(10)
    assert found == {key: list(range(key, 3000, 3)) for key in range(3)}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 64])
def test_no_element_is_lost_however_threads_take_turns(size: int) -> None:
    """Groups end and begin anew on other threads than the one that sorts."""
    with restless():
        fives = (
            Stream.range(2000)
            .publish_on(thread(), prefetch=16)
            .group_by(lambda n: n % 7, size=size)
            .flat_map(lambda group: group.take(5).publish_on(thread(), prefetch=2), concurrency=7, prefetch=3)
        )
        assert sorted(fives) == list(range(2000))


@pytest.mark.slow
def test_a_cancel_from_another_thread_leaves_nothing_open() -> None:
    with restless():
        for stop in (1, 10, 100):
            items = Tracked(range(100_000))
            groups = Stream.from_iterable(items).publish_on(thread(), prefetch=16).group_by(lambda n: n % 7, size=8)
            stream = groups.flat_map(lambda group: group.publish_on(thread(), prefetch=2), concurrency=7, prefetch=3)
            assert len(list(stream.take(stop))) == stop
            items.wait_until_closed()
