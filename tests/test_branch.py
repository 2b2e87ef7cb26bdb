"""branch: several sinks take one stream, in one run of it."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Dropped, RunCancelledError, Sink, Stream, branch, flow, inline, set_on_dropped, thread
from tests.engine.test_depth import NESTED

WAIT = 60


@flow
def odd(numbers: Stream[int]) -> Stream[int]:
    return numbers.filter(lambda n: n % 2)


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n * 2)


def counted(runs: list[int]) -> Stream[int]:
    def numbers() -> Any:
        runs.append(1)
        yield from range(1000)

    return Stream.defer(numbers)


def test_each_sink_gets_the_whole_stream_of_one_run() -> None:
    runs: list[int] = []
    pipeline = counted(runs) | branch(Sink.to_list(), odd | Sink.count(), doubled | odd | Sink.count())
    assert pipeline.run().wait(WAIT) == (list(range(1000)), 500, 0)
    assert runs == [1]
    assert pipeline.run().wait(WAIT)[1] == 500
    assert runs == [1, 1]


def test_branches_branch_again_and_the_result_shows_it() -> None:
    inner = branch(Sink.count(), odd | Sink.to_list())
    assert (Stream.range(6) | doubled | branch(Sink.to_list(), odd | inner)).run().wait(WAIT) == (
        [0, 2, 4, 6, 8, 10],
        (0, []),
    )


def test_a_stream_that_signals_is_branched_as_well() -> None:
    numbers = Stream.range(5000).publish_on(thread())
    assert (numbers | branch(Sink.count(), odd | Sink.count())).run().wait(WAIT) == (5000, 2500)


def test_merged_streams_are_branched() -> None:
    merged = (Stream.range(3) | doubled).merge(Stream.just(7))
    assert [sorted(each) for each in (merged | branch(Sink.to_list(), odd | Sink.to_list())).run().wait(WAIT)] == [
        [0, 2, 4, 7],
        [7],
    ]


@pytest.mark.parametrize(
    "late",
    [
        lambda numbers: numbers.subscribe_on(thread("late")),
        lambda numbers: numbers.delay_subscription(0.01),
        lambda numbers: Stream.timer(0.01).concat(numbers).skip(1),
        lambda numbers: Stream.timer(0.01).ignore_elements().switch_if_empty(numbers),
        lambda numbers: numbers.zip(numbers.subscribe_on(thread("late"))).map(max),
        lambda numbers: numbers.merge(numbers.subscribe_on(thread("late"))).distinct(),
    ],
    ids=["subscribe_on", "delay_subscription", "concat", "switch_if_empty", "zip", "merge"],
)
def test_a_branch_that_subscribes_late_misses_nothing(late: Callable[[Stream[int]], Stream[int]]) -> None:
    pipeline = Stream.range(1000) | branch(Sink.to_list(), flow(late) | Sink.to_list())
    assert pipeline.run().wait(WAIT) == (list(range(1000)), list(range(1000)))


@pytest.mark.parametrize(
    "part",
    [
        lambda numbers: numbers.take_until(Stream.just(1)),
        lambda numbers: numbers.subscribe_on(thread("late")).take_until(Stream.just(1)),
        lambda numbers: numbers.delay_subscription(600).take_until(Stream.timer(0.01)),
        lambda numbers: Stream.just("an end").concat(numbers.map(str)).take(1).ignore_elements(),
        lambda numbers: Stream.error(ValueError()).concat(numbers).on_error_complete(),
        lambda numbers: Stream.empty().zip(numbers.subscribe_on(thread("late"))),
    ],
    ids=["not subscribed", "not put off", "cancelled", "enough before", "failed before", "nothing to pair"],
)
def test_a_part_that_will_not_subscribe_is_not_waited_for(part: Callable[[Stream[int]], Stream[Any]]) -> None:
    both = flow(lambda numbers: part(numbers).map(str).merge(numbers.map(str)))
    pipeline = Stream.range(1000) | branch(Sink.count(), both | Sink.count())
    assert pipeline.run().wait(WAIT) == (1000, 1000)


def test_a_branch_that_needs_no_stream_is_not_waited_for() -> None:
    without = flow(lambda numbers: Stream.just(7).switch_if_empty(numbers))
    none = flow(lambda numbers: numbers.subscribe_on(thread("late")).take(0))
    pipeline = Stream.range(1000) | branch(Sink.count(), without | Sink.to_list(), none | Sink.to_list())
    assert pipeline.run().wait(WAIT) == (1000, [7], [])


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        (lambda numbers: numbers.concat(numbers), list(range(1000))),
        (lambda numbers: numbers.repeat(3), list(range(1000))),
        (lambda numbers: numbers.filter(lambda n: n < 0).switch_if_empty(numbers), []),
    ],
    ids=["concat", "repeat", "switch_if_empty"],
)
def test_a_branch_that_subscribes_after_the_end_is_told_of_it(
    again: Callable[[Stream[int]], Stream[int]], expected: list[int]
) -> None:
    pipeline = Stream.range(1000) | branch(Sink.count(), flow(again) | Sink.to_list())
    assert pipeline.run().wait(WAIT) == (1000, expected)


def test_a_branch_that_subscribes_after_a_failure_is_told_of_it() -> None:
    broken = Stream.range(3).concat(Stream.error(ValueError("no")))
    again = flow(lambda numbers: numbers.retry(2))
    with pytest.raises(ValueError, match=r"^no$"):
        (broken | branch(again | Sink.count(), again | Sink.to_list())).run().wait(WAIT)


def test_a_thousand_streams_nested_in_a_branch_are_waited_for() -> None:
    def nested(numbers: Stream[int]) -> Stream[int]:
        for _ in range(1000):
            numbers = numbers.subscribe_on(inline())
        return numbers

    assert (Stream.range(5) | branch(Sink.count(), flow(nested) | Sink.to_list())).run().wait(WAIT) == (5, [*range(5)])


INSIDE_FUNCTIONS = {"defer", "from_publisher", "using", "switch_map"}
"""The ways to nest streams in which a function or a publisher has the stream, so that a flow cannot be made of them."""


@pytest.mark.parametrize("levels", [11, 1000])
@pytest.mark.parametrize("name", [name for name in NESTED if name not in INSIDE_FUNCTIONS])
def test_however_deep_a_branch_is_nested_it_gets_every_element(name: str, levels: int) -> None:
    def nested(numbers: Stream[Any]) -> Stream[Any]:
        for _ in range(levels):
            numbers = NESTED[name](numbers)
        return numbers

    assert (Stream.range(3) | branch(flow(nested) | Sink.to_list(), Sink.count())).run().wait(WAIT) == ([0, 1, 2], 3)


positive = flow(lambda numbers: numbers.map(abs))


def inside_of_each_other(count: int) -> Sink[Any, Any]:
    sink: Sink[Any, Any] = Sink.to_list()
    for _ in range(count):
        sink = positive | branch(sink, Sink.count())
    return sink


def test_a_thousand_branches_inside_of_each_other_are_values() -> None:
    sink = inside_of_each_other(1000)
    assert sink == inside_of_each_other(1000)
    assert sink != inside_of_each_other(1001)
    assert hash(sink) == hash(inside_of_each_other(1000))
    assert repr(sink) == "Sink(branches)"
    assert pickle.loads(pickle.dumps(sink)) == sink
    assert copy.deepcopy(sink) == sink
    assert len(pickle.loads(pickle.dumps(sink)).explain().places) == len(sink.explain().places) > 2000


def test_a_thousand_branches_inside_of_each_other_run() -> None:
    levels = 1000
    sink: Sink[Any, Any] = Sink.to_list()
    for _ in range(levels):
        sink = branch(sink, Sink.count())
    result = (Stream.range(3) | sink).run().wait(WAIT)
    for _ in range(levels):
        result, count = result
        assert count == 3
    assert result == [0, 1, 2]


def test_a_failure_ends_a_thousand_branches_inside_of_each_other() -> None:
    closed = threading.Event()
    with pytest.raises(ZeroDivisionError):
        (
            Stream.just(1, 0).map(lambda n: 1 // n).do_finally(closed.set)
            | branch(inside_of_each_other(1000), Sink.count())
        ).run().wait(WAIT)
    assert closed.wait(WAIT)


def test_a_sink_that_has_enough_leaves_the_others_alone() -> None:
    first = Sink.of(lambda numbers: numbers.take(2).to_list())
    assert (Stream.range(10_000) | branch(first, Sink.count())).run().wait(WAIT) == ([0, 1], 10_000)


def test_the_stream_is_let_go_of_when_all_have_enough() -> None:
    closed = threading.Event()

    def endless() -> Any:
        try:
            yield from iter(int, 1)
        finally:
            closed.set()

    first = Sink.of(lambda numbers: numbers.first())
    assert (Stream.defer(endless) | branch(first, first)).run().wait(WAIT) == (0, 0)
    assert closed.wait(WAIT)


def test_a_failure_of_one_ends_the_others() -> None:
    got: list[int] = []

    def refuse(number: int) -> None:
        if number == 3:
            raise LookupError(number)

    pipeline = Stream.defer(lambda: iter(range(10**9))) | branch(Sink.for_each(got.append), Sink.for_each(refuse))
    with pytest.raises(LookupError):
        pipeline.run().wait(WAIT)
    assert len(got) < 1000


def test_a_failure_of_the_stream_is_raised() -> None:
    with pytest.raises(KeyError, match="lost"):
        (Stream.just(1).concat(Stream.error(KeyError("lost"))) | branch(Sink.count(), Sink.count())).run().wait(WAIT)


def test_a_failure_of_the_stream_is_raised_and_not_reported_as_well() -> None:
    dropped: list[Dropped] = []
    before = set_on_dropped(dropped.append)
    try:
        with pytest.raises(KeyError, match="lost"):
            (Stream.error(KeyError("lost")) | branch(Sink.count(), odd | Sink.to_list(), Sink.last())).run().wait(WAIT)
    finally:
        set_on_dropped(before)
    assert dropped == []


def test_a_slow_sink_holds_the_others_back() -> None:
    ahead: list[int] = []
    entered, go_on = threading.Event(), threading.Event()

    def wait(_: int) -> None:
        entered.set()
        assert go_on.wait(WAIT)

    slow = Sink.of(lambda numbers: numbers.publish_on(thread()).tap(wait).count())
    run = (Stream.range(100_000) | branch(slow, Sink.for_each(ahead.append))).run()
    assert entered.wait(WAIT)
    with pytest.raises(TimeoutError):
        run.wait(0.2)
    assert len(ahead) < 2000
    go_on.set()
    assert run.wait(WAIT) == (100_000, 100_000)


def test_stop_lets_what_is_inside_come_to_the_end_of_each() -> None:
    arrived = threading.Event()
    pipeline = Stream.defer(lambda: iter(range(10**9))) | branch(
        Sink.count(), Sink.for_each(lambda n: arrived.set() if n > 100 else None)
    )
    run = pipeline.run()
    assert arrived.wait(WAIT)
    run.stop()
    one, two = run.wait(WAIT)
    assert one == two == run.now().rows_in


def test_cancel_ends_all() -> None:
    arrived = threading.Event()
    run = (
        Stream.defer(lambda: iter(range(10**9))) | branch(Sink.count(), Sink.for_each(lambda _: arrived.set()))
    ).run()
    assert arrived.wait(WAIT)
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait(WAIT)


class Deaf:
    """Pass everything on but a cancel, as a step of another library may that cancels later."""

    def __init__(self) -> None:
        self.heard = threading.Event()

    def subscribe(self, subscriber: Any, /) -> None:
        self.subscriber = subscriber

    def on_subscribe(self, subscription: Any, /) -> None:
        self.subscription = subscription
        self.subscriber.on_subscribe(self)

    def request(self, count: int, /) -> None:
        self.subscription.request(count)

    def cancel(self) -> None:
        self.heard.set()

    def on_next(self, element: int, /) -> None:
        self.subscriber.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        self.subscriber.on_error(error)

    def on_complete(self) -> None:
        self.subscriber.on_complete()


def test_a_cancel_is_not_reported_as_a_failure_of_a_branch_that_it_has_not_reached_yet() -> None:
    dropped: list[Dropped] = []
    arrived, deaf = threading.Event(), Deaf()
    first = flow(lambda numbers: numbers.via(deaf)) | Sink.for_each(lambda _: arrived.set())
    before = set_on_dropped(dropped.append)
    try:
        run = (Stream.range(10).concat(Stream.never()) | branch(first, Sink.count())).run()
        assert arrived.wait(WAIT)
        run.cancel()
        assert deaf.heard.wait(WAIT)
    finally:
        set_on_dropped(before)
    assert dropped == []


def test_it_is_awaited() -> None:
    async def main() -> tuple[int, list[int]]:
        return await (Stream.range(3) | branch(Sink.count(), Sink.to_list()))

    assert asyncio.run(main()) == (3, [0, 1, 2])


def test_it_is_a_value() -> None:
    ends = branch(Sink.count(), Sink.to_list())
    assert ends == branch(Sink.count(), Sink.to_list())
    assert ends != branch(Sink.to_list(), Sink.count())
    assert hash(ends) == hash(copy.copy(ends))
    pipeline = Stream.range(3) | pickle.loads(pickle.dumps(ends))
    assert pipeline.run().wait(WAIT) == (3, [0, 1, 2])


def test_the_plan_is_a_graph() -> None:
    pipeline = Stream.range(3) | doubled | branch(Sink.to_list(), odd | Sink.count())
    assert str(pipeline.explain()).splitlines() == [
        "in this process",
        "  source ├─ 1. range",
        "         │",
        "    then ├─ 2. map(doubled.<lambda>)",
        "         │",
        "     end ├─ 3. to_list",
        "         │    asks for all there is, one after the other",
        "",
        "    then ├─ 4. filter(odd.<lambda>), of 2",
        "         │",
        "     end ├─ 5. count",
        "         │    asks for all there is, one after the other",
    ]
    assert pipeline.explain().mermaid().splitlines()[-4:] == [
        "  p0 --> p1",
        "  p1 --> p2",
        "  p1 --> p3",
        "  p3 --> p4",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "branch: ends must be at least two Sinks, got 0"),
        ((Sink.count(),), "branch: ends must be at least two Sinks, got 1"),
        (
            (Sink.count(), odd),
            "branch: ends must be Sinks, got Flow(hole | filter(odd.<lambda>)); end a Flow with one: flow | sink",
        ),
    ],
)
def test_refuses_what_does_not_fit(given: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        branch(*given)
    assert str(caught.value) == message
