"""share: one run for all subscribers that are there; the first starts it, the last ends it."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref

import pytest

from penstock import Dropped, OverflowedError, Slow, Stream, thread
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import ManualPublisher, Probe, subscribed
from tests.engine.stress import all_at_once, restless


@pytest.mark.parametrize("slow", Slow)
def test_a_narrow_window_is_enough_for_one(slow: Slow) -> None:
    stream = Stream.range(9).share(size=1, slow=slow)
    assert list(stream) == list(range(9))
    probe = subscribed(stream)
    for count in range(1, 10):
        probe.request(1)
        assert probe.elements == list(range(count))


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^share: size must be >= 1, got 0$"):
        Stream.range(3).share(size=0)


def test_refuses_what_is_no_policy() -> None:
    with pytest.raises(TypeError, match=r"^share: slow must be a Slow, got 'wait'$"):
        Stream.range(3).share(slow="wait")  # type: ignore[arg-type]


def shared(size: int = 256, slow: Slow = Slow.ERROR) -> tuple[ManualPublisher[int], Stream[int]]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, Stream.from_publisher(upstream).share(size=size, slow=slow)


def test_there_is_one_run_for_all() -> None:
    upstream, stream = shared()
    first, second = subscribed(stream, 9), subscribed(stream, 9)
    upstream.next(1)
    upstream.complete()
    assert upstream.subscribers == 1
    assert first.elements == second.elements == [1]
    assert first.completed
    assert second.completed


def test_a_late_subscriber_sees_what_comes_from_then_on() -> None:
    upstream, stream = shared()
    first = subscribed(stream, 9)
    upstream.next(1)
    second = subscribed(stream, 9)
    upstream.next(2)
    assert (first.elements, second.elements) == ([1, 2], [2])


def test_all_see_the_failure() -> None:
    upstream, stream = shared()
    probes = [subscribed(stream), subscribed(stream)]
    error = ValueError("lost")
    upstream.fail(error)
    assert [probe.error for probe in probes] == [error, error]


def test_the_last_one_to_leave_cancels_and_the_next_one_starts_anew() -> None:
    upstream, stream = shared()
    first, second = subscribed(stream), subscribed(stream)
    first.cancel()
    assert not upstream.cancelled
    second.cancel()
    assert upstream.cancelled
    third = subscribed(stream, 1)
    assert upstream.subscribers == 2
    upstream.next(7)
    assert third.elements == [7]


def test_a_run_that_has_ended_is_started_anew() -> None:
    stream = Stream.range(3).share()
    assert list(stream) == list(stream) == [0, 1, 2]


def test_reads_nothing_before_somebody_asks() -> None:
    upstream, stream = shared(size=4)
    first, second = subscribed(stream), subscribed(stream)
    assert upstream.requests == []
    first.request(2)
    assert upstream.requests == [2]
    second.request(3)
    assert upstream.requests == [2, 1]
    upstream.next(1, 2, 3)
    assert (first.elements, second.elements) == ([1, 2], [1, 2, 3])


def test_asks_for_no_more_than_size_ahead_of_what_the_most_eager_has_taken() -> None:
    upstream, stream = shared(size=4)
    probe = subscribed(stream, 100)
    assert upstream.requests == [4]
    upstream.next(1)
    assert upstream.requests == [4]
    upstream.next(2)
    assert upstream.requests == [4, 2]
    assert probe.elements == [1, 2]


def test_one_that_joins_late_does_no_harm_to_the_others() -> None:
    upstream, stream = shared(size=2)
    early = subscribed(stream, 100)
    upstream.next(1, 2)
    late = subscribed(stream)
    upstream.next(3)
    late.request(100)
    upstream.next(4)
    assert early.elements == [1, 2, 3, 4]
    assert late.elements == [3, 4]


def test_a_slow_subscriber_fails_and_the_others_go_on() -> None:
    upstream, stream = shared(size=2)
    fast, slow = subscribed(stream, 9), subscribed(stream)
    upstream.next(1, 2)
    upstream.next(3)
    assert fast.elements == [1, 2, 3]
    assert slow.signals == []
    slow.request(9)
    assert slow.elements == [1, 2]
    assert type(slow.error) is OverflowedError
    assert str(slow.error) == "share: this subscriber is 2 elements behind the fastest one"


def test_a_slow_subscriber_misses_elements() -> None:
    upstream, stream = shared(size=2, slow=Slow.DROP)
    fast, slow = subscribed(stream, 9), subscribed(stream)
    for element in range(5):
        upstream.next(element)
    slow.request(9)
    upstream.next(5)
    assert fast.elements == [0, 1, 2, 3, 4, 5]
    assert slow.elements == [0, 1, 5]


def test_all_wait_for_a_slow_subscriber() -> None:
    upstream, stream = shared(size=2, slow=Slow.WAIT)
    slow, fast = subscribed(stream), subscribed(stream, 9)
    assert upstream.requests == []
    slow.request(1)
    assert upstream.requests == [1]
    upstream.next(1)
    assert (slow.elements, fast.elements) == ([1], [1])
    assert upstream.demand == 0
    slow.cancel()
    assert upstream.demand == 2


def test_the_end_comes_after_what_a_subscriber_has_not_taken() -> None:
    upstream, stream = shared()
    probe, eager = subscribed(stream), subscribed(stream, 1)
    upstream.next(1)
    upstream.complete()
    assert eager.completed
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [1]
    assert probe.completed


def test_a_copy_has_a_run_of_its_own() -> None:
    stream = Stream.range(3).share()
    copy = pickle.loads(pickle.dumps(stream))
    assert copy == stream
    assert list(copy) == [0, 1, 2]


class Busy(Probe[int]):
    """Ask for everything, and take its time with one element until it is told to go on."""

    def __init__(self, element: int) -> None:
        super().__init__(UNBOUNDED)
        self.element = element
        self.is_busy, self.go_on = threading.Event(), threading.Event()

    def on_next(self, element: int, /) -> None:
        super().on_next(element)
        if element == self.element:
            self.is_busy.set()
            assert self.go_on.wait(10)


def busy_with(element: int) -> tuple[ManualPublisher[int], Busy, threading.Thread]:
    upstream, stream = shared(size=4)
    probe = Busy(element)
    stream.subscribe(probe)
    upstream.next(0, 1)

    def send() -> None:
        upstream.next(element)

    sender = threading.Thread(target=send)
    sender.start()
    assert probe.is_busy.wait(10)
    return upstream, probe, sender


def test_an_illegal_request_waits_for_an_element_that_is_being_delivered() -> None:
    upstream, probe, sender = busy_with(2)
    assert probe.subscription is not None
    probe.subscription.request(0)
    assert not probe.ended
    assert upstream.cancelled
    probe.go_on.set()
    sender.join(10)
    assert probe.elements == [0, 1, 2]
    assert str(probe.error) == "rule 3.9: request(0): a request must be positive"
    assert probe.breaches == []


def test_a_cancel_while_an_element_is_being_delivered_lets_go_after_it() -> None:
    upstream, probe, sender = busy_with(2)
    probe.cancel()
    assert upstream.cancelled
    probe.go_on.set()
    sender.join(10)
    dead = weakref.ref(probe)
    subscription = probe.subscription
    del probe
    gc.collect()
    assert dead() is None
    assert subscription is not None


def test_an_end_inside_on_next_waits_for_it() -> None:
    upstream, stream = shared()
    seen: list[str] = []

    def on_signal(signal: object) -> None:
        seen.append(f"begin {signal}")
        if str(signal) == "next(2)":
            upstream.complete()
        seen.append(f"end {signal}")

    stream.subscribe(Probe(UNBOUNDED, on_signal=on_signal))
    upstream.next(1, 2)
    assert seen[-4:] == ["begin next(2)", "end next(2)", "begin complete", "end complete"]


def test_one_that_raises_leaves_and_the_others_go_on(dropped: list[Dropped]) -> None:
    upstream, stream = shared()

    def fail(signal: object) -> None:
        if str(signal) == "next(2)":
            raise ValueError("subscriber")

    bad: Probe[int] = Probe(UNBOUNDED, on_signal=fail)
    stream.subscribe(bad)
    good = subscribed(stream, UNBOUNDED)
    upstream.next(1, 2, 3)
    upstream.complete()
    assert bad.elements == [1, 2]
    assert good.elements == [1, 2, 3]
    assert good.completed
    assert [(one.what, repr(one.error)) for one in dropped] == [
        ("rule 2.13: the subscriber raised in on_next", "ValueError('subscriber')")
    ]
    dropped.clear()


def test_one_that_asks_for_everything_later_is_served_all_the_same() -> None:
    upstream, stream = shared(size=4)
    probe = subscribed(stream, 1)
    upstream.next(0)
    probe.request(UNBOUNDED)
    for number in range(1, 20):
        upstream.next(number)
    upstream.complete()
    assert probe.elements == list(range(20))
    assert probe.completed


def test_many_subscribers_come_and_go_while_it_runs() -> None:
    """Each sees a part of the stream without a gap, whenever it came."""
    stream = Stream.range(800).publish_on(thread(), prefetch=64).share(size=10_000)
    anchor = subscribed(stream, 800)
    probes: list[Probe[int]] = []
    lock = threading.Lock()

    def come(demand: int) -> None:
        for _ in range(8):
            probe = subscribed(stream, demand)
            with lock:
                probes.append(probe)
            if demand != UNBOUNDED:
                probe.cancel()

    with restless():
        all_at_once(lambda: come(UNBOUNDED), lambda: come(5), lambda: come(3))
    anchor.wait_for_end()
    for probe in probes:
        if not probe.cancelled:
            probe.wait_for_end()
        assert probe.breaches == []
        if probe.elements:
            first = probe.elements[0]
            assert probe.elements == list(range(first, first + len(probe.elements)))
        if not probe.cancelled and probe.elements and probe.error is None:
            assert probe.elements[-1] == 799
