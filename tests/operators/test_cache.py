"""cache: one run whose elements everybody gets from the first on, up to a bound."""

from __future__ import annotations

import pickle

import pytest

from penstock import OverflowedError, Stream
from penstock.testing import ManualPublisher, Tracked, subscribed


def cached(size: int = 100) -> tuple[ManualPublisher[int], Stream[int]]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, Stream.from_publisher(upstream).cache(size=size)


def test_a_late_subscriber_gets_everything() -> None:
    upstream, stream = cached()
    early = subscribed(stream, 9)
    upstream.next(1, 2)
    late = subscribed(stream, 9)
    upstream.next(3)
    assert early.elements == late.elements == [1, 2, 3]
    assert upstream.subscribers == 1


def test_so_does_one_that_comes_after_the_end() -> None:
    items = Tracked([1, 2, 3])
    stream = Stream.from_iterable(items).cache()
    assert list(stream) == list(stream) == [1, 2, 3]
    assert items.opened == 1


def test_what_is_kept_waits_for_demand() -> None:
    upstream, stream = cached()
    subscribed(stream, 9)
    upstream.next(1, 2)
    late = subscribed(stream, 1)
    assert late.elements == [1]
    late.request(1)
    assert late.elements == [1, 2]


def test_a_slow_subscriber_holds_nobody_back_and_misses_nothing() -> None:
    upstream, stream = cached(size=50)
    slow, fast = subscribed(stream), subscribed(stream, 99)
    for element in range(50):
        upstream.next(element)
    assert fast.elements == list(range(50))
    slow.request(99)
    assert slow.elements == list(range(50))
    assert not slow.ended


def test_as_many_as_it_keeps_are_fine() -> None:
    stream = Stream.range(10).cache(size=10)
    assert list(stream) == list(stream) == list(range(10))


def test_one_more_fails_it_for_all() -> None:
    upstream, stream = cached(size=2)
    probes = [subscribed(stream, 9), subscribed(stream)]
    upstream.next(1, 2)
    upstream.next(3)
    assert upstream.cancelled
    probes[1].request(9)
    for probe in probes:
        assert probe.elements == [1, 2]
        assert type(probe.error) is OverflowedError
        assert str(probe.error) == "cache: there are more than 2 elements; raise size, or say replay(count)"


def test_a_failure_is_told_and_not_kept() -> None:
    upstream, stream = cached()
    probe = subscribed(stream, 9)
    upstream.next(1)
    upstream.fail(ValueError("lost"))
    assert repr(probe.error) == "ValueError('lost')"
    again = subscribed(stream, 9)
    assert upstream.subscribers == 2
    upstream.next(7)
    assert again.elements == [7]


def test_a_failure_can_be_retried() -> None:
    attempts = iter([ValueError("first"), 42])

    def attempt() -> int:
        given = next(attempts)
        if isinstance(given, Exception):
            raise given
        return given

    stream = Stream.from_callable(attempt).cache().retry(1)
    assert list(stream) == list(stream) == [42]


def test_the_last_one_to_leave_cancels_and_the_next_one_starts_anew() -> None:
    upstream, stream = cached()
    first, second = subscribed(stream, 9), subscribed(stream, 9)
    upstream.next(1)
    first.cancel()
    assert not upstream.cancelled
    second.cancel()
    assert upstream.cancelled
    again = subscribed(stream, 9)
    assert upstream.subscribers == 2
    assert again.elements == []


def test_a_copy_has_a_run_of_its_own() -> None:
    stream = Stream.range(3).cache()
    assert list(stream) == [0, 1, 2]
    copy = pickle.loads(pickle.dumps(stream))
    assert copy == stream
    assert list(copy) == [0, 1, 2]


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^cache: size must be >= 1, got 0$"):
        Stream.range(3).cache(size=0)
