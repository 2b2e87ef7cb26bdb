"""push: stages behind a joint that are called with each element keep every promise of those that are fed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import ProtocolError, Recorder, Stream, VirtualClock, observe
from penstock.engine.runs.counted_run import pushed
from penstock.engine.runs.pushed_run import PushRun
from penstock.engine.weaving.segment import Segment, no_element
from penstock.engine.words.part import Part
from penstock.testing import ManualPublisher, Probe, subscribed
from tests.engine.parts import Items, Plain, ended, noop, started
from tests.engine.watch import PATIENCE

UNBOUNDED = 2**63 - 1
Make = Callable[[Stream[Any]], Stream[Any]]

PUSHED: dict[str, Make] = {
    "map": lambda stream: stream.map(lambda n: n),
    "filter": lambda stream: stream.filter(lambda n: n % 2),
    "scan": lambda stream: stream.scan(lambda a, b: a + b, 0),
    "many": lambda stream: stream.map(lambda n: n).filter(lambda _: True).skip(1).enumerate().drop_repeats(),
    "count": lambda stream: stream.count(),
    "stages and a result": lambda stream: stream.map(lambda n: n).filter(lambda n: n % 2).to_list().map(len),
    "take_last": lambda stream: stream.take_last(3),
    "reduce": lambda stream: stream.reduce(lambda a, b: a + b),
    "last": lambda stream: stream.last(),
    "throttle_first": lambda stream: stream.throttle_first(0, clock=VirtualClock()),
    "take": lambda stream: stream.take(4),
    "take and drop": lambda stream: stream.take(6).filter(lambda n: n % 2),
    "drop and take": lambda stream: stream.filter(lambda n: n % 2).take(3).map(lambda n: n),
    "buffer": lambda stream: stream.buffer(2),
    "buffer and take": lambda stream: stream.buffer(2).take(2),
    "end_with": lambda stream: stream.end_with(0),
    "take and end_with": lambda stream: stream.take(3).end_with(0),
    "take_while": lambda stream: stream.take_while(lambda n: n < 5),
    "take_while and what follows": lambda stream: stream.take_while(lambda n: n < 5).buffer(2),
    "first": lambda stream: stream.first(),
    "time_interval": lambda stream: stream.time_interval(clock=VirtualClock()),
    "stateful_map": lambda stream: stream.stateful_map(lambda state, n: (state + n, state), int),
    "take none": lambda stream: stream.take(0).default_if_empty(9),
}
FED: dict[str, Make] = {
    "flat_map": lambda stream: stream.flat_map(lambda n: [n]),
    "start_with": lambda stream: stream.start_with(0),
    "results of results": lambda stream: stream.to_list().flatten().count(),
}
each = pytest.mark.parametrize("name", PUSHED)


def segment_of(make: Make) -> Segment:
    return Segment(make(Stream.empty())._chain.steps)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*PUSHED, *FED])
def test_which_stages_are_pushed_through(name: str) -> None:
    assert (pushed(segment_of({**PUSHED, **FED}[name]), Plain()) is not None) == (name in PUSHED)


@each
def test_what_a_listener_watches_is_pushed_as_well(name: str) -> None:
    recorder = Recorder()
    expected = list(PUSHED[name](Stream.range(9)))
    with observe(recorder):
        assert ended(PUSHED[name](Stream.range(9).do_finally(noop))).elements == expected
    (readings,) = recorder.readings().values()
    assert readings[-1].delivered == len(expected)


@each
def test_gives_what_the_loop_gives(name: str) -> None:
    make = PUSHED[name]
    expected = list(make(Stream.range(9)))
    for stream in (Stream.range(9).do_finally(noop), Stream.from_async_iterable(Items(9)).do_finally(noop)):
        assert ended(make(stream)).elements == expected
        assert list(make(stream)) == expected


@each
def test_asked_one_by_one_it_ends_with_its_last_element(name: str) -> None:
    expected = list(PUSHED[name](Stream.range(9)))
    probe = subscribed(PUSHED[name](Stream.range(9).do_finally(noop)))
    for number in range(len(expected)):
        assert len(probe.elements) == number
        assert not probe.ended
        probe.request(1)
    if name in {"filter", "take_while"}:
        probe.request(1)  # what is dropped after the last one is only seen when another is asked for
    assert probe.elements == expected
    assert probe.completed
    assert probe.breaches == []


def test_demand_is_passed_on_as_it_is_and_another_asked_for_in_place_of_what_is_dropped() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).filter(lambda n: n % 2), 2)
    assert upstream.requests == [2]
    upstream.next(1, 2)
    assert upstream.requests == [2, 1]
    probe.request(UNBOUNDED)
    upstream.next(4, 6)
    assert upstream.requests == [2, 1, UNBOUNDED]
    assert probe.elements == [1]


def test_a_result_asks_for_everything_once_and_waits_for_demand() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).take_last(2))
    assert upstream.subscriptions[0].requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]
    upstream.next(1, 2, 3)
    upstream.complete()
    assert probe.elements == [2]
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [2, 3]
    assert probe.completed


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_cancel_of_a_result_and_of_what_follows_it(when: str) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).take_last(2), 1)
    upstream.next(1, 2)
    if when == "while":
        upstream.complete()
        assert probe.elements == [1]
    probe.cancel()
    probe.request(5)
    assert upstream.cancelled == (when == "before")
    assert not probe.ended


@pytest.mark.parametrize("name", ["map", "count", "take_last"])
def test_an_illegal_request_fails_it(name: str) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(PUSHED[name](Stream.from_publisher(upstream)))
    probe._subscription("request").request(0)
    assert str(probe.error) == "rule 3.9: request(0): a request must be positive"
    assert upstream.cancelled
    probe.request(3)
    assert upstream.subscriptions[0].requests == []


def test_an_illegal_request_while_a_result_is_delivered_fails_it() -> None:
    probe = subscribed(Stream.range(9).do_finally(noop).take_last(2), 1)
    probe._subscription("request").request(-1)
    assert probe.elements == [7]
    assert str(probe.error) == "rule 3.9: request(-1): a request must be positive"


def test_an_illegal_request_from_another_thread_waits_for_the_delivery() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait(_: Any) -> None:
        inside.set()
        assert go_on.wait(PATIENCE)
        assert subscriber.signals == [0]  # not ended, though the request has returned

    subscriber = Plain(5, wait)
    running = started(lambda: Stream.range(9).do_finally(noop).map(lambda n: n).subscribe(subscriber))
    assert inside.wait(PATIENCE)
    assert subscriber.subscription is not None
    subscriber.subscription.request(0)
    go_on.set()
    running.join(PATIENCE)
    assert [str(signal) for signal in subscriber.signals] == ["0", "rule 3.9: request(0): a request must be positive"]


def test_a_function_that_fails_is_named_with_its_place_and_upstream_is_cancelled() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).map(lambda n: n).map(lambda n: 6 // n), 5)
    upstream.next(1, 0)
    assert probe.elements == [6]
    assert repr(probe.error) == "ZeroDivisionError('integer division or modulo by zero')"
    assert [note.partition(", test_push.py")[0] for note in probe.error.__notes__] == [  # type: ignore[union-attr]
        "in map(test_a_function_that_fails_is_named_with_its_place_and_upstream_is_cancelled.<lambda>), step 2 of 2"
    ]
    assert upstream.cancelled


def test_a_function_that_fails_at_the_end_is_named() -> None:
    probe = ended(Stream.range(3).do_finally(noop).to_list().map(lambda some: some[9]))
    assert type(probe.error) is IndexError
    assert "step 3 of 3" in probe.error.__notes__[0]


def test_a_function_that_fails_after_it_has_cancelled_is_reported(dropped: list[Any]) -> None:
    subscriber = Plain(5)

    def leave(n: int) -> int:
        assert subscriber.subscription is not None
        subscriber.subscription.cancel()
        raise LookupError("late")

    Stream.range(3).do_finally(noop).map(leave).subscribe(subscriber)
    assert subscriber.signals == []
    assert [(entry.what, repr(entry.error)) for entry in dropped] == [
        ("the source failed after the cancel", "LookupError('late')")
    ]
    dropped.clear()


def test_a_variable_that_cannot_be_set_fails_the_stream() -> None:
    class Broken(VirtualClock):
        @property
        def now(self) -> Any:
            raise OSError("no time")

    upstream: ManualPublisher[int] = ManualPublisher()
    clock = object.__new__(Broken)
    stream = Stream.from_publisher(upstream).throttle_first(1)
    object.__setattr__(stream._chain.steps[0], "clock", clock)
    probe = subscribed(stream, 1)
    assert repr(probe.error) == "OSError('no time')"
    assert upstream.cancelled


def test_an_interruption_passes_and_who_is_below_is_told() -> None:
    def interrupt(_: int) -> int:
        raise KeyboardInterrupt

    items = Items()
    probe: Probe[Any] = Probe(5)
    with pytest.raises(KeyboardInterrupt):
        Stream.from_iterable(items).do_finally(noop).map(interrupt).subscribe(probe)
    assert repr(probe.error) == "InterruptionError('the stream was interrupted by KeyboardInterrupt()')"
    assert items.closed == 1


def test_an_interruption_from_below_passes_and_nothing_is_left_open() -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    items = Items()
    subscriber = Plain(5, interrupt)
    with pytest.raises(KeyboardInterrupt):
        Stream.from_iterable(items).do_finally(noop).map(lambda n: n).subscribe(subscriber)
    assert subscriber.signals == [0]
    assert items.closed == 1


def test_late_signals_are_ignored_or_reported(dropped: list[Any]) -> None:
    run = PushRun(segment_of(PUSHED["map"]), Plain(1))
    upstream: ManualPublisher[int] = ManualPublisher()
    upstream.subscribe(run)
    run.cancel()
    run.on_next(1)
    run.on_chunk([1, 2])
    run.on_complete()
    run.on_error(ValueError("late"))
    assert upstream.cancelled
    assert [repr(entry.error) for entry in dropped] == ["ValueError('late')"]
    dropped.clear()


def test_none_and_a_second_subscription_are_refused() -> None:
    run = PushRun(segment_of(PUSHED["map"]), Plain(1))
    first: ManualPublisher[int] = ManualPublisher()
    second: ManualPublisher[int] = ManualPublisher()
    first.subscribe(run)
    second.subscribe(run)
    assert second.cancelled
    assert not first.cancelled
    with pytest.raises(TypeError, match=r"^rule 2\.13: on_next\(None\): "):
        run.on_next(None)


# Stages of which nothing comes before the end read elements that come together in one loop.


def folding(make: Make, given: list[Any]) -> tuple[PushRun, ManualPublisher[int], Plain]:
    subscriber = Plain(1)
    run = pushed(segment_of(make), subscriber)
    assert run is not None
    upstream: ManualPublisher[int] = ManualPublisher()
    upstream.subscribe(run)
    assert run.fold is not None
    run.on_chunk(given)
    return run, upstream, subscriber


@pytest.mark.parametrize(
    ("make", "result"),
    [
        (lambda stream: stream.count(), 6),
        (lambda stream: stream.map(lambda n: n + 1).filter(lambda n: n % 2).reduce(lambda a, b: a + b), 9),
        (lambda stream: stream.to_list().map(len), 6),
        (lambda stream: stream.take(2).count(), 2),
        (lambda stream: stream.filter(lambda n: n % 2).take(2).to_list(), [1, 3]),
        (lambda stream: stream.take_while(lambda n: n < 4).last(), 3),
    ],
)
def test_elements_that_come_together_are_folded(make: Make, result: Any) -> None:
    given = [0, 1, 2, 3, 4, 5]
    run, _, subscriber = folding(make, given)
    run.on_complete()
    assert subscriber.signals == [result, "complete"]
    assert given == [0, 1, 2, 3, 4, 5]  # they are the source's


def test_a_stage_that_has_enough_reads_no_more_of_what_came_together() -> None:
    seen: list[int] = []
    _, upstream, subscriber = folding(lambda stream: stream.tap(seen.append).take(2).count(), [1, 2, 3])
    assert seen == [1, 2]
    assert upstream.cancelled
    assert subscriber.signals == [2, "complete"]


def test_a_cancel_ends_the_loop_behind_the_element_that_is_worked_on() -> None:
    seen: list[int] = []
    runs: list[Any] = []

    def see(n: int) -> None:
        seen.append(n)
        if n == 2:
            runs[0].cancel()

    subscriber = Plain(1)
    run = pushed(segment_of(lambda stream: stream.tap(see).count()), subscriber)
    assert run is not None
    runs.append(run)
    upstream: ManualPublisher[int] = ManualPublisher()
    upstream.subscribe(run)
    run.on_chunk([1, 2, 3])
    run.on_chunk([4])
    assert seen == [1, 2]
    assert upstream.cancelled
    assert subscriber.signals == []


def test_a_cancel_that_comes_while_the_loop_is_looked_up_is_no_failure() -> None:
    seen: list[int] = []
    subscriber = Plain(1)
    run = pushed(segment_of(lambda stream: stream.tap(seen.append).count()), subscriber)
    assert run is not None
    upstream: ManualPublisher[int] = ManualPublisher()
    upstream.subscribe(run)

    fold = vars(PushRun)["fold"]

    def cancelled_behind(looked_at: Any) -> Any:
        found = fold.__get__(looked_at)
        looked_at.cancel()
        return found

    between: Any = type("Between", (type(run),), {"__slots__": (), "fold": property(cancelled_behind, fold.__set__)})
    run.__class__ = between
    run.on_chunk([1, 2, 3])
    assert seen == []
    assert upstream.cancelled
    assert subscriber.signals == []


def test_an_illegal_request_ends_the_loop_as_well() -> None:
    seen: list[int] = []
    subscriber = Plain(1)

    def see(n: int) -> None:
        seen.append(n)
        assert subscriber.subscription is not None
        subscriber.subscription.request(0)

    run = pushed(segment_of(lambda stream: stream.tap(see).count()), subscriber)
    assert run is not None
    upstream: ManualPublisher[int] = ManualPublisher()
    upstream.subscribe(run)
    run.on_chunk([1, 2, 3])
    assert seen == [1]
    assert [type(signal) for signal in subscriber.signals] == [ValueError]


def inverse(n: int) -> int:
    return 1 // n


def test_a_failure_in_the_loop_names_its_step() -> None:
    _, upstream, subscriber = folding(lambda stream: stream.map(inverse).count(), [1, 0, 2])
    (error,) = subscriber.signals
    assert isinstance(error, ZeroDivisionError)
    assert [note.partition(",")[0] for note in error.__notes__] == ["in map(inverse)"]
    assert upstream.cancelled


# Elements that lie ready come in chunks to who takes them.


@pytest.mark.parametrize("items", [list(range(300)), tuple(range(300)), range(300), "x" * 300, b"x" * 300])
def test_elements_that_lie_ready_come_in_chunks(items: Any) -> None:
    sizes: list[int] = []

    class Chunks(Plain, Part):
        def on_chunk(self, elements: list[Any]) -> None:
            sizes.append(len(elements))
            self.signals.extend(elements)

    subscriber = Chunks(200)
    Stream.from_iterable(items).subscribe(subscriber)
    assert sizes == [128, 72]
    assert subscriber.subscription is not None
    subscriber.subscription.request(100)
    assert sizes == [128, 72, 100]
    assert subscriber.signals == [*items, "complete"]


@pytest.mark.parametrize(
    "stream",
    [
        Stream.range(9).map(lambda n: n),
        Stream.from_iterable({1, 2}),
        Stream.generate(0, lambda n: (n, n + 1) if n < 5 else None),
    ],
)
def test_what_takes_somebodys_code_comes_one_by_one(stream: Stream[Any]) -> None:
    class Chunks(Plain, Part):
        def on_chunk(self, elements: list[Any]) -> None:
            raise AssertionError(elements)

    subscriber = Chunks(100)
    stream.subscribe(subscriber)
    assert subscriber.signals == [*stream, "complete"]


def test_none_among_what_lies_ready_is_refused_where_it_stands() -> None:
    probe = ended(Stream.from_iterable([1, 2, None, 3]).group_by(bool).flat_map(lambda group: group, concurrency=1))
    assert str(probe.error) == str(no_element())
    assert [note.partition(",")[0] for note in probe.error.__notes__] == ["in the source"]  # type: ignore[union-attr]


def test_a_cancel_between_two_chunks_ends_it() -> None:
    class Chunks(Plain, Part):
        def on_chunk(self, elements: list[Any]) -> None:
            self.signals.append(len(elements))
            assert self.subscription is not None
            self.subscription.cancel()

    subscriber = Chunks(UNBOUNDED)
    Stream.range(1000).subscribe(subscriber)
    assert subscriber.signals == [128]


def test_a_subscriber_that_raises_in_a_chunk_is_cut_off(dropped: list[Any]) -> None:
    class Chunks(Plain, Part):
        def on_chunk(self, elements: list[Any]) -> None:
            raise ArithmeticError("no")

    subscriber = Chunks(UNBOUNDED)
    Stream.range(1000).subscribe(subscriber)
    assert subscriber.signals == []
    assert [entry.what for entry in dropped] == ["rule 2.13: the subscriber raised in on_next"]
    dropped.clear()


def test_a_source_that_cannot_be_opened_is_named_although_chunks_are_taken() -> None:
    items = Items(5, iter=LookupError("gone"))
    probe = ended(Stream.from_iterable(items).group_by(bool))
    assert repr(probe.error) == "LookupError('gone')"
    assert [note.partition(",")[0] for note in probe.error.__notes__] == ["in the source"]  # type: ignore[union-attr]
    assert not isinstance(probe.error, ProtocolError)


@pytest.mark.parametrize("name", PUSHED)
def test_a_subscription_that_comes_after_the_end_is_cancelled(name: str) -> None:
    class Silent:
        asked = cancelled = 0

        def request(self, _: int, /) -> None:
            self.asked += 1

        def cancel(self) -> None:
            self.cancelled += 1

    run = pushed(segment_of(PUSHED[name]), Plain(9))
    assert run is not None
    run.on_subscribe(Silent())
    run.on_complete()
    late = Silent()
    run.on_subscribe(late)
    assert (late.asked, late.cancelled) == (0, 1)
