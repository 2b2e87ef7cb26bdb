"""race: all of the stream that is the first to signal anything, and nothing of the others."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Stream, thread
from penstock.testing import ManualPublisher, Tracked, VirtualClock, check_joint, marble, record, subscribed
from tests.engine.stress import all_at_once, restless
from tests.operators.subjects import failure_of


def test_laws_of_a_later_winner() -> None:
    check_joint(lambda stream: Stream.never().race(stream, Stream.never()), lambda xs: xs, st.integers(), examples=15)


def test_laws_with_a_thread() -> None:
    check_joint(
        lambda stream: Stream.never().race(stream.publish_on(thread(), prefetch=2)),
        lambda xs: xs,
        st.integers(),
        examples=5,
    )


def test_the_first_element_decides() -> None:
    clock = VirtualClock()
    slow, fast = marble("---a-b|", clock=clock), marble("--c---d|", clock=clock)
    assert record(slow.race(fast), clock) == "--c---d|"
    assert clock.pending == 0


def test_so_does_an_end() -> None:
    clock = VirtualClock()
    assert record(marble("---a|", clock=clock).race(marble("-|", clock=clock)), clock) == "-|"
    assert record(marble("---a|", clock=clock).race(marble("--#", clock=clock)), clock) == "--#"


def three() -> tuple[list[ManualPublisher[int]], Stream[int]]:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher(), ManualPublisher()]
    return sources, Stream.from_publisher(sources[0]).race(*sources[1:])


def test_each_is_asked_until_one_has_answered() -> None:
    sources, stream = three()
    probe = subscribed(stream, 2)
    probe.request(1)
    assert [one.requests for one in sources] == [[2, 1], [2, 1], [2, 1]]
    sources[1].next(7)
    assert [one.cancelled for one in sources] == [True, False, True]
    probe.request(5)
    assert [one.requests for one in sources] == [[2, 1], [2, 1, 5], [2, 1]]
    sources[1].next(8, 9)
    sources[1].complete()
    assert probe.elements == [7, 8, 9]
    assert probe.completed


def test_what_the_others_send_late_is_not_heard(dropped: list[Dropped]) -> None:
    sources, stream = three()
    probe = subscribed(stream, 9)
    late = [one.subscriptions[0].subscriber for one in sources]
    sources[0].next(1)
    late[1].on_next(2)
    late[1].on_complete()
    late[2].on_error(ValueError("late"))
    assert probe.elements == [1]
    assert not probe.ended
    assert [repr(one.error) for one in dropped] == ["ValueError('late')"]
    dropped.clear()


def test_a_cancel_reaches_all() -> None:
    sources, stream = three()
    subscribed(stream, 1).cancel()
    assert [one.cancelled for one in sources] == [True, True, True]


def test_a_cancel_reaches_the_winner() -> None:
    sources, stream = three()
    probe = subscribed(stream, 2)
    sources[2].next(1)
    probe.cancel()
    assert sources[2].cancelled


def test_one_that_answers_at_once_keeps_the_others_from_being_subscribed() -> None:
    late: ManualPublisher[int] = ManualPublisher()
    assert list(Stream.just(1, 2).do_finally(bool).race(late)) == [1, 2]
    assert list(Stream.just(1, 2).race(late)) == [1, 2]
    assert repr(failure_of(Stream.error(ValueError("lost")).race(late))) == "ValueError('lost')"
    assert late.subscribers == 0


def test_while_nobody_asks_only_an_end_is_an_answer() -> None:
    items = Tracked([1, 2])
    probe = subscribed(Stream.from_iterable(items).do_finally(bool).race(Stream.empty()))
    assert probe.completed
    assert items.taken == 0
    assert items.open_runs == 0


def test_racing_again_and_again_stays_one_level_deep() -> None:
    racing: Stream[int] = Stream.never()
    for _ in range(300):
        racing = racing.race(Stream.never())
    assert list(racing.race(Stream.just(1))) == [1]


def test_racing_nobody_changes_nothing() -> None:
    assert list(Stream.range(3).race()) == [0, 1, 2]


def test_one_of_many_threads_wins() -> None:
    for _ in range(20):
        sources, stream = three()
        probe = subscribed(stream, 2)
        legs = [one.subscriptions[0].subscriber for one in sources]

        def run(number: int, legs: list[Any] = legs) -> None:
            legs[number].on_next(number)
            legs[number].on_next(number)

        with restless():
            all_at_once(*[lambda number=number: run(number) for number in range(3)])
        assert len(probe.elements) == 2
        assert len(set(probe.elements)) == 1
        assert probe.breaches == []
        probe.cancel()


def test_refuses_what_is_no_stream() -> None:
    message = r"^race: each stream must be a Publisher, got 5; wrap an iterable in Stream.from_iterable$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).race(5)  # type: ignore[arg-type]


def test_a_thread_that_answers_later_loses() -> None:
    gate = threading.Event()
    slow = Stream.from_callable(lambda: gate.wait(10) and "slow").subscribe_on(thread())
    assert list(slow.race(Stream.just("fast"))) == ["fast"]
    gate.set()
