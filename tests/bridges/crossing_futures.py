"""The crossings by futures: each element is a call on a pool of threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from penstock import Stream
from penstock.bridges.futures import from_futures, submit
from tests.bridges.crossings import Crossing

CONCURRENCY = 3


def same(element: Any) -> Any:
    return element


class Submitted:
    """Be an iterable of futures, each of which is submitted when it is asked for."""

    def __init__(self, stream: Stream[Any], pool: ThreadPoolExecutor) -> None:
        self._stream = stream
        self._pool = pool

    def __iter__(self) -> Iterator[Any]:
        with self._stream.open() as elements:
            for element in elements:
                yield self._pool.submit(same, element)


@contextmanager
def results(stream: Stream[Any]) -> Iterator[Stream[Any]]:
    with ThreadPoolExecutor(2) as pool:
        yield from_futures(Submitted(stream, pool), concurrency=CONCURRENCY)


@contextmanager
def calls(stream: Stream[Any]) -> Iterator[Stream[Any]]:
    with ThreadPoolExecutor(2) as pool:
        yield stream | submit(pool, same, concurrency=CONCURRENCY)


CROSSINGS = [
    Crossing("futures", results, window=2 * CONCURRENCY),
    Crossing("submit", calls, window=2 * CONCURRENCY),
]
