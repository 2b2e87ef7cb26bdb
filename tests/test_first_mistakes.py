"""What a newcomer writes first and wrongly: each error names the thing and the cure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock import Sink, Stream, flow

NUMBERS: Any = Stream.range(3)
COUNT: Any = Sink.count()
A_FUNCTION = "call what makes one, as in Sink.to_list(), mark a function from stream to stream with @flow"


async def ticking() -> AsyncIterator[int]:
    yield 1


def doubled(numbers: Any) -> Any:
    return numbers.map(lambda n: n * 2)


async def later(numbers: Any) -> Any:
    return numbers


def each(numbers: Any) -> Iterator[Any]:
    yield from numbers


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
    "a function that returns nothing": (lambda: list(NUMBERS.map(lambda _: None)), ("None is not an element", "[]")),
}


@pytest.mark.parametrize(("make", "words"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.filterwarnings("error")  # a coroutine that was never awaited would be one
def test_the_error_names_the_thing_and_the_cure(make: Callable[[], object], words: tuple[str, ...]) -> None:
    with pytest.raises(TypeError) as failure:
        make()
    assert [word for word in words if word not in str(failure.value)] == []
