"""recorded: the chain that a function from stream to stream builds, with a place for the source that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction, isgeneratorfunction, signature
from typing import Any, TypeVar

from penstock.engine.runs.chain import Chain
from penstock.run.branches import Hole
from penstock.run.graft import graft
from penstock.stage import Source
from penstock.stream import Stream

A = TypeVar("A")
B = TypeVar("B")

HOLE = Chain(Hole())


def recorded(operator: str, fn: Callable[[Stream[A]], Stream[B]]) -> Stream[B]:
    """Return what the function makes of a stream that has no source yet; `operator` begins the messages."""
    if not callable(fn):
        raise TypeError(f"{operator}: fn must be a function from Stream to Stream, got {fn!r}")
    name = getattr(fn, "__name__", fn)
    if iscoroutinefunction(fn) or isgeneratorfunction(fn):
        raise TypeError(f"{operator}: {name!r} must be a plain function that returns a Stream, without async and yield")
    hole: Stream[A] = Stream(HOLE)
    try:
        signature(fn).bind(hole)
    except TypeError as error:
        raise TypeError(
            f"{operator}: {name!r} must take one stream and nothing else: {error}; for a parameter, write a function"
            f" that returns the {operator.partition('.')[0].lower()}"
        ) from None
    except ValueError:  # it has no signature that Python knows
        pass
    made = fn(hole)
    if not isinstance(made, Stream):
        raise TypeError(
            f"{operator}: {name!r} must return a Stream, got {made!r}; a function of elements goes into map()"
        )
    if not _has_hole(made._chain):
        raise TypeError(f"{operator}: {name!r} must return a stream made from its argument")
    return made


def pieces(given: Any) -> tuple[Any, ...]:
    """Return what a stream, a flow or a sink was composed of, or itself if it is of one piece."""
    return given._parts or (given,)


def _has_hole(chain: Chain) -> bool:
    found = False

    def look(source: Source[Any]) -> None:
        nonlocal found
        found = found or isinstance(source, Hole)

    graft(chain, look)
    return found


__all__ = ["HOLE", "pieces", "recorded"]
