"""poured: a stream that ends in a basin, and comes down to how many elements it has taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.places.executors import thread
from penstock.run.pouring import AHEAD, THREAD_NAME, AsyncBasin, Basin, Pour, PourAsync
from penstock.stream import Stream


def poured(stream: Stream[Any], make: Callable[[], Basin]) -> Stream[int]:
    """Pour a stream into a basin made for each run, from a separate thread."""
    return stream.publish_on(thread(THREAD_NAME), prefetch=AHEAD).apply(Pour(make))


def poured_async(stream: Stream[Any], make: Callable[[], AsyncBasin]) -> Stream[int]:
    """Pour a stream into an asynchronous basin made for each run, from a task."""
    return stream.apply(PourAsync(make))


__all__ = ["poured", "poured_async"]
