"""throughs: what is done with each value by itself: map, filter, take, unique, scan and their like."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from penstock.engine.arguments import count_given
from penstock.pull.arguments import function_given
from penstock.pull.module import Through
from penstock.pull.protocol import Done
from penstock.pull.steps import DROP, STOP, Step, Transform

A = TypeVar("A")
B = TypeVar("B")

Last = Callable[[], None]


def _some(name: str, fn: object, open_run: Callable[[], Transform]) -> Through[A, A]:
    return Through(steps=(Step(name, lambda last: open_run(), fn),), name=name)


def map(fn: Callable[[A], B]) -> Through[A, B]:  # noqa: A001
    """Give what a function makes of each value; if it raises, the stream fails and upstream is aborted with that."""
    function_given("map", "fn", fn)
    return Through(steps=(Step("map", lambda last: fn, fn, one_to_one=True),), name="map")


def filter(predicate: Callable[[A], object]) -> Through[A, A]:  # noqa: A001
    """Give the values for which the predicate holds."""
    function_given("filter", "predicate", predicate)
    return _some("filter", predicate, lambda: lambda value: value if predicate(value) else DROP)


def filter_not(predicate: Callable[[A], object]) -> Through[A, A]:
    """Give the values for which the predicate does not hold."""
    function_given("filter_not", "predicate", predicate)
    return _some("filter_not", predicate, lambda: lambda value: DROP if predicate(value) else value)


def take(count: int) -> Through[A, A]:
    """Give the first values; the ask after the last of them aborts upstream."""
    count_given("take", "count", count, 0)

    def start(last: Last) -> Transform:
        left = count

        def step(value: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                last()
            return value

        return step

    return Through(steps=(Step("take", start, stops_at_once=count == 0),), name="take")


def take_while(predicate: Callable[[A], object], *, last: bool = False) -> Through[A, A]:
    """Give values as long as the predicate holds; with `last` also the first for which it does not."""
    function_given("take_while", "predicate", predicate)

    def start(end: Last) -> Transform:
        def step(value: Any) -> Any:
            if predicate(value):
                return value
            if not last:
                return STOP
            end()
            return value

        return step

    return Through(steps=(Step("take_while", start, predicate),), name="take_while")


def _seen(key: Callable[[Any], Hashable] | None, *, first: bool) -> Callable[[], Transform]:
    def start() -> Transform:
        known: set[Hashable] = set()

        def step(value: Any) -> Any:
            found = value if key is None else key(value)
            again = found in known
            known.add(found)
            return value if again is not first else DROP

        return step

    return start


def unique(key: Callable[[A], Hashable] | None = None) -> Through[A, A]:
    """Give a value only the first time its key appears; every key seen is remembered."""
    if key is not None:
        function_given("unique", "key", key)
    return _some("unique", key, _seen(key, first=True))


def non_unique(key: Callable[[A], Hashable] | None = None) -> Through[A, A]:
    """Give a value each time its key appears again; every key seen is remembered."""
    if key is not None:
        function_given("non_unique", "key", key)
    return _some("non_unique", key, _seen(key, first=False))


def through(op: Callable[[A], object] | None = None, on_end: Done | None = None) -> Through[A, A]:
    """Call a function with each value on its way, and another once at the end, whoever causes it."""
    if op is not None:
        function_given("through", "op", op)
    if on_end is not None:
        function_given("through", "on_end", on_end)

    def step(value: Any) -> Any:
        if op is not None:
            op(value)
        return value

    return Through(steps=(Step("through", lambda last: step, op, one_to_one=True, on_end=on_end),), name="through")


def scan(fn: Callable[[B, A], B], initial: B) -> Through[A, B]:
    """Give the result so far after each value."""
    function_given("scan", "fn", fn)

    def start(last: Last) -> Transform:
        total = initial

        def step(value: Any) -> Any:
            nonlocal total
            total = fn(total, value)
            return total

        return step

    return Through(steps=(Step("scan", start, fn, one_to_one=True),), name="scan")


__all__ = ["filter", "filter_not", "map", "non_unique", "scan", "take", "take_while", "through", "unique"]
