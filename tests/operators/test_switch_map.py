"""switch_map: one stream per element, of which only the newest is heard."""

from __future__ import annotations

import threading

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Stream, thread
from penstock.testing import ManualPublisher, Probe, VirtualClock, check_joint, marble, record, subscribed
from tests.operators.subjects import failure_of, notes, place


def test_laws_of_one_element() -> None:
    """With several elements the answer depends on when they come: at once, only the last of them counts."""
    check_joint(
        lambda stream: stream.take(1).switch_map(lambda n: [n, n + 1]),
        lambda xs: [] if not xs else [xs[0], xs[0] + 1],
        st.integers(),
        examples=10,
    )


def test_laws_of_the_newest_stream() -> None:
    check_joint(lambda stream: Stream.just("x").switch_map(lambda _: stream), lambda xs: xs, st.integers(), examples=10)


def test_laws_of_a_narrow_window() -> None:
    check_joint(
        lambda stream: Stream.just("x").switch_map(lambda _: stream, prefetch=1),
        lambda xs: xs,
        st.integers(),
        examples=10,
    )


def test_only_the_newest_is_heard() -> None:
    clock = VirtualClock()
    streams = {"x": marble("a-b-c|", clock=clock), "y": marble("--d-e|", clock=clock)}
    assert record(marble("x--y|", clock=clock).switch_map(streams.__getitem__), clock) == "a-b--d-e|"


def test_completes_when_both_have() -> None:
    clock = VirtualClock()
    streams = {"x": marble("a|", clock=clock), "y": marble("b|", clock=clock)}
    assert record(marble("x---y--|", clock=clock).switch_map(streams.__getitem__), clock) == "a---b--|"


def test_of_elements_that_come_at_once_the_last_counts() -> None:
    probe = subscribed(Stream.just("a", "b", "c").switch_map(lambda text: [text, text * 2]), 1)
    assert probe.elements == ["a"]
    probe.request(9)
    assert probe.elements == ["a", "c", "cc"]
    assert probe.completed


def both() -> tuple[ManualPublisher[int], list[ManualPublisher[str]], Stream[str]]:
    outer: ManualPublisher[int] = ManualPublisher()
    inner: list[ManualPublisher[str]] = [ManualPublisher(), ManualPublisher()]
    return outer, inner, Stream.from_publisher(outer).switch_map(inner.__getitem__, prefetch=4)


def test_asks_upstream_for_everything_and_the_newest_for_what_is_asked_for() -> None:
    outer, inner, stream = both()
    probe = subscribed(stream)
    assert outer.requested == 0
    probe.request(2)
    assert outer.requested == 2**63 - 1
    outer.next(0)
    assert inner[0].requests == [2]
    inner[0].next("a")
    outer.next(1)
    assert inner[0].cancelled
    assert inner[1].requests == [1]
    probe.request(1)
    assert inner[1].requests == [1, 1]


def test_holds_no_more_than_prefetch_of_the_newest() -> None:
    outer, inner, stream = both()
    probe = subscribed(stream, 100)
    outer.next(0)
    assert inner[0].requests == [4]
    inner[0].next("a")
    assert inner[0].requests == [4]
    inner[0].next("b")
    assert inner[0].requests == [4, 2]
    assert probe.elements == ["a", "b"]


def test_what_an_older_one_sends_late_is_not_heard(dropped: list[Dropped]) -> None:
    outer, inner, stream = both()
    probe = subscribed(stream, 9)
    outer.next(0)
    older = inner[0].subscriptions[0].subscriber
    outer.next(1)
    older.on_next("late")
    older.on_complete()
    assert probe.signals == []
    inner[1].next("new")
    assert probe.elements == ["new"]


def test_a_late_failure_of_an_older_one_is_dropped_not_lost(dropped: list[Dropped]) -> None:
    outer, inner, stream = both()
    probe = subscribed(stream, 9)
    outer.next(0)
    older = inner[0].subscriptions[0].subscriber
    outer.next(1)
    older.on_error(ValueError("late"))
    assert probe.signals == []
    assert [repr(one.error) for one in dropped] == ["ValueError('late')"]
    dropped.clear()


@pytest.mark.parametrize("who", ["outer", "inner"])
def test_a_failure_ends_it_and_cancels_the_other(who: str) -> None:
    outer, inner, stream = both()
    probe = subscribed(stream, 9)
    outer.next(0)
    if who == "outer":
        outer.fail(ValueError("lost"))
        assert inner[0].cancelled
    else:
        inner[0].fail(ValueError("lost"))
        assert outer.cancelled
    assert repr(probe.error) == "ValueError('lost')"


def test_a_cancel_reaches_both() -> None:
    outer, inner, stream = both()
    probe = subscribed(stream, 9)
    outer.next(0)
    probe.cancel()
    assert outer.cancelled
    assert inner[0].cancelled


def test_a_cancel_stops_an_endless_upstream() -> None:
    probe: Probe[int] = Probe(3, on_signal=lambda _: probe.cancel() if len(probe.elements) == 3 else None)
    Stream.generate(0, lambda n: (n, n + 1)).switch_map(lambda n: [n]).subscribe(probe)
    assert probe.elements == [0, 1, 2]


def test_signals_stay_serial_when_streams_come_from_many_threads() -> None:
    """An element switches on one thread while the older stream is being delivered on another."""
    busy, go_on = threading.Event(), threading.Event()

    class Slow(Probe[str]):
        def on_next(self, element: str, /) -> None:
            super().on_next(element)
            if element == "old":
                busy.set()
                assert go_on.wait(10)

    outer: ManualPublisher[str] = ManualPublisher()
    probe = Slow(9)
    stream = Stream.from_publisher(outer).switch_map(
        lambda text: Stream.just(text).publish_on(thread()) if text == "old" else [text]
    )
    stream.subscribe(probe)
    outer.next("old")
    assert busy.wait(10)
    outer.next("new")
    assert probe.elements == ["old"]
    go_on.set()
    outer.complete()
    assert probe.wait_for_end() == ["old", "new"]
    assert probe.breaches == []


def bad(n: int) -> list[int]:
    raise LookupError("no stream")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).switch_map(bad), 9)
    upstream.next(1)
    assert upstream.cancelled
    assert probe.error is not None
    assert repr(probe.error) == "LookupError('no stream')"
    assert notes(probe.error) == [f"in switch_map(bad), {place(bad)}"]


def test_what_is_no_stream_is_refused() -> None:
    error = failure_of(Stream.just(1).switch_map(lambda n: n))  # type: ignore[arg-type,return-value]
    assert str(error) == "switch_map: the function must return a Publisher or an iterable, got 1"


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^switch_map: fn must be callable, got 5$"):
        Stream.range(3).switch_map(5)  # type: ignore[arg-type]


def test_refuses_a_prefetch_below_one() -> None:
    with pytest.raises(ValueError, match=r"^switch_map: prefetch must be >= 1, got 0$"):
        Stream.range(3).switch_map(bad, prefetch=0)
