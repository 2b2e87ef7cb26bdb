"""flow: composing streams, flows and sinks, and what is said when they do not fit."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

from penstock import Pipeline, Sink, Stream, flow, processor, subscriber, thread


def double(n: int) -> int:
    return n * 2


doubled = flow(lambda numbers: numbers.map(double))
odd = flow(lambda numbers: numbers.filter(lambda n: n % 2))


def test_composes_by_the_table() -> None:
    assert list(Stream.range(3) | doubled) == [0, 2, 4]
    assert list(Stream.range(5) | (odd | doubled)) == [2, 6]
    assert isinstance(Stream.range(5) | doubled | Sink.to_list(), Pipeline)
    assert (Stream.range(5) | (odd | doubled | Sink.to_list())).run().wait() == [2, 6]


def test_composing_runs_nothing() -> None:
    made: list[int] = []
    pipeline = Stream.range(3).tap(made.append) | doubled | Sink.count()
    assert made == []
    assert pipeline.run().wait() == 3
    assert made == [0, 1, 2]


def test_a_flow_serves_many_streams_and_runs_share_nothing() -> None:
    numbered = flow(lambda stream: stream.enumerate().retry(1))
    assert list(Stream.just("a") | numbered) == list(Stream.just("a") | numbered) == [(0, "a")]


def test_a_flow_reaches_sources_inside_sources() -> None:
    both = flow(lambda stream: stream.merge(Stream.just(9)).concat(stream))
    assert list(Stream.just(1, 2) | both) == [1, 9, 2, 1, 2]


def test_a_pipeline_is_awaited() -> None:
    async def main() -> int:
        return await (Stream.range(4) | Sink.count())

    assert asyncio.run(main()) == 4


def test_flows_and_sinks_are_values() -> None:
    assert pickle.loads(pickle.dumps(doubled)) == doubled
    assert repr(doubled) == "Flow(hole | map(double))"
    assert repr(Sink.count()) == "Sink(hole | count)"
    assert repr(Stream.range(3) | Sink.count()) == "Pipeline(range | count)"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: flow(3), r"^flow: fn must be a function from Stream to Stream, got 3$"),  # type: ignore[arg-type]
        (lambda: flow(lambda s: 3), r"^flow: '<lambda>' must return a Stream, got 3; a function of elements goes "),  # type: ignore[arg-type,return-value]
        (lambda: flow(lambda s: Stream.just(1)), r"^flow: '<lambda>' must return a stream made from its argument$"),
        (lambda: processor(3), r"^processor: flow must be a Flow, got 3$"),  # type: ignore[arg-type]
        (lambda: subscriber(3), r"^subscriber: sink must be a Sink, got 3$"),  # type: ignore[arg-type]
        (
            lambda: Stream([1, 2]),
            r"^Stream: chain must be a Chain, got \[1, 2\]; use Stream.just or Stream.from_iterable for elements$",
        ),
    ],
)
def test_refuses_what_does_not_fit(wrong: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        wrong()


def test_names_the_cure_when_a_function_follows_a_stream() -> None:
    with pytest.raises(
        TypeError, match=r"^\|: a Flow or a Sink can follow a stream, got <function double at .*>; call what makes one"
    ):
        Stream.range(3) | double  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"^\|: a Flow or a Sink can follow a stream, got <function Sink.to_list at"):
        Stream.range(3) | Sink.to_list  # type: ignore[operator]


def test_a_subscriber_that_would_block_its_own_loop_says_so() -> None:
    async def main() -> int:
        total = subscriber(Sink.count())
        Stream.range(3).publish_on(thread()).subscribe(total)
        pending = subscriber(Sink.count())
        Stream.never().subscribe(pending)
        with pytest.raises(RuntimeError, match=r"^subscriber: get\(\) would block the event loop running here; await"):
            pending.get()
        pending.cancel()
        return await total

    assert asyncio.run(main()) == 3


@pytest.mark.parametrize("operator", ["map", "flat_map", "take_while", "tap"])
def test_a_coroutine_function_is_refused_where_nobody_would_await_it(operator: str) -> None:
    async def later(n: int) -> int:
        return n

    with pytest.raises(
        TypeError, match=rf"^{operator}: \w+ must not be a coroutine function, got .*; map_async awaits one$"
    ):
        getattr(Stream.range(3), operator)(later)


def test_two_branches_of_a_shared_stream_share_one_run_in_a_flow_too() -> None:
    runs: list[int] = []

    def numbers() -> list[int]:
        runs.append(1)
        return [1, 2, 3]

    @flow
    def both(stream: Stream[int]) -> Stream[tuple[int, int]]:
        cached = stream.cache()
        return cached.zip(cached.map(lambda n: n * 10))

    assert list(Stream.defer(numbers) | both) == [(1, 10), (2, 20), (3, 30)]
    assert len(runs) == 1
