"""sinks: modules that read to the end: drain, collect, reduce, find, concat, on_end, log.

`done` is told exactly once how it ended. A sink that has none raises the error where it is run, or, if that is long
over, hands it to the hook for what cannot be delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.pull.arguments import function_given
from penstock.pull.drain import Drain
from penstock.pull.module import Sink, Source
from penstock.pull.protocol import Done, Read

A = TypeVar("A")
B = TypeVar("B")


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""No value was given."""


def drain(op: Callable[[A], object] | None = None, done: Done | None = None) -> Drain[A]:
    """Read everything: `op` gets each value, and may return False to stop; `done` is told the end."""
    if op is not None:
        function_given("drain", "op", op)
    if done is not None:
        function_given("drain", "done", done)
    return Drain(op, done)


def on_end(done: Done) -> Drain[Any]:
    """Read everything and be told the end."""
    function_given("on_end", "done", done)
    return Drain(None, done, "on_end")


def log(done: Done | None = None) -> Drain[Any]:
    """Print each value."""
    if done is not None:
        function_given("log", "done", done)
    return Drain(print, done, "log")


Result = Callable[[Exception | None, B], object]


def collect(done: Result[list[A]]) -> Sink[A, None]:
    """Read everything into a list; `done` gets the error, if any, and what there was until then."""
    function_given("collect", "done", done)

    def start(source: Source[A] | Read) -> None:
        found: list[A] = []
        Drain(found.append, lambda error: done(error, found), "collect")(source)

    return Sink(start, "collect", takes_source=True)


def reduce(fn: Callable[[B, A], B], initial: B = MISSING, done: Result[B | None] | None = None) -> Sink[A, None]:
    """Combine all values into one; without `initial` the first value is the beginning.

    `done` gets the error, if any, and the result so far: None if there was nothing to begin with.
    """
    function_given("reduce", "fn", fn)
    if done is None:
        raise TypeError("reduce: done must be given, it is told the result")
    function_given("reduce", "done", done)
    told = done

    def start(source: Source[A] | Read) -> None:
        total: Any = initial

        def add(value: A) -> None:
            nonlocal total
            total = value if total is MISSING else fn(total, value)

        Drain(add, lambda error: told(error, None if total is MISSING else total), "reduce")(source)

    return Sink(start, "reduce", takes_source=True)


def find(predicate: Callable[[A], object], done: Result[A | None]) -> Sink[A, None]:
    """Read until a value fits, and abort the source; `done` gets it, or None if there is none."""
    function_given("find", "predicate", predicate)
    function_given("find", "done", done)

    def start(source: Source[A] | Read) -> None:
        found: A | None = None

        def look(value: A) -> bool:
            nonlocal found
            if not predicate(value):
                return True
            found = value
            return False

        Drain(look, lambda error: done(error, found), "find")(source)

    return Sink(start, "find", takes_source=True)


def concat(done: Result[str]) -> Sink[Any, None]:
    """Read everything into one text."""
    function_given("concat", "done", done)
    joined: Sink[Any, None] = collect(lambda error, found: done(error, "".join(str(each) for each in found)))
    return Sink(joined.apply, "concat", takes_source=True)


__all__ = ["MISSING", "Drain", "collect", "concat", "drain", "find", "log", "on_end", "reduce"]
