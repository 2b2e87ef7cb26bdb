"""replay: late subscribers see the last elements that came before them."""

from __future__ import annotations

import pytest

from penstock import OverflowedError, Slow, Stream
from penstock.testing import ManualPublisher, subscribed


def replayed(count: int, size: int = 256, slow: Slow = Slow.ERROR) -> tuple[ManualPublisher[int], Stream[int]]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, Stream.from_publisher(upstream).replay(count, size=size, slow=slow)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "replay: count must be >= 1, got 0"),
        ({"count": 1, "size": 0}, "replay: size must be >= 1, got 0"),
    ],
)
def test_refuses_counts_below_one(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Stream.range(3).replay(**arguments)


def test_refuses_what_is_no_policy() -> None:
    with pytest.raises(TypeError, match=r"^replay: slow must be a Slow, got None$"):
        Stream.range(3).replay(1, slow=None)  # type: ignore[arg-type]


def test_a_late_subscriber_gets_the_last_elements_first() -> None:
    upstream, stream = replayed(2)
    early = subscribed(stream, 9)
    upstream.next(1, 2, 3)
    late = subscribed(stream, 9)
    upstream.next(4)
    assert upstream.subscribers == 1
    assert (early.elements, late.elements) == ([1, 2, 3, 4], [2, 3, 4])


def test_what_is_replayed_waits_for_demand() -> None:
    upstream, stream = replayed(2)
    subscribed(stream, 9)
    upstream.next(1, 2)
    late = subscribed(stream, 1)
    upstream.next(3)
    assert late.elements == [1]
    late.request(5)
    assert late.elements == [1, 2, 3]


@pytest.mark.parametrize("error", [None, ValueError("lost")])
def test_after_the_end_it_gives_the_last_elements_and_the_end(error: Exception | None) -> None:
    upstream, stream = replayed(2)
    subscribed(stream, 9)
    upstream.next(1, 2, 3)
    if error is None:
        upstream.complete()
    else:
        upstream.fail(error)
    late = subscribed(stream)
    assert late.signals == []
    late.request(2)
    assert late.elements == [2, 3]
    assert late.ended
    assert late.error is error
    assert upstream.subscribers == 1


def test_the_last_one_to_leave_cancels_and_the_next_one_starts_anew() -> None:
    upstream, stream = replayed(2)
    probe = subscribed(stream, 9)
    upstream.next(1)
    probe.cancel()
    assert upstream.cancelled
    again = subscribed(stream, 9)
    assert again.elements == []
    assert upstream.subscribers == 2


def test_a_slow_subscriber_fails_counting_live_elements_only() -> None:
    upstream, stream = replayed(3, size=2)
    fast = subscribed(stream, 99)
    upstream.next(1, 2)
    upstream.next(3)
    slow = subscribed(stream)
    upstream.next(4)
    upstream.next(5)
    assert slow.signals == []
    upstream.next(6)
    slow.request(9)
    assert slow.elements == [1, 2, 3, 4, 5]
    assert type(slow.error) is OverflowedError
    assert str(slow.error) == "replay: this subscriber is 2 elements behind the fastest one"
    assert fast.elements == [1, 2, 3, 4, 5, 6]


def test_all_wait_for_a_slow_subscriber() -> None:
    upstream, stream = replayed(1, size=2, slow=Slow.WAIT)
    subscribed(stream, 9)
    subscribed(stream)
    upstream.next(1, 2)
    assert upstream.demand == 0
