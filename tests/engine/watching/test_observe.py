"""observe: a listener sees what every step was asked for, gave, holds, failed with and took; others pay nothing."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    EmptyError,
    Observation,
    Reading,
    Recorder,
    RunCancelledError,
    RunState,
    Sink,
    Stream,
    Subject,
    VirtualClock,
    branch,
    inline,
    observe,
    thread,
)
from penstock.engine.watching.weave_observed import ObservedWeaver
from penstock.engine.weaving.weave import Weaver, loops_for
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.filter import Filter
from penstock.operators.map import Map
from penstock.operators.reduce import Reduce
from penstock.testing import Form, ManualPublisher, Probe, Tracked, subscribed
from tests.engine.parts import FORMS, Items, ended, in_thread, noop
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


class Witness:
    """Keep all runs, and every word about them."""

    def __init__(self) -> None:
        self.runs: list[Observation] = []
        self.words: list[str] = []
        self.errors: list[str] = []

    def started(self, run: Observation, /) -> None:
        self.runs.append(run)
        self.words.append("started")

    def progressed(self, run: Observation, /) -> None:
        self.words.append("progressed")

    def ended(self, run: Observation, /) -> None:
        self.words.append(run.state.value)
        self.errors.append(repr(run.error))

    def readings(self) -> tuple[Reading, ...]:
        (run,) = self.runs
        return run.readings()

    def delivered(self) -> dict[str, int]:
        return {f"{reading.place[-1]} {reading.step}": reading.delivered for reading in self.readings()}


# What it costs when nobody listens.

LOOP = """\
def run(open_source, gate, where, c3_initial, c0_fn, c1_predicate, c2_fn, c3_fn):
    source, stopped = None, False
    try:
        s3_result = c3_initial
        source = open_source(gate)
        for v in source:
            if v is None: raise no_element()
            v = c0_fn(v)
            if v is None:
                raise no_element()
            if not c1_predicate(v):
                continue
            v = c2_fn(v)
            if v is None:
                raise no_element()
            s3_result = c3_fn(s3_result, v)
            continue
            yield v
        for v in (s3_result,):
            if v is None: raise no_element()
            yield v
    except Exception as error:
        failed, source = source, None
        raise fail(failed, where, error)
    except BaseException:
        stopped = True
        raise
    finally:
        if source is not None: (leave if stopped else close)(source)"""


def test_a_loop_that_nobody_sees_has_not_a_word_more() -> None:
    bodies = [stage.body for stage in (Map(str), Filter(bool), Map(str), Reduce(operator.add, 0))]
    assert Weaver(bodies, "free").write() == LOOP


def test_a_loop_that_nobody_sees_is_the_same_before_and_after_one_that_is_seen() -> None:
    stream = Stream.range(9).map(abs).filter(bool).map(abs)
    bodies = tuple(step.body for step in stream._chain.steps)  # type: ignore[union-attr]
    assert list(stream) == list(range(1, 9))
    before = loops_for(bodies, "free", {})
    with observe(Witness()):
        assert list(stream) == list(range(1, 9))
    assert list(stream) == list(range(1, 9))
    assert loops_for(bodies, "free", {}) is before
    assert all("meter" not in loop.function.__code__.co_names for loop in before)
    assert stream._chain.watch is None


# Counting.

Step = tuple[str, Callable[[Stream[int]], Stream[int]]]

STEPS: list[Step] = [
    ("map", lambda s: s.map(lambda n: n + 1)),
    ("filter", lambda s: s.filter(lambda n: n % 3 != 0)),
    ("filter nothing", lambda s: s.filter(lambda n: False)),
    ("flat_map", lambda s: s.flat_map(lambda n: [n] * (n % 3))),
    ("flat_map of a generator", lambda s: s.flat_map(lambda n: (n for _ in range(n % 3)))),
    ("take", lambda s: s.take(3)),
    ("take_while", lambda s: s.take_while(lambda n: n < 9)),
    ("skip", lambda s: s.skip(2)),
    ("scan", lambda s: s.scan(operator.add, 0)),
    ("buffer", lambda s: s.buffer(3).map(sum)),
    ("drop_repeats", lambda s: s.drop_repeats()),
    ("reduce", lambda s: s.reduce(operator.add, 0)),
    ("start_with", lambda s: s.start_with(7, 8)),
    ("end_with", lambda s: s.end_with(7, 8)),
    ("do_finally", lambda s: s.do_finally(noop)),
    ("publish_on", lambda s: s.publish_on(inline(), prefetch=4)),
    ("enumerate", lambda s: s.enumerate().map(sum)),
]


def build(source: Stream[int], steps: list[Step], after: Callable[[Stream[int], int], Stream[int]]) -> Stream[int]:
    stream = after(source, 0)
    for number, (_, add) in enumerate(steps, 1):
        stream = after(add(stream), number)
    return stream


def passed_by(make: Callable[[], Stream[int]], steps: list[Step], run: Callable[[Stream[int]], Any]) -> list[int]:
    """Count with a tap behind the source and behind each step."""
    counts = [0] * (1 + len(steps))

    def counted(stream: Stream[int], number: int) -> Stream[int]:
        def count(_: object) -> None:
            counts[number] += 1

        return stream.tap(count)

    run(build(make(), steps, counted))
    return counts


def seen_by(make: Callable[[], Stream[int]], steps: list[Step], run: Callable[[Stream[int]], Any]) -> list[int]:
    """Let a listener count."""
    stream = build(make(), steps, lambda stream, _: stream)
    ends = [len(make()._chain.steps)]  # some of the steps are two
    built = make()
    for _, add in steps:
        built = add(built)
        ends.append(len(built._chain.steps))
    witness = Witness()
    with observe(witness):
        run(stream)
    delivered = [reading.delivered for reading in witness.readings() if len(reading.place) == 1]
    return [delivered[end] for end in ends]


def in_slices(stream: Stream[int]) -> None:
    probe = subscribed(stream)
    while not probe.ended:
        probe.request(2)
    assert probe.breaches == []


async def asynchronously(stream: Stream[int]) -> list[int]:
    return [n async for n in stream]


WAYS: dict[str, tuple[Callable[[int], Stream[int]], Callable[[Stream[int]], Any]]] = {
    "iterated": (Stream.range, list),
    "a list, iterated": (lambda size: Stream.from_iterable(list(range(size))), list),
    "an iterator of another kind": (lambda size: Stream.from_iterable(Items(size)), list),
    "the first element only": (Stream.range, lambda stream: next(iter(stream), None)),
    "subscribed": (Stream.range, ended),
    "in slices": (Stream.range, in_slices),
    "fed": (lambda size: Stream.range(size).do_finally(noop), ended),
    "asynchronous": (
        lambda size: Stream.from_async_iterable(Items(size)),
        lambda stream: asyncio.run(asynchronously(stream)),
    ),
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40)
@given(st.lists(st.sampled_from(STEPS), max_size=5), st.integers(0, 20))
def test_every_step_is_counted_as_a_tap_would(way: str, steps: list[Step], size: int) -> None:
    make, run = WAYS[way]
    seen = seen_by(lambda: make(size), steps, run)
    passed = passed_by(lambda: make(size), steps, run)
    names = [way, *(name for name, _ in steps)]
    for number in range(len(names)):
        if not {"fed", "do_finally", "publish_on"}.isdisjoint(names[number:]):
            # What a joint has taken or given may wait when the end comes; how much it is depends on what is around it.
            seen[number] = min(seen[number], passed[number])
    assert seen == passed


@pytest.mark.parametrize("way", ["iterated", "subscribed", "fed", "asynchronous"])
def test_many_elements_are_counted_across_the_pieces_they_are_taken_in(way: str) -> None:
    make, run = WAYS[way]
    steps = [STEPS[1], STEPS[3], STEPS[0], STEPS[4]]
    assert seen_by(lambda: make(5000), steps, run) == passed_by(lambda: make(5000), steps, run)


@pytest.mark.parametrize(("left", "right"), [(5, 3), (3, 5), (4, 4)])
def test_rows_of_zip_are_counted_whichever_stream_ends_first(left: int, right: int) -> None:
    witness = Witness()
    with observe(witness):
        rows = list(Stream.range(left).zip(Stream.range(right)).map(sum))
    assert [reading.delivered for reading in witness.readings()][-2:] == [len(rows)] * 2


def test_deep_nests_and_long_rows_are_counted() -> None:
    nested: Stream[int] = Stream.range(4)
    for _ in range(20):
        nested = nested.flat_map(lambda n: (n,))
    row: Stream[int] = Stream.range(4)
    for _ in range(600):
        row = row.map(lambda n: n)
    for stream in (nested, row):
        witness = Witness()
        with observe(witness):
            assert list(stream) == [0, 1, 2, 3]
            assert ended(stream).elements == [0, 1, 2, 3]
        for run in witness.runs:
            assert {reading.delivered for reading in run.readings()} == {4}


@given(st.lists(st.sampled_from(STEPS), max_size=4), st.sampled_from(["sync", "free", "async", "fed"]))
def test_every_loop_that_is_seen_can_be_compiled(steps: list[Step], form: Any) -> None:
    stream = build(Stream.range(3), steps, lambda stream, _: stream)
    bodies = [step.body for step in stream._chain.steps if hasattr(step, "body")]
    compile(ObservedWeaver(bodies[:4], form).write(), "loop", "exec")


# Failures.


def fail_at(place: int) -> Callable[[int], int]:
    def fail(n: int) -> int:
        if n == place:
            raise ValueError("lost")
        return n

    return fail


@pytest.mark.parametrize("way", ["sync", "fed", "chunked", "async", "fed async", "nested"])
def test_an_error_is_counted_where_it_began_and_what_it_lost_is_not(way: str) -> None:
    witness = Witness()
    stream = FORMS[way](Items(9)).map(fail_at(5)).filter(lambda n: n % 2 == 0).map(str)
    with observe(witness):
        assert repr(ended(stream).error) == "ValueError('lost')"
    readings = witness.readings()[-4:]
    assert [reading.errors for reading in readings] == [0, 1, 0, 0]
    assert [reading.delivered for reading in readings][1:] == [5, 3, 3]
    assert witness.words == ["started", "failed"]
    assert witness.errors == ["ValueError('lost')"]
    assert witness.runs[0].state is RunState.FAILED
    assert witness.runs[0].error is None  # it is not kept


def test_an_error_of_a_source_and_of_a_joint() -> None:
    async def fail(_: int) -> int:
        raise ValueError("joint")

    witness, other = Witness(), Witness()
    with observe(witness):
        ended(Stream.from_iterable(Items(2, next=ValueError("source"))).map(str))
    with observe(other):
        ended(Stream.range(5).map(str).map_async(fail).map(str))  # type: ignore[arg-type]
    assert [reading.errors for reading in witness.readings()] == [1, 0]
    assert [reading.errors for reading in other.readings()] == [0, 0, 1, 0]


def test_an_error_that_is_handled_is_counted_and_the_run_goes_on() -> None:
    witness = Witness()
    with observe(witness):
        assert list(Stream.range(5).map(fail_at(2)).on_error_resume(lambda _: [7]).map(str)) == ["0", "1", "7"]
    assert [reading.errors for reading in witness.readings()] == [0, 1, 0, 0]
    assert [reading.delivered for reading in witness.readings()] == [3, 2, 3, 3]
    assert witness.words == ["started", "completed"]


def test_attempts_add_up() -> None:
    attempts: list[int] = []

    def fail_twice(n: int) -> int:
        if n == 2 and len(attempts) < 2:
            attempts.append(n)
            raise ValueError("again")
        return n

    witness = Witness()
    with observe(witness):
        assert list(Stream.range(4).map(fail_twice).retry(5).map(str)) == ["0", "1", "0", "1", "0", "1", "2", "3"]
    inner = [reading for reading in witness.readings() if len(reading.place) > 1]
    assert [(reading.place, reading.step, reading.delivered, reading.errors) for reading in inner] == [
        ((0, 0, 0), "range", 10, 0),
        ((0, 0, 1), "map(test_attempts_add_up.fail_twice)", 8, 2),
    ]


# Ends.


def test_how_a_run_ends() -> None:
    witness = Witness()
    with observe(witness):
        list(Stream.range(3))
        Stream.range(9).count().get()
        Stream.range(9).first().get()
        next(iter(Stream.range(9).map(str)))
        subscribed(Stream.range(9)).cancel()
        subscribed(Stream.never()).cancel()
    words = [word for word in witness.words if word != "started"]
    assert words == ["completed", "completed", "completed", "cancelled", "cancelled", "cancelled"]


def test_a_run_that_is_over_says_how_long_it_took() -> None:
    clock = VirtualClock()
    witness = Witness()
    with observe(witness, clock=clock):
        list(Stream.range(3).map(lambda n: clock.advance(2) or n))
    clock.advance(100)
    (run,) = witness.runs
    assert run.elapsed == 6
    assert repr(run) == ("Observation(range | map(test_a_run_that_is_over_says_how_long_it_took.<lambda>), completed)")


# Demand.


def test_what_is_asked_for_is_carried_up() -> None:
    witness = Witness()
    with observe(witness):
        probe = subscribed(Stream.range(100).buffer(3).map(sum).take(5), 2)
    requested = [reading.requested for reading in witness.readings()]
    assert requested == [6, 2, 2, 2]  # two lists of three
    probe.request(UNBOUNDED)
    assert [reading.requested for reading in witness.readings()] == [15, 5, 5, UNBOUNDED]


def test_what_a_joint_is_asked_for() -> None:
    witness = Witness()
    with observe(witness):
        probe = subscribed(Stream.range(100).map(str).publish_on(inline(), prefetch=8).map(str), 3)
    readings = witness.readings()
    assert [(reading.step, reading.requested, reading.delivered) for reading in readings] == [
        ("range", 8, 8),
        ("map(str)", 8, 8),
        ("publish_on", 3, 3),
        ("map(str)", 3, 3),
    ]
    probe.cancel()


# What waits.


def test_what_waits_is_seen_where_it_waits() -> None:
    witness = Witness()
    with observe(witness):
        probe = subscribed(Stream.range(100).publish_on(inline(), prefetch=8).map(str))
    assert [reading.buffered for reading in witness.readings()] == [0, 0, 0]
    probe.request(1)
    assert [reading.buffered for reading in witness.readings()] == [0, 7, 0]
    probe.request(2)
    assert [reading.buffered for reading in witness.readings()] == [0, 5, 0]
    probe.cancel()
    assert [reading.buffered for reading in witness.readings()] == [0, 0, 0]


def test_what_a_stage_holds_is_seen() -> None:
    witness = Witness()
    upstream: ManualPublisher[int] = ManualPublisher()
    with observe(witness):
        subscribed(Stream.from_publisher(upstream).buffer(5), 1)
    for n in range(3):
        upstream.next(n)
    assert [reading.buffered for reading in witness.readings()] == [0, 3]
    upstream.complete()
    assert [reading.buffered for reading in witness.readings()] == [0, 0]


def test_what_map_async_works_on_is_seen() -> None:
    async def main() -> list[int]:
        witness = Witness()
        release = asyncio.Event()

        async def wait(n: int) -> int:
            await release.wait()
            return n

        with observe(witness):
            stream = Stream.range(9).map_async(wait, concurrency=2)
        elements = [n async for n in stream.observed(witness).tap(noop).take(0)]
        assert elements == []
        witness.runs.clear()
        task = asyncio.ensure_future(asynchronously(stream.observed(witness)))
        while not witness.runs or witness.readings()[-1].buffered < 4:
            await asyncio.sleep(0)
        found = witness.readings()[-1].buffered
        release.set()
        assert await task == list(range(9))
        return [found, witness.readings()[-1].buffered]

    assert asyncio.run(main()) == [4, 0]


# Time.


def lasting(clock: VirtualClock, seconds: float) -> Callable[[Any], Any]:
    def last(n: Any) -> Any:
        clock.advance(seconds)
        return n

    return last


@pytest.mark.parametrize("way", ["sync", "fed", "chunked", "async", "fed async"])
def test_the_time_of_every_stage_is_its_own(way: str) -> None:
    clock = VirtualClock()
    witness = Witness()
    stream = FORMS[way](Items(8)).map(lasting(clock, 1)).filter(lasting(clock, 2)).map(lasting(clock, 4)).map(str)
    with observe(witness, clock=clock):
        ended(stream)
    assert [reading.seconds for reading in witness.readings()[-4:]] == [8, 2 * 8, 4 * 7, 0]


def test_the_time_of_a_source_and_of_what_is_inside() -> None:
    clock = VirtualClock()

    def numbers() -> Iterator[int]:
        for n in range(4):
            clock.advance(3)
            yield n

    def several(n: int) -> Iterator[int]:
        clock.advance(1)
        for _ in range(n):
            clock.advance(10)
            yield n

    witness = Witness()
    with observe(witness, clock=clock):
        list(Stream.from_iterable(numbers()).flat_map(several).map(lasting(clock, 100)))
    assert [reading.seconds for reading in witness.readings()] == [12, 4 * 1 + 6 * 10, 600]


def test_of_many_fast_elements_few_have_their_time_taken() -> None:
    class Counting(VirtualClock):
        reads = 0

        def now(self) -> float:
            self.reads += 1
            return super().now()

    clock = Counting()
    with observe(Witness(), clock=clock):
        assert Stream.range(1000).map(abs).filter(bool).reduce(operator.add, 0).get() == 499_500
    assert clock.reads < 110


def test_the_time_of_what_follows_the_end() -> None:
    clock = VirtualClock()
    witness = Witness()
    with observe(witness, clock=clock):
        list(Stream.range(5).to_list().map(lasting(clock, 7)).flatten().map(lasting(clock, 1)))
    assert [reading.seconds for reading in witness.readings()] == [0, 0, 7, 0, 5]


def test_the_time_of_the_consumer_is_nobodys() -> None:
    clock = VirtualClock()
    witness = Witness()
    with observe(witness, clock=clock):
        for _ in Stream.range(5).map(str):
            clock.advance(9)
    assert [reading.seconds for reading in witness.readings()] == [0, 0]


def test_the_time_inside_of_a_joint() -> None:
    clock = VirtualClock()
    witness = Witness()
    with observe(witness, clock=clock):
        ended(Stream.range(6).tap(lasting(clock, 3), on_complete=noop).map(lasting(clock, 1)))
    assert [reading.seconds for reading in witness.readings()] == [0, 18, 6]


def test_how_long_elements_are_waited_for() -> None:
    clock = VirtualClock()
    witness = Witness()
    with observe(witness, clock=clock):
        probe = subscribed(Stream.interval(2, clock=clock).map(str), 100)
    clock.advance(20)
    assert [reading.waited for reading in witness.readings()] == [20, 0]
    assert len(probe.elements) == 10
    probe.cancel()


def test_nobody_waits_while_nothing_is_asked_for() -> None:
    clock = VirtualClock()
    witness = Witness()
    upstream: ManualPublisher[int] = ManualPublisher()
    with observe(witness, clock=clock):
        probe = subscribed(Stream.from_publisher(upstream), 1)
    clock.advance(1)
    upstream.next(1)
    clock.advance(1000)
    probe.request(1)
    clock.advance(1)
    upstream.next(2)
    assert [reading.waited for reading in witness.readings()] == [2]
    probe.cancel()


# Listening.


def test_the_listener_hears_of_progress_every_so_often() -> None:
    clock = VirtualClock()
    witness = Witness()
    with observe(witness, every=10, clock=clock):
        list(Stream.range(35).map(lasting(clock, 1)))
    assert witness.words == ["started", "progressed", "progressed", "progressed", "completed"]


@pytest.mark.parametrize("way", ["sync", "fed", "chunked", "async", "fed async"])
def test_the_listener_hears_of_progress_in_every_form(way: str) -> None:
    clock = VirtualClock()
    witness = Witness()
    with observe(witness, every=10, clock=clock):
        ended(FORMS[way](Items(45)).map(lasting(clock, 1)))
    assert 3 <= witness.words.count("progressed") <= 5


def test_a_run_can_be_read_while_it_runs_and_from_elsewhere() -> None:
    witness = Witness()
    with observe(witness):
        numbers = iter(Stream.range(100).filter(lambda n: n % 2).map(str))
    found: list[list[int]] = []

    def read() -> None:
        found.append([reading.delivered for reading in witness.readings()])

    for _ in range(3):
        next(numbers)
        in_thread(read)
    assert found == [[2, 1, 1], [4, 2, 2], [6, 3, 3]]


def test_observing_is_for_those_inside_the_block_only() -> None:
    witness = Witness()
    with observe(witness):
        in_thread(lambda: list(Stream.range(3)))
        in_thread(lambda: copy_context().run(list, Stream.range(3)))
        assert witness.runs == []
        context = copy_context()
        in_thread(lambda: context.run(list, Stream.range(3)))
        assert len(witness.runs) == 1
    list(Stream.range(3))
    assert len(witness.runs) == 1


def test_the_listeners_of_all_blocks_are_told() -> None:
    outer, inner = Witness(), Witness()
    with observe(outer):
        with observe(inner):
            list(Stream.range(3))
        list(Stream.range(3))
    assert (len(outer.runs), len(inner.runs)) == (2, 1)
    assert outer.runs[0] is inner.runs[0]


def test_a_stream_with_its_own_listener_is_left_to_it() -> None:
    outer, inner = Witness(), Witness()
    with observe(outer):
        list(Stream.range(5).filter(bool).observed(inner).map(str))
    assert outer.delivered() == {"0 observed": 4, "1 map(str)": 4}
    assert inner.delivered() == {"0 range": 5, "1 filter(bool)": 4}
    assert [(each.place, each.run, each.last) for each in outer.runs[0].shares] == [((0,), inner.runs[0], (1,))]


def test_each_listener_is_told_as_often_as_it_asked_for() -> None:
    clock, outer, inner = VirtualClock(), Witness(), Witness()
    with observe(outer, every=10, clock=clock), observe(inner, every=2, clock=clock):
        subject: Subject[int] = Stream.subject(size=1)
        subject.map(str).subscribe(Probe(request=100))
        for n in range(30):
            clock.advance(1)
            subject.emit(n)
    assert (outer.words.count("progressed"), inner.words.count("progressed")) == (3, 15)


@pytest.mark.parametrize(
    "sink",
    [Sink.count(), Sink.to_list(), Sink.first(), Sink.for_each(id), branch(Sink.count(), Sink.first())],
    ids=["count", "to_list", "first", "for_each", "branch"],
)
def test_a_pipeline_that_ends_well_has_completed(sink: Sink[int, object]) -> None:
    witness = Witness()
    told = Stream.resumable(lambda count: range(count, 5), noop, counted=True)
    with observe(witness):
        (Stream.range(5) | sink).run().wait()
        (told | sink).run().wait()
    assert {run.state for run in witness.runs} == {RunState.COMPLETED}


def test_a_pipeline_that_is_cancelled_has_not_completed() -> None:
    witness = Witness()
    with observe(witness):
        run = (Stream.never() | Sink.count()).run()
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait()
    assert {run.state for run in witness.runs} <= {RunState.CANCELLED}


def test_all_ways_to_run_are_seen() -> None:
    async def main() -> None:
        async for _ in Stream.range(2):
            pass
        await Stream.range(2).count()
        async with Stream.range(2).open() as numbers:
            await anext(numbers)

    witness = Witness()
    with observe(witness):
        list(Stream.range(2))
        Stream.range(2).count().get()
        with Stream.range(2).open() as numbers:
            next(numbers)
        ended(Stream.range(2))
        asyncio.run(main())
        (Stream.range(2) | Sink.count()).run().wait()
    assert len(witness.runs) == 8


def test_streams_inside_of_streams_are_seen_and_made_ones_belong_to_their_step() -> None:
    witness = Witness()
    made = Stream.range(2).map(str)
    with observe(witness):
        stream = (
            Stream.range(3).map(abs).merge(Stream.range(5, 7).filter(bool)).zip(Stream.range(9).publish_on(thread()))
        )
        list(stream.flat_map(lambda _: made, concurrency=1))
    (run,) = witness.runs
    assert [(reading.place, reading.step) for reading in run.readings()] == [
        ((0, 0, 0, 0, 0), "range"),
        ((0, 0, 0, 0, 1), "map(abs)"),
        ((0, 0, 0, 1, 0), "range"),
        ((0, 0, 0, 1, 1), "filter(bool)"),
        ((0, 0, 0), "merge"),
        ((0, 1, 0), "range"),
        ((0, 1, 1), "publish_on"),
        ((0,), "zip"),
        (
            (1,),
            "flat_map(test_streams_inside_of_streams_are_seen_and_made_ones_belong_to_their_step.<lambda>)",
        ),
    ]
    assert [reading.delivered for reading in run.readings()][4] == 5
    assert run.readings()[-1].delivered == 10


CHUNKED: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "group_by": lambda s: s.group_by(lambda n: n % 3).flat_map(lambda group: group, concurrency=3),
    "publish_on": lambda s: s.publish_on(inline(), prefetch=7),
    "window": lambda s: s.window(4).flat_map(lambda window: window, concurrency=2),
}


@pytest.mark.parametrize("name", CHUNKED)
def test_what_comes_in_chunks_is_counted(name: str) -> None:
    witness = Witness()
    with observe(witness):
        assert sorted(CHUNKED[name](Stream.range(300)).map(abs)) == list(range(300))
    readings = witness.readings()
    assert [readings[0].delivered, readings[-2].delivered, readings[-1].delivered] == [300, 300, 300]


@pytest.mark.parametrize("leave", ["take", "fail", "cancel"])
def test_of_chunks_that_are_left_in_the_middle_what_came_is_counted(leave: str) -> None:
    witness = Witness()
    probe: Probe[int] = Probe()
    mapped = Stream.range(1000).publish_on(inline()).map(fail_at(200 if leave == "fail" else -1)).map(abs)
    stream = mapped.take(200) if leave == "take" else mapped
    if leave == "cancel":
        stream = mapped.tap(lambda n: probe.cancel() if n == 199 else None)
    with observe(witness):
        stream.subscribe(probe)
    probe.request(UNBOUNDED)
    assert probe.elements == list(range(200))
    assert [reading.delivered for reading in witness.readings()][2:] == [200] * (len(witness.readings()) - 2)


def test_the_time_inside_of_a_joint_that_takes_chunks() -> None:
    clock = VirtualClock()
    witness = Witness()

    def key(n: int) -> int:
        clock.advance(3)
        return n % 2

    with observe(witness, clock=clock):
        groups = Stream.range(40).group_by(key).flat_map(lambda group: group.count(), concurrency=2)
        assert groups.to_list().get() == [20, 20]
    assert witness.readings()[1].seconds == pytest.approx(120, rel=0.1)


@pytest.mark.parametrize("turns", ["merge", "interleave"])
@pytest.mark.parametrize("other", [range(300), [7, 8], (1, 2, 3, 4, 5), "abc"])
def test_what_takes_turns_is_counted_with_every_element(turns: str, other: Any) -> None:
    witness = Witness()
    with observe(witness):
        stream = getattr(Stream.range(5), turns)(Stream.from_iterable(other), Stream.range(0))
        seen = [witness.readings()[-2].delivered for _ in stream.map(str)]
    assert seen == list(range(1, 6 + len(other)))
    assert [reading.delivered for reading in witness.readings()] == [5, len(other), 0, *[5 + len(other)] * 2]


@pytest.mark.parametrize("joint", ["merge", "zip", "interleave"])
def test_sources_that_are_iterated_as_they_are_are_counted(joint: str) -> None:
    witness = Witness()
    with observe(witness):
        list(getattr(Stream.range(5), joint)(Stream.just(*range(5))).map(bool))
    assert [reading.delivered for reading in witness.readings() if len(reading.place) > 1] == [5, 5]


def test_a_source_that_is_iterated_again_and_again_is_counted_and_forgotten() -> None:
    witness = Witness()
    with observe(witness):
        assert len(list(Stream.range(3).repeat(100).map(abs))) == 300
    (run,) = witness.runs
    inner = [part for meter in run._parts for part in meter._parts]
    assert len(inner) <= 1
    assert run.readings()[0].delivered == 300


def test_sources_that_are_left_in_the_middle_again_and_again_do_not_pile_up() -> None:
    witness = Witness()
    with observe(witness):
        assert len(list(Stream.range(2).zip(Stream.range(9)).repeat(100).map(len))) == 200
    (run,) = witness.runs
    assert sum(len(meter._parts) for meter in run._parts) <= 2 * 17
    assert [reading.delivered for reading in run.readings() if len(reading.place) > 3] == [200, 200]


def test_of_a_source_that_is_left_early_what_was_taken_is_counted() -> None:
    witness = Witness()
    with observe(witness):
        list(Stream.range(100).zip(Stream.range(100)).take(3))
    assert [reading.delivered for reading in witness.readings() if len(reading.place) > 1] == [3, 3]


def test_a_shared_stream_is_seen_by_who_began_it() -> None:
    shared = Stream.range(4).map(str).share()
    witness = Witness()
    with observe(witness):
        probe = subscribed(shared)
    other = subscribed(shared)
    probe.request(9)
    other.request(9)
    inner = [reading.delivered for reading in witness.readings() if len(reading.place) > 1]
    assert inner == [4, 4]


def test_a_thousand_sources_inside_of_each_other_do_not_overflow() -> None:
    stream: Stream[int] = Stream.range(2)
    for _ in range(1000):
        stream = stream.retry(1)
    witness = Witness()
    with observe(witness):
        probe = subscribed(stream, 9)
        probe.wait_for_end()
    assert probe.elements == [0, 1]
    assert witness.readings()[-1].delivered == 2


# The recorder.


def test_the_recorder_adds_runs_up_and_prints_them() -> None:
    recorder = Recorder()
    clock = VirtualClock()
    stream = Stream.range(4).filter(bool).merge(Stream.range(1)).map(str)
    with observe(recorder, clock=clock):
        list(stream)
        list(stream)
        with pytest.raises(ValueError, match="lost"):
            list(Stream.range(3).map(fail_at(1)))
    assert recorder.runs == 3
    assert [repr(error) for error in recorder.failures] == ["ValueError('lost')"]
    table, other = str(recorder).split("range | ")
    assert table.splitlines() == [
        "merge | map(str)",
        "  step            requested  delivered  buffered  errors  seconds  waited",
        "    range                 8          8         0       0    0.000   0.000",
        "    filter(bool)          6          6         0       0    0.000   0.000",
        "    range                 2          2         0       0    0.000   0.000",
        "  merge                   8          8         0       0    0.000   0.000",
        "  map(str)                8          8         0       0    0.000   0.000",
    ]
    assert other.startswith("map(fail_at.fail)")


def test_the_recorder_knows_of_runs_under_way() -> None:
    recorder = Recorder()
    with observe(recorder):
        numbers = iter(Stream.range(9).map(str))
    next(numbers)
    ((range_, map_),) = recorder.readings().values()
    assert (range_.delivered, map_.delivered) == (1, 1)


def test_the_recorder_of_many_threads_counts_right() -> None:
    recorder = Recorder()
    stream = Stream.range(300).filter(lambda n: n % 3).observed(recorder)
    threads = [threading.Thread(target=lambda: list(stream)) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    ((range_, filter_),) = recorder.readings().values()
    assert (range_.delivered, filter_.delivered) == (1800, 1200)


@pytest.mark.parametrize("form", list(Form), ids=lambda form: form.value)
def test_the_contract_is_kept_under_a_listener(form: Form) -> None:
    with observe(Witness()):
        items = Tracked(range(20))
        probe: Probe[int] = Probe()
        form.over(items).map(lambda n: n).buffer(3).flatten().take(15).subscribe(probe)
        for _ in range(20):
            if not probe.ended:
                probe.request(1)
        probe.wait_for_end()
        items.wait_until_closed()
    assert probe.breaches == []
    assert probe.elements == list(range(15))


async def _same(number: int) -> int:
    return number


@pytest.mark.parametrize(
    ("step", "use", "bound"),
    [
        ("publish_on", lambda s: s.publish_on(inline(), prefetch=32), 32),
        ("map_async", lambda s: s.map_async(_same, concurrency=4), 8),
        ("parallel", lambda s: s.parallel(2, lambda rail: rail.map(abs), prefetch=16), 16),
        ("on_backpressure_buffer", lambda s: s.on_backpressure_buffer(9), 9),
        ("merge", lambda s: s.merge(ManualPublisher(), prefetch=8), 16),
        ("zip", lambda s: s.zip(ManualPublisher(), prefetch=8), 16),
        ("share", lambda s: s.share(size=20), 20),
    ],
)
def test_steps_that_hold_elements_say_how_many_they_may_hold(
    step: str, use: Callable[[Stream[int]], Stream[Any]], bound: int
) -> None:
    recorder = Recorder()
    probe: Probe[Any] = Probe()
    source: ManualPublisher[int] = ManualPublisher()
    use(Stream.from_publisher(source)).observed(recorder).subscribe(probe)
    (readings,) = recorder.readings().values()
    assert [each.bound for each in readings if each.step.partition("(")[0] == step] == [bound]
    probe.cancel()
    (readings,) = recorder.readings().values()
    assert {each.bound for each in readings} == {None}


def test_a_stream_that_another_observation_sees_is_shared_and_not_seen_twice() -> None:
    witness = Witness()
    with observe(witness):
        assert (Stream.range(4).map(abs) | branch(Sink.count(), Sink.to_list())).run().wait() == (4, [0, 1, 2, 3])
    whole, *branches = witness.runs
    assert [[each.step for each in run.readings()] for run in branches] == [
        ["publish", "count"],
        ["publish", "to_list"],
    ]
    assert [[(each.place, each.run is whole, each.last) for each in run.shares] for run in branches] == [
        [((0,), True, (0, 0, 1))],
        [((0,), True, (0, 0, 1))],
    ]


@pytest.mark.parametrize(
    "behind", [lambda s: s.map(str), lambda s: s.count(), lambda s: s.take(3)], ids=["map", "count", "take"]
)
@pytest.mark.parametrize("boundary", [False, True])
def test_the_last_step_is_counted_whatever_stages_follow_what_is_observed(
    behind: Callable[[Stream[int]], Stream[Any]], boundary: bool
) -> None:
    """They are no part of what is observed, and count nothing in its place."""
    recorder = Recorder()
    numbers = Stream.range(3).do_finally(str) if boundary else Stream.from_publisher(Stream.range(3))
    list(behind(numbers.observed(recorder)))
    (readings,) = recorder.readings().values()
    assert readings[-1].delivered == 3


def halves(n: int) -> list[int]:
    return [n, 6 // (2 - n)]


@pytest.mark.parametrize("boundary", [False, True])
@pytest.mark.parametrize(
    ("use", "delivered"),
    [
        (lambda s: s.single().map(str), [2, 0, 0]),
        (lambda s: s.first(lambda n: n > 9, required=True).map(str), [4, 0, 0, 0]),
        (lambda s: s.flat_map(halves).map(str), [3, 4, 4]),
        (lambda s: s.map(halves).map(str), [3, 2, 2]),
        (lambda s: s.buffer(2).map(lambda pair: halves(pair[0])).map(str), [4, 2, 1, 1]),
    ],
    ids=["single", "required", "flat_map", "map", "buffer"],
)
def test_a_step_that_fails_has_delivered_what_it_gave(
    use: Callable[[Stream[int]], Stream[Any]], delivered: list[int], boundary: bool
) -> None:
    recorder = Recorder()
    numbers = Stream.range(4).do_finally(str) if boundary else Stream.range(4)
    with pytest.raises((ValueError, EmptyError, ZeroDivisionError)):
        list(use(numbers).observed(recorder))
    (readings,) = recorder.readings().values()
    assert [reading.delivered for reading in readings][-len(delivered) :] == delivered
