"""What a newcomer writes first and wrongly: each error names the thing and the cure."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from penstock import (
    Flow,
    PenstockError,
    Recorder,
    Registry,
    Sink,
    Stream,
    Subject,
    VirtualClock,
    flow,
    pull,
    set_on_dropped,
    thread,
)
from penstock.bridges import asyncio as loops
from penstock.bridges.rsocket import serve
from penstock.connectors import http
from penstock.extend import Body, Stage
from penstock.run.display import display
from penstock.spark import Spark
from penstock.testing import Probe, StepVerifier, check_contract, check_joint, check_resumable, check_source
from tests.engine.parts import noop

NUMBERS: Any = Stream.range(3)
COUNT: Any = Sink.count()
EMPTY: Any = Stream
HAND: Any = Subject
LOOPS: Any = loops
CONCURRENTLY = "; flat_map(fn, concurrency=1) takes an asynchronous one"
A_FUNCTION = "call what makes one, as in Sink.to_list(), mark a function from stream to stream with @flow"


async def ticking() -> AsyncIterator[int]:
    yield 1


def doubled(numbers: Any) -> Any:
    return numbers.map(lambda n: n * 2)


async def waits(_: Any) -> int:
    return 1


def yields(_: Any) -> Iterator[int]:
    yield 1


async def later(numbers: Any) -> Any:
    return numbers


def each(numbers: Any) -> Iterator[Any]:
    yield from numbers


class Awaiting(Probe[Any]):
    """A subscriber of one who knows asyncio."""

    async def on_next(self, element: Any, /) -> None:  # type: ignore[override]
        """Never be awaited."""


class Bodiless(Stage[int, int]):
    """A stage that was begun and not finished."""


def texted() -> object:
    class Texted(Stage[int, int]):
        loop = "v = v"  # type: ignore[assignment]

    return Texted


def closed(fn: Callable[[Any], object], coroutine: Coroutine[Any, Any, object]) -> object:
    """Call with a coroutine that nobody will await."""
    with closing(coroutine):
        return fn(coroutine)


def made(coroutine: Any) -> object:
    return list(Stream.create(lambda _: coroutine))


MISTAKES: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "a sink that was not called": (lambda: NUMBERS | Sink.to_list, ("|: a Flow or a Sink can follow", A_FUNCTION)),
    "a function without @flow": (lambda: NUMBERS | doubled, ("|: a Flow or a Sink can follow", A_FUNCTION)),
    "a type": (lambda: NUMBERS | list, ("|: a Flow or a Sink can follow a stream, got <class 'list'>", A_FUNCTION)),
    "a function behind a flow": (lambda: flow(doubled) | doubled, ("can follow a flow, got", A_FUNCTION)),  # type: ignore[operator]
    "two ends": (lambda: (NUMBERS | COUNT) | COUNT, ("|: a pipeline has its end", "stream | branch(sink, sink)")),
    "a flow with async": (lambda: flow(later), ("flow: 'later' must be a plain function",)),  # type: ignore[arg-type]
    "a flow with yield": (lambda: flow(each), ("flow: 'each' must be a plain function",)),  # type: ignore[arg-type]
    "an asynchronous iterable": (lambda: Stream.from_iterable(ticking()), ("; use from_async_iterable",)),  # type: ignore[arg-type]
    "a function for items": (lambda: Stream.from_iterable(each), ("; call it, or give it to Stream.defer",)),  # type: ignore[arg-type]
    "an asynchronous function for items": (lambda: Stream.from_async_iterable(ticking), ("; call it",)),  # type: ignore[arg-type]
    "a table of pandas": (lambda: Stream.from_iterable(pd.DataFrame({"n": [1]})), ("by its columns", "from_pandas")),
    "a table of polars": (lambda: Stream.from_iterable(pl.DataFrame({"n": [1]})), ("by its columns", "from_polars")),
    "a table of Arrow": (lambda: Stream.from_iterable(pa.table({"n": [1]})), ("by its columns", "from_arrow")),
    "a list before a flow": (lambda: [1] | flow(doubled), ("|: a Flow can follow", "Stream.from_iterable")),  # type: ignore[operator]
    "a list before a sink": (
        lambda: [1] | COUNT,
        ("|: a Sink can follow a stream or a flow, got [1]", "from_iterable"),
    ),
    "a sink before a flow": (lambda: COUNT | flow(doubled), ("|: a Flow can follow a stream or a flow, got Sink(",)),
    "a stream behind a stream": (lambda: NUMBERS | NUMBERS, ("got Stream(range); merge() and concat() join streams",)),
    "a flow of a number": (lambda: flow(doubled)(3), ("flow: a Flow follows a stream, got 3", "from_iterable")),  # type: ignore[arg-type]
    "a flow with a parameter": (lambda: flow(lambda s, n: s.take(n)), ("must take one stream", "returns the flow")),  # type: ignore[arg-type,misc]
    "a coroutine": (lambda: closed(Stream.from_iterable, waits(1)), ("; use from_awaitable",)),
    "a coroutine function that makes": (lambda: Stream.defer(waits), ("; from_awaitable awaits one",)),  # type: ignore[arg-type]
    "a coroutine function that emits": (lambda: Stream.create(waits), ("; from_async_iterable takes",)),  # type: ignore[arg-type]
    "a generator function that emits": (
        lambda: list(Stream.create(yields)),
        ("must call emit and return", "generator"),
    ),  # type: ignore[arg-type]
    "a function that gives a coroutine": (lambda: closed(made, waits(1)), ("got a coroutine from it",)),
    "a generator function to tap": (lambda: NUMBERS.tap(yields), ("tap: on_next must not be a generator function",)),
    "a generator function for each": (lambda: Sink.for_each(yields), ("for_each: fn must not be a generator",)),
    "a generator function for batches": (lambda: Sink.foreach_batch(yields, 2), ("foreach_batch: fn must not be a",)),
    "an executor that was not called": (
        lambda: NUMBERS.publish_on(thread),
        ("publish_on: executor", "; thread(), pool("),
    ),
    "a master for a Spark": (
        lambda: (NUMBERS | COUNT).run("local[2]"),
        ("got 'local[2]'; Spark(master=...) makes one, Spark(session=...) makes one of a session",),
    ),
    "the class of a Spark": (lambda: (NUMBERS | COUNT).run(Spark), ("run: spark must be a penstock.spark.Spark, got",)),
    "a master that is no text": (lambda: Spark(master=3), ("spark: master must be a text, got 3",)),  # type: ignore[arg-type]
    "a conf that is no mapping": (lambda: Spark(conf=[]), ("spark: conf must be a mapping of names to values",)),  # type: ignore[arg-type]
    "a stream to be checked": (lambda: check_resumable(NUMBERS), ("check_resumable: make must be callable, got",)),
    "a source to be checked": (lambda: check_source(NUMBERS, []), ("check_source: make must be callable, got",)),
    "a number to be checked": (lambda: check_contract(3, list, st.integers()), ("check_contract: make must be",)),  # type: ignore[arg-type]
    "a joint to be checked": (lambda: check_joint(3, list, st.integers()), ("check_joint: make must be",)),  # type: ignore[arg-type]
    "what makes no stream": (
        lambda: check_contract(lambda _: 3, list, st.integers()),  # type: ignore[arg-type,return-value]
        ("check_contract: make must return a Stream, got 3",),
    ),
    "one stream to serve": (lambda: serve(NUMBERS), ("serve: streams must be a mapping of names, got",)),
    "a stream to pull": (lambda: pull.pull(NUMBERS, pull.collect()), ("; from_publisher makes a source of it",)),
    "a function that subscribes": (
        lambda: NUMBERS.subscribe(print),
        (
            "rule 1.9: ",
            "; call a function with each",
        ),
    ),
    "a sink that subscribes": (
        lambda: NUMBERS.subscribe(COUNT),
        (
            "rule 1.9: ",
            "; end the stream with a sink",
        ),
    ),
    "a class that subscribes": (lambda: NUMBERS.subscribe(Probe), ("; that is a class: make one of it, as Probe(",)),
    "a class for a clock": (lambda: Stream.timer(1, clock=VirtualClock), ("timer: clock", "as VirtualClock(...)")),  # type: ignore[arg-type]
    "a class for a listener": (lambda: NUMBERS.observed(Recorder), ("observe: listener", "as Recorder(...)")),
    "a class for a registry": (lambda: NUMBERS.metrics("n", registry=Registry), ("metrics: registry", "as Registry(")),
    "a class for an error": (lambda: Stream.error(KeyError), ("error: error must be an Exception", "as KeyError(")),  # type: ignore[arg-type]
    "a class for a failure": (lambda: Stream.subject().fail(KeyError), ("fail: error", "as KeyError(")),  # type: ignore[arg-type]
    "an asynchronous subscriber": (
        lambda: NUMBERS.subscribe(Awaiting(3)),
        (
            "rule 1.9: subscribe(",
            "): on_next must not be a coroutine function, since its elements would be lost",
            "; stream.for_each(fn) takes one",
        ),
    ),
    "a function to zip by": (lambda: NUMBERS.zip(NUMBERS, max), ("zip: each stream", "zip(...).starmap(fn)")),
    "streams in a list": (lambda: Stream.merge([NUMBERS]), ("one by one: merge(*streams)",)),  # type: ignore[arg-type]
    "a stream without a source": (lambda: EMPTY(), ("Stream: chain must be a Chain, got None; use Stream.just or",)),
    "a subject by its class": (lambda: HAND(), ("Subject: chain", "; Stream.subject() makes a subject")),
    "a sink by its class": (lambda: Sink(print), ("Sink: chain must be a Chain", "; Sink.for_each(fn) makes a sink")),  # type: ignore[arg-type]
    "a flow by its class": (lambda: Flow(str), ("Flow: chain must be a Chain", "; @flow makes one of a function")),  # type: ignore[arg-type]
    "a sink of a number": (lambda: Sink.of(3), ("Sink.of: fn must be a function from Stream to Stream, got 3",)),  # type: ignore[arg-type]
    "a flow of elements": (lambda: flow(lambda n: 7), ("flow: '<lambda>' must", "; a function of elements goes into")),  # type: ignore[arg-type,return-value]
    "a flow that runs": (lambda: flow(list), ("flow: this chain has no source yet", "and does not run it")),  # type: ignore[arg-type]
    "a function that forgets to return": (lambda: NUMBERS.via(noop), ("via: 'noop' must return a Stream, got None",)),
    "an asynchronous generator to flat_map": (lambda: list(NUMBERS.flat_map(lambda _: ticking())), (CONCURRENTLY,)),
    "a hook that is no function": (lambda: set_on_dropped(3), ("set_on_dropped: hook must be callable, got 3",)),  # type: ignore[arg-type]
    "a pipeline to be displayed": (lambda: display(NUMBERS | COUNT), ("display: run", "; pipeline.run() begins one")),
    "a stage without a body": (lambda: list(NUMBERS.apply(Bodiless())), ("Bodiless: a Stage must have a Body",)),
    "a text for a body": (texted, ("Texted: loop must be a Body, got 'v = v'; Body(text) makes one",)),
    "a function for a body": (lambda: Body(doubled), ("Body: do must be a text, got <function doubled",)),  # type: ignore[arg-type]
    "a part of a body that is no text": (lambda: Body("skip", lacks=3), ("Body: lacks must be a text, got 3",)),  # type: ignore[arg-type]
    "a state by name": (lambda: Body("skip", state={"n": "0"}), ("Body: state must be pairs of texts, as ((",)),  # type: ignore[arg-type]
    "a state of values": (lambda: Body("skip", state=(("n", 0),)), ("Body: state must be pairs of texts, as ((",)),  # type: ignore[arg-type]
    "a model that returns nothing": (
        lambda: check_contract(lambda s: s.map(str), lambda _: None, st.integers()),  # type: ignore[arg-type,return-value]
        ("model must return a list, got None",),
    ),
    "an error to expect": (
        lambda: StepVerifier(NUMBERS).expect_error(ValueError("no")),  # type: ignore[arg-type]
        ("expect_error: kind must be a type of exception, got ValueError('no'); expect_error(ValueError) expects one",),
    ),
    "a text for a count": (
        lambda: StepVerifier(NUMBERS).expect_count("3"),  # type: ignore[arg-type]
        ("step_verifier: expect_count: count must be a whole number, got '3'",),
    ),
    "a step that is none": (
        lambda: StepVerifier(NUMBERS).then(3),  # type: ignore[arg-type]
        ("step_verifier: then: fn must be callable, got 3",),
    ),
    "a message to expect": (lambda: StepVerifier(NUMBERS).expect_error("no"), ("kind must be a type of exception",)),  # type: ignore[arg-type]
    "a class for a queue": (
        lambda: Sink.to_queue(queue.Queue),  # type: ignore[arg-type]
        ("to_queue: queue must have put, got <class", "as Queue(...)"),
    ),
    "a class for a queue of asyncio": (
        lambda: LOOPS.from_queue(asyncio.Queue),
        ("must be an asyncio.Queue", "as Queue("),
    ),
    "a queue of threads for one of asyncio": (
        lambda: LOOPS.from_queue(queue.Queue()),
        ("from_queue: queue must be an asyncio.Queue, got <queue.Queue", "; see penstock.bridges.threads"),
    ),
    "headers in a list": (
        lambda: http.pages("http://localhost/", headers=[("a", "b")]),  # type: ignore[arg-type]
        ("pages: headers must be a mapping of names to values, got list",),
    ),
    "None in a list": (lambda: list(Stream.from_iterable([1, None])), ("use a value that says what is missing",)),
    "a function that returns nothing": (lambda: list(NUMBERS.map(lambda _: None)), ("None is not an element", "[]")),
}


@pytest.mark.parametrize(("make", "words"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.filterwarnings("error")  # a coroutine that was never awaited would be one
def test_the_error_names_the_thing_and_the_cure(make: Callable[[], object], words: tuple[str, ...]) -> None:
    with pytest.raises(TypeError) as failure:
        make()
    assert [word for word in words if word not in str(failure.value)] == []


SINK: Any = Sink
SUBJECT: Any = Stream.subject()
AWAITED = "Run has no awaitTermination; here it is wait()"
EMITTERS = "Emitter has no on_completed; here it is complete()"
FLOW: Any = flow(doubled)
NAMES: dict[str, tuple[Callable[[], object], str]] = {
    "wait": (lambda: (NUMBERS | COUNT).wait(), "Pipeline has no wait; a run has it: pipeline.run().wait()"),
    "get": (lambda: (NUMBERS | COUNT).get(), "Pipeline has no get; a run has it: pipeline.run().wait()"),
    "start": (lambda: (NUMBERS | COUNT).start(), "Pipeline has no start; here it is run()"),
    "await": (
        lambda: (NUMBERS | COUNT).awaitTermination(),
        "Pipeline has no awaitTermination; a run has it: pipeline.run().wait()",
    ),
    "map": (lambda: (NUMBERS | COUNT).map(str), "Pipeline has no map; put it before the sink: stream.map(...) | sink"),
    "sink": (
        lambda: COUNT.run(),
        "Sink has no run; what has a source and a sink can run: (stream | flow | sink).run().wait()",
    ),
    "result": (lambda: (NUMBERS | COUNT).run().result(), "Run has no result; here it is wait()"),
    "a run's name of Spark": (lambda: (NUMBERS | COUNT).run().awaitTermination(), AWAITED),
    "a run's typing": (lambda: (NUMBERS | COUNT).run().cancell(), "Run has no cancell; did you mean cancel()?"),
    "a subject's": (lambda: SUBJECT.on_next(1), "Subject has no on_next; here it is emit()"),
    "an emitter's": (lambda: list(Stream.create(lambda e: e.on_completed())), EMITTERS),  # type: ignore[attr-defined]
    "an emitter's typing": (lambda: list(Stream.create(lambda e: e.emitt(1))), "Emitter has no emitt"),  # type: ignore[attr-defined]
    "print": (lambda: SINK.print, "Sink has no print; here it is for_each(print)"),
    "typing": (lambda: SINK.to_lst, "Sink has no to_lst; did you mean to_list()?"),
    "flow": (
        lambda: FLOW.filter,
        "Flow has no filter; write it in the function of the flow, or behind the flow: (stream | flow).filter(...)",
    ),
}


@pytest.mark.parametrize(("make", "said"), NAMES.values(), ids=NAMES)
def test_a_name_that_is_not_there_says_where_it_is(make: Callable[[], object], said: str) -> None:
    with pytest.raises(AttributeError) as failure:
        make()
    assert str(failure.value) == said


def test_a_file_that_was_read_is_told_as_taken_and_not_as_closed(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\n")
    lines = Stream.from_iterable((tmp_path / "lines").open())
    assert list(lines) == ["a\n"]
    with pytest.raises(PenstockError, match=r"^from_iterable: this iterator was taken by an earlier subscriber; "):
        list(lines)


def test_a_file_that_is_closed_before_the_first_run_says_so(tmp_path: Path) -> None:
    with (tmp_path / "lines").open("w") as file:
        lines = Stream.from_iterable(file)
    with pytest.raises(ValueError, match="closed file"):
        list(lines)


def test_a_file_in_no_folder_and_a_folder_are_named(tmp_path: Path) -> None:
    texts: Any = NUMBERS.map(str)
    with pytest.raises(FileNotFoundError, match=r"to_file: there is no such folder: '.*none'"):
        (texts | Sink.to_file(tmp_path / "none" / "out")).run().wait()
    with pytest.raises(IsADirectoryError, match="to_file: this is a folder"):
        (texts | Sink.to_file(tmp_path)).run().wait()
