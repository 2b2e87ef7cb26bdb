"""sinks: modules that read to the end: drain, collect, reduce, find, concat, on_end, log.

`done` is told exactly once how it ended. Without one, a sink that has something to tell returns a SinkResult, to be
awaited or got; a drain raises the error where it is run, or, if that is long over, hands it to the hook for what cannot
be delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from penstock.engine.words.arguments import Missing, initial_given
from penstock.engine.words.dropped import drop
from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.protocol import Done, Read
from penstock.pull.module import PullSink, PullSource
from penstock.pull.modules.drain import Drain
from penstock.pull.result import SinkResult

A = TypeVar("A")
B = TypeVar("B")

MISSING: Any = Missing.MISSING
"""No value was given."""

Told = Callable[[Exception | None, B], object]
"""Be told the error, if any, and what came of it."""


def drain(op: Callable[[A], object] | None = None, done: Done | None = None) -> Drain[A]:
    """Read everything: `op` gets each value, and may return False to stop; `done` is told the end."""
    if op is not None:
        function_given("drain", "op", op)
    if done is not None:
        function_given("drain", "done", done)
    return Drain(op, done)


def log(done: Done | None = None) -> Drain[Any]:
    """Print each value."""
    if done is not None:
        function_given("log", "done", done)
    return Drain(print, done, "log")


def _telling(name: str, done: Any, start: Callable[[PullSource[Any] | Read, Any], None]) -> PullSink[Any, Any]:
    """Make a sink that tells `done`, or, without one, returns a SinkResult that is told."""
    if done is not None:
        function_given(name, "done", done)

    def begin(source: PullSource[Any] | Read) -> Any:
        if done is not None:
            start(source, done)
            return None
        result: SinkResult[Any] = SinkResult(name)
        start(source, result.tell)
        return result

    return PullSink(begin, name, takes_source=True)


@overload
def on_end(done: Done) -> PullSink[Any, None]: ...
@overload
def on_end() -> PullSink[Any, SinkResult[None]]: ...
def on_end(done: Done | None = None) -> PullSink[Any, Any]:
    """Read everything and be told the end."""
    return _telling("on_end", done, lambda source, told: Drain(None, told, "on_end")(source))


@overload
def collect(done: Told[list[A]]) -> PullSink[A, None]: ...
@overload
def collect() -> PullSink[Any, SinkResult[list[Any]]]: ...
def collect(done: Any = None) -> PullSink[Any, Any]:
    """Read everything into a list; `done` gets the error, if any, and what there was until then.

    >>> from penstock import pull
    >>> pull.pull(pull.count(3), pull.collect()).get()
    [0, 1, 2, 3]
    """

    def start(source: PullSource[Any] | Read, told: Any) -> None:
        found: list[Any] = []
        Drain(found.append, lambda error: told(error, found), "collect")(source)

    return _telling("collect", done, start)


@overload
def reduce(fn: Callable[[B, A], B], initial: B = ..., *, done: Told[B | None]) -> PullSink[A, None]: ...
@overload
def reduce(fn: Callable[[B, A], B], initial: B, done: Told[B | None]) -> PullSink[A, None]: ...
@overload
def reduce(fn: Callable[[B, A], B], initial: B = ...) -> PullSink[A, SinkResult[B | None]]: ...
@overload
def reduce(fn: Callable[[B, A], B], *, done: Told[B | None], create: Callable[[], B]) -> PullSink[A, None]: ...
@overload
def reduce(fn: Callable[[B, A], B], *, create: Callable[[], B]) -> PullSink[A, SinkResult[B]]: ...
def reduce(
    fn: Callable[[Any, Any], Any], initial: Any = MISSING, done: Any = None, *, create: Callable[[], Any] | None = None
) -> PullSink[Any, Any]:
    """Combine all values into one; without `initial` the first value is the beginning.

    `create` makes what a run begins with, if that can be changed. `done` gets the error, if any, and the result so far:
    None if there was nothing to begin with.

    >>> from penstock import pull
    >>> pull.pull(pull.count(3), pull.reduce(lambda total, n: total + n, 0)).get()
    6
    """
    function_given("reduce", "fn", fn)
    initial_given("reduce", "initial", initial, create, needed=False)

    def start(source: PullSource[Any] | Read, told: Any) -> None:
        total: Any = initial if create is None else create()

        def add(value: Any) -> None:
            nonlocal total
            total = value if total is MISSING else fn(total, value)

        Drain(add, lambda error: told(error, None if total is MISSING else total), "reduce")(source)

    return _telling("reduce", done, start)


@overload
def find(predicate: Callable[[A], object], done: Told[A | None]) -> PullSink[A, None]: ...
@overload
def find(predicate: Callable[[A], object]) -> PullSink[A, SinkResult[A | None]]: ...
def find(predicate: Callable[[Any], object], done: Any = None) -> PullSink[Any, Any]:
    """Read until a value fits, tell `done` at once, and abort the source; `done` gets None if none fits.

    >>> from penstock import pull
    >>> pull.pull(pull.count(), pull.find(lambda n: n > 4)).get()
    5
    """
    function_given("find", "predicate", predicate)

    def start(source: PullSource[Any] | Read, told: Any) -> None:
        over = False

        def look(value: Any) -> bool:
            nonlocal over
            if not predicate(value):
                return True
            over = True
            try:
                told(None, value)
            except Exception as error:  # noqa: BLE001  property F10
                drop("pull: a function that was told of the end raised", error)
            return False

        def ended(error: Exception | None) -> None:
            if not over:
                told(error, None)
            elif error is not None:
                drop("pull: a source failed to close", error)

        Drain(look, ended, "find")(source)

    return _telling("find", done, start)


@overload
def concat(done: Told[Any]) -> PullSink[Any, None]: ...
@overload
def concat() -> PullSink[Any, SinkResult[Any]]: ...
def concat(done: Any = None) -> PullSink[Any, Any]:
    """Read everything into one text, or, if the values are bytes, into one bytes.

    >>> from penstock import pull
    >>> pull.pull(pull.values([b"a", b"b"]), pull.concat()).get()
    b'ab'
    """

    def start(source: PullSource[Any] | Read, told: Any) -> None:
        found: list[Any] = []

        def ended(error: Exception | None) -> None:
            try:
                joined = _joined(found)
            except TypeError as mixed:
                told(mixed if error is None else error, None)
            else:
                told(error, joined)

        Drain(found.append, ended, "concat")(source)

    return _telling("concat", done, start)


def _joined(parts: list[Any]) -> str | bytes:
    some = [isinstance(part, bytes | bytearray | memoryview) for part in parts]
    if not any(some):
        return "".join(str(part) for part in parts)
    if not all(some):
        other = parts[some.index(False)]
        raise TypeError(f"concat: values must be all bytes or none of them, got {other!r} among bytes")
    return b"".join(parts)


__all__ = ["MISSING", "Drain", "collect", "concat", "drain", "find", "log", "on_end", "reduce"]
