"""values: chains are compared, hashed, printed and copied as values, a thousand inside of each other included."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Next, Stream, inline
from tests.engine.parts import in_thread

HOW_MANY = 1_000
Step = Callable[[Stream[Any]], Stream[Any]]


def same(n: Any) -> Any:
    return n


def first(pair: Any) -> Any:
    return pair[0]


def last(pair: Any) -> Any:
    return pair[-1]


def element(signal: Next[Any]) -> Any:
    return signal.element


def yes(_: Any) -> bool:
    return True


NESTED: dict[str, Step] = {
    "merge": lambda stream: stream.merge(Stream.empty(), prefetch=1).map(same),
    "concat": lambda stream: stream.concat(Stream.empty()).map(same),
    "retry": lambda stream: stream.retry(0),
    "zip": lambda stream: stream.zip(Stream.range(9)).map(first),
    "share": lambda stream: stream.share(),
    "replay": lambda stream: stream.replay(3),
    "from_publisher": Stream.from_publisher,
    "subscribe_on": lambda stream: stream.subscribe_on(inline()),
    "combine_latest": lambda stream: Stream.just(0).combine_latest(stream).map(last),
    "with_latest_from": lambda stream: stream.with_latest_from(Stream.just(0)).map(first),
    "race": lambda stream: Stream.never().race(stream.map(same)).map(same),
    "switch_if_empty": lambda stream: Stream.empty().switch_if_empty(stream),
    "take_until": lambda stream: stream.take_until(Stream.never()),
    "merge_sorted": lambda stream: stream.merge_sorted(Stream.empty()),
    "partition": lambda stream: stream.partition(yes)[0],
    "cache": lambda stream: stream.cache(),
    "repeat": lambda stream: stream.repeat(1),
    "checked": lambda stream: stream.checked(),
    "materialize": lambda stream: stream.materialize().of_type(Next).map(element),
    "with_context": lambda stream: stream.with_context({}),
    "just": lambda stream: Stream.just(stream),
}
each = pytest.mark.parametrize("name", NESTED)


def high(name: str, start: int = 3) -> Stream[Any]:
    stream: Stream[Any] = Stream.range(start)
    for _ in range(HOW_MANY):
        stream = NESTED[name](stream)
    return stream


@each
def test_a_thousand_inside_of_each_other_are_compared(name: str) -> None:
    assert high(name) == high(name)
    assert high(name) != high(name, 4)
    assert high(name) != NESTED[name](high(name))


@each
def test_a_thousand_inside_of_each_other_are_a_key(name: str) -> None:
    assert hash(high(name)) == hash(high(name))
    assert {high(name): "found"}[high(name)] == "found"


@each
def test_a_thousand_inside_of_each_other_are_printed(name: str) -> None:
    stream = high(name)
    assert len(f"{stream!r} {stream} {stream._chain!r} {stream._chain.source!r}") < 1_000


@each
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_thousand_inside_of_each_other_are_pickled(name: str, protocol: int) -> None:
    stream = high(name)
    assert pickle.loads(pickle.dumps(stream, protocol)) == stream


@each
def test_a_thousand_inside_of_each_other_are_copied(name: str) -> None:
    stream = high(name)
    assert copy.copy(stream) == stream
    made = copy.deepcopy(stream)
    assert made == stream
    assert made._chain is not stream._chain


def test_a_copy_runs() -> None:
    for made in (copy.deepcopy(high("zip")), pickle.loads(pickle.dumps(high("zip")))):
        assert list(made) == [0, 1, 2]


def test_they_are_freed_on_a_thread_of_the_usual_size() -> None:
    def run() -> None:
        stream = high("zip")
        for _ in range(9):
            for _ in range(HOW_MANY):
                stream = NESTED["concat"](stream)
        del stream

    assert threading.stack_size() == 0
    in_thread(run)


def both(stream: Stream[Any]) -> Stream[Any]:
    return stream.zip(stream)


def test_one_that_stands_in_two_places_is_looked_at_once_and_copied_once() -> None:
    one = two = Stream.range(3)
    for _ in range(200):  # 2**200 places
        one, two = both(one), both(two)
    assert one == two
    assert hash(one) == hash(two)
    made = pickle.loads(pickle.dumps(one))
    assert made == one
    source: Any = made._chain.source
    assert source.streams[0] is source.streams[1]


def test_different_steps_and_sources_are_different_values() -> None:
    values = [
        Stream.range(3).zip(Stream.range(3)),
        Stream.range(3).zip(Stream.range(4)),
        Stream.range(3).zip(Stream.range(3), Stream.range(3)),
        Stream.range(3).zip(Stream.range(3).map(str)),
        Stream.range(3).merge(Stream.range(3)),
        Stream.range(3),
    ]
    assert [[one == two for two in values] for one in values] == [
        [row == column for column in range(len(values))] for row in range(len(values))
    ]
    assert len(set(values)) == len(values)
    assert Stream.range(3)._chain != "range"
