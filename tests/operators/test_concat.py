"""concat: one stream after the other."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream, thread
from penstock.testing import ManualPublisher, Tracked, check_joint, check_source, subscribed
from tests.operators.subjects import failure_of


def test_laws() -> None:
    check_joint(lambda stream: stream.concat(stream.map(str)), lambda xs: [*xs, *map(str, xs)], st.integers())


def test_laws_with_a_thread_among_the_streams() -> None:
    check_joint(
        lambda stream: stream.concat(stream.map(str).publish_on(thread())),
        lambda xs: [*xs, *map(str, xs)],
        st.integers(),
        examples=5,
    )


def test_laws_of_sources() -> None:
    check_source(
        lambda: Stream.just(1, 2).concat(Stream.empty(), Stream.just(3), Stream.empty()), [1, 2, 3], examples=10
    )


def test_refuses_what_is_no_stream() -> None:
    message = r"^concat: each stream must be a Publisher, got 'ab'; wrap an iterable in Stream.from_iterable$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).concat("ab")  # type: ignore[arg-type]


def test_demand_left_over_moves_on_to_the_next() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(first).concat(second), 3)
    assert second.subscribers == 0
    first.next(1)
    first.complete()
    assert second.requests == [2]
    probe.request(5)
    assert second.requests == [2, 5]
    second.next(2)
    second.complete()
    assert probe.elements == [1, 2]
    assert probe.completed


def test_later_streams_are_subscribed_only_when_their_turn_comes() -> None:
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.just(1, 2).concat(second), 1)
    assert second.subscribers == 0
    probe.cancel()
    assert second.subscribers == 0


def test_a_failure_ends_the_whole() -> None:
    second: ManualPublisher[int] = ManualPublisher()
    assert repr(failure_of(Stream.error(ValueError("lost")).concat(second))) == "ValueError('lost')"
    assert second.subscribers == 0


def test_a_cancel_reaches_the_one_at_hand() -> None:
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.empty().concat(second), 3)
    probe.cancel()
    assert second.cancelled


def test_a_cancel_closes_the_one_at_hand_when_iterated() -> None:
    sources = [Tracked([1]), Tracked([2, 3]), Tracked([4])]
    probe = subscribed(Stream.from_iterable(sources[0]).concat(*map(Stream.from_iterable, sources[1:])), 2)
    assert probe.elements == [1, 2]
    probe.cancel()
    assert [(one.opened, one.open_runs) for one in sources] == [(1, 0), (1, 0), (0, 0)]


def test_thousands_of_streams_do_not_deepen_the_stack() -> None:
    joined = Stream.empty()
    for number in range(2000):
        joined = joined.concat(Stream.just(number).do_finally(int) if number % 2 else Stream.just(number))
    assert list(joined) == list(range(2000))
