"""pouring: sinks that hand their elements to another library, by `run.pouring`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.flow import Sink
from penstock.run.pouring import AHEAD, AsyncBasin, Basin
from penstock.sinks.poured import poured, poured_async


def pour(make: Callable[[], Basin]) -> Sink[Any, int]:
    """Return a sink that pours into a basin made for each run, from a separate thread; the result is the count."""
    return Sink.of(lambda stream: poured(stream, make))


def pour_async(make: Callable[[], AsyncBasin]) -> Sink[Any, int]:
    """Return a sink that pours into an asynchronous basin made for each run, from a task; the result is the count."""
    return Sink.of(lambda stream: poured_async(stream, make))


__all__ = ["AHEAD", "pour", "pour_async"]
