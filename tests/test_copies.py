"""copies: every operator is pickled and copied to an equal value, or says that it is not and why."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pkgutil
import re
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import pytest

import penstock.operators
from penstock import (
    Emitter,
    Recorder,
    Registry,
    Sink,
    Slow,
    Stream,
    SystemClock,
    VirtualClock,
    flow,
    inline,
    observe,
    pool,
    processor,
    thread,
)
from penstock.engine.runs.chain import Chain
from penstock.engine.words.signals import Next
from penstock.stage import Joint, Source, Stage
from tests.engine.calling import CALLED, LOST, TOLD
from tests.operators.proof import proof_of

OVER = Stream.range(3)
REGISTRY = Registry()
RECORDER = Recorder()
WHO: ContextVar[str] = ContextVar("who")


def same(*values: Any) -> Any:
    return values[-1] if values else 0


async def later(n: int) -> int:
    return n


def attach(emitter: Emitter[int]) -> None:
    emitter.complete()


class Numbers:
    """Be an asynchronous iterable, and an equal one of every other."""

    def __aiter__(self) -> AsyncIterator[int]:
        return numbers()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers)

    __hash__ = None  # type: ignore[assignment]


async def numbers() -> AsyncIterator[int]:
    yield 1


def counted() -> Iterator[int]:
    yield 1


OTHERS: dict[str, Callable[[], Stream[Any]]] = {
    "all others that have no function": lambda: (
        OVER.cast(int).of_type(int).take(9).skip(0).take_last(9).skip_last(0).start_with(1).end_with(1)
        .default_if_empty(1).enumerate().pairwise().sliding(1).flatten().buffer(2).flatten().checkpoint("here")
        .to_list().flatten().to_set().flatten().element_at(0)
    ),
    "elements that come to one": lambda: OVER.sum().average().count().contains(1).is_empty().single(),
    "functions": lambda: OVER.map(same).map_async(later).first(same).last(same).filter(later).for_each(later),
    "ignore_elements": lambda: OVER.ignore_elements(),
    "timed": lambda: (
        OVER.timeout(1.0).debounce(1.0).delay(1.0).delay_subscription(1.0).throttle(1).throttle_first(1.0).sample(1.0)
        .buffer_timeout(1, 1.0).keep_alive(1.0, []).timestamp().time_interval()
    ),
    "sample with a stream": lambda: OVER.sample(Stream.interval(1.0)),
    "windows": lambda: OVER.window(2).concat(OVER.window(seconds=1.0), OVER.window(until=Stream.timer(1.0))),
    "waiting": lambda: (
        OVER.on_backpressure_buffer(1).on_backpressure_drop().on_backpressure_latest().on_backpressure_error()
        .limit_rate(2)
    ),
    "elsewhere": lambda: OVER.publish_on(inline()).publish_on(thread()).publish_on(pool(2)).subscribe_on(inline()),
    "several": lambda: (
        OVER.merge(Stream.just(1)).concat(Stream.empty()).zip(Stream.never()).interleave(OVER).combine_latest(OVER)
        .with_latest_from(OVER).race(OVER).switch_if_empty(OVER).take_until(OVER).skip_until(OVER)
    ),
    "shared": lambda: OVER.share(slow=Slow.WAIT).replay(2).cache(),
    "publish": lambda: OVER.publish(),
    "signals": lambda: OVER.materialize().concat(Stream.just(Next(1))).dematerialize(),
    "watched": lambda: OVER.log("here").metrics("here").metrics("there", registry=REGISTRY).observed(RECORDER),
    "checked": lambda: OVER.checked(),
    "with_context": lambda: OVER.with_context({WHO: "ada"}),
    "repeat": lambda: OVER.repeat(2),
    "from_publisher": lambda: Stream.from_publisher(OVER),
    "from_iterable": lambda: Stream.from_iterable([1, 2]),
    "from_async_iterable": lambda: Stream.from_async_iterable(Numbers()),
    "error": lambda: Stream.error(LOST),
}  # fmt: skip


def of(name: str) -> Callable[[Stream[int], Callable[..., Any]], Stream[Any]]:
    return {**CALLED, **TOLD}[name]


STREAMS: dict[str, Callable[[], Stream[Any]]] = {
    **{name: (lambda name=name: of(name)(OVER, same)) for name in (*CALLED, *TOLD)},  # type: ignore[misc]
    **OTHERS,
}


def local(stream: Stream[Any]) -> Stream[Any]:
    variable: ContextVar[int] = ContextVar("nowhere")
    return stream.with_context({variable: 1})


def group() -> Stream[Any]:
    return OVER.group_by(same).first().get()


def window() -> Stream[Any]:
    return OVER.window(9).first().get()


HANDED = "what is handed to one would not reach the other; make it where it is used"
UNDER_WAY = "its elements come from a run that is under way; collect them"
STAY: dict[str, tuple[Callable[[], Any], str, str]] = {
    "lent executor": (
        lambda: OVER.publish_on(ThreadPoolExecutor(1)),
        "publish_on: an executor of yours",
        "its threads are here; thread() and pool(size) can",
    ),
    "lent loop": (
        lambda: OVER.publish_on(AbstractEventLoop()),
        "publish_on: an event loop of yours",
        "its thread is here; loop() can",
    ),
    "run": (
        lambda: (OVER | Sink.count()).run(),
        "run: a run",
        "it is under way in this process; take the pipeline",
    ),
    "subject": (Stream.subject, "subject: a subject", HANDED),
    "inside": (lambda: OVER.zip(Stream.subject().map(same)), "subject: a subject", HANDED),
    "from_iterable": (
        lambda: Stream.from_iterable(counted()),
        "from_iterable: an iterator",
        "its items come once; pass a collection, or use Stream.defer",
    ),
    "from_async_iterable": (
        lambda: Stream.from_async_iterable(numbers()),
        "from_async_iterable: an iterator",
        "its items come once; use Stream.defer to make it",
    ),
    "from_awaitable": (
        lambda: Stream.from_awaitable(Once()),
        "from_awaitable: an awaitable",
        "its value comes once; pass the function that makes it",
    ),
    "with_context": (
        lambda: local(OVER),
        "with_context: <ContextVar name='nowhere' at ADDRESS>",
        "it is a global of no module, by which it could be found elsewhere",
    ),
    "clock": (
        lambda: OVER.delay(1, clock=VirtualClock()),
        "VirtualClock: virtual time",
        "who advances one would not move the other; make it where it is used",
    ),
    "via": (
        lambda: OVER.via(processor(flow(lambda stream: stream.map(same)))),
        "processor: a processor",
        "it serves one stream; use the flow that it was made of",
    ),
    "group_by": (group, "group_by: a group", UNDER_WAY),
    "window": (window, "window: a window", UNDER_WAY),
}


class Once:
    """Be an awaitable."""

    def __await__(self) -> Iterator[Any]:
        return iter(())


def parts(chain: Chain) -> Iterator[Any]:
    """Give the sources and steps of a chain and of those inside."""
    yield chain.source
    yield from chain.steps
    for field in dataclasses.fields(chain.source):  # type: ignore[arg-type]
        value = getattr(chain.source, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Chain):
                yield from parts(item)


def test_the_table_has_every_operator() -> None:
    tabled = {type(part) for make in (*STREAMS.values(), Stream.subject) for part in parts(make()._chain)}
    tabled |= {
        type(part)
        for make in (STAY["subject"][0], lambda: Stream.from_awaitable(same))
        for part in parts(make()._chain)
    }
    known: set[type] = set()
    for module in pkgutil.iter_modules(penstock.operators.__path__, "penstock.operators."):
        for name, found in inspect.getmembers(import_module(module.name), inspect.isclass):
            own = found.__module__ == module.name and not name.startswith("_")
            if own and issubclass(found, Source | Stage | Joint):
                known.add(found)
    for missing in sorted(known - tabled, key=lambda step: step.__module__):
        name = missing.__module__.rpartition(".")[2]
        copied = pickle.loads(pickle.dumps(proof_of(name).use(OVER)))
        assert copied == proof_of(name).use(OVER), name


@pytest.mark.parametrize("name", STREAMS)
def test_is_pickled_to_an_equal_value(name: str) -> None:
    stream = STREAMS[name]()
    made = pickle.loads(pickle.dumps(stream))
    assert made == stream
    assert type(made) is type(stream)
    assert str(made) == str(stream)


@pytest.mark.parametrize("name", STREAMS)
def test_is_copied_to_an_equal_value(name: str) -> None:
    stream = STREAMS[name]()
    assert copy.copy(stream) == stream
    assert copy.deepcopy(stream) == stream


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_made_alike_is_equal(name: str) -> None:
    assert STREAMS[name]() == STREAMS[name]()


@pytest.mark.parametrize("name", STAY)
@pytest.mark.parametrize("made", [pickle.dumps, copy.deepcopy])
def test_says_why_it_is_neither_pickled_nor_copied(made: Callable[[Any], object], name: str) -> None:
    make, who, why = STAY[name]
    with pytest.raises(TypeError) as caught:
        made(make())
    assert re.sub("0x[0-9a-f]+", "ADDRESS", str(caught.value)) == f"{who} can be neither pickled nor copied: {why}"


def test_what_records_is_found_again() -> None:
    recorder = Recorder()
    stream = OVER.observed(recorder)
    for made in (pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream)):
        list(made)
    assert recorder.runs == 2
    with observe(recorder):
        list(OVER)
    assert recorder.runs == 3


def test_what_records_is_made_where_it_is_not_known() -> None:
    text = pickle.dumps(OVER.observed(Recorder()))  # whose recorder is gone
    one, two = pickle.loads(text), pickle.loads(text)
    list(one)
    assert one == two
    assert one._chain.source.observer.listener.runs == 1


def test_a_clock_of_the_system_is_equal_to_any_other() -> None:
    stream = OVER.delay(0.001, clock=SystemClock())
    for made in (pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream), OVER.delay(0.001)):
        assert made == stream
        assert hash(made) == hash(stream)
        assert list(made) == list(OVER)
