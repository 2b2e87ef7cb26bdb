"""throughs: what is done with each value by itself: map, filter, take, unique, scan and their like."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, overload

from penstock.engine.words.arguments import Missing, count_given, initial_given
from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.protocol import Done
from penstock.pull.ground.weaving import Parts, Step, Verb
from penstock.pull.module import PullThrough

A = TypeVar("A")
B = TypeVar("B")


def _step(
    name: str, verb: Verb, fn: Callable[..., Any], open_run: Callable[[], Parts] | None = None
) -> PullThrough[Any, Any]:
    return PullThrough(steps=(Step(name, verb, open_run or (lambda: (fn, None)), fn),), name=name)


def map(fn: Callable[[A], B]) -> PullThrough[A, B]:  # noqa: A001
    """Give what a function makes of each value; if it raises, the stream fails and upstream is aborted with that."""
    function_given("map", "fn", fn)
    return _step("map", Verb.EACH, fn)


def filter(predicate: Callable[[A], object]) -> PullThrough[A, A]:  # noqa: A001
    """Give the values for which the predicate holds."""
    function_given("filter", "predicate", predicate)
    return _step("filter", Verb.KEEP, predicate)


def filter_not(predicate: Callable[[A], object]) -> PullThrough[A, A]:
    """Give the values for which the predicate does not hold."""
    function_given("filter_not", "predicate", predicate)
    return _step("filter_not", Verb.REJECT, predicate)


def take(count: int) -> PullThrough[A, A]:
    """Give the first values; the ask after the last of them aborts upstream."""
    if callable(count):
        raise TypeError(f"take: count must be a whole number, got {count!r}; take_while takes a function")
    count_given("take", "count", count, 0)
    return PullThrough(steps=(Step("take", Verb.TAKE, lambda: (None, count)),), name="take")


def take_while(predicate: Callable[[A], object], *, last: bool = False) -> PullThrough[A, A]:
    """Give values as long as the predicate holds; with `last` also the first for which it does not."""
    function_given("take_while", "predicate", predicate)
    return _step("take_while", Verb.UNTIL if last else Verb.WHILE, predicate)


def _seen(key: Callable[[Any], Hashable] | None) -> Callable[[], Parts]:
    def start() -> Parts:
        known: set[Hashable] = set()

        def again(value: Any) -> bool:
            found = value if key is None else key(value)
            if found in known:
                return True
            known.add(found)
            return False

        return again, None

    return start


def unique(key: Callable[[A], Hashable] | None = None) -> PullThrough[A, A]:
    """Give a value only the first time its key appears; every key seen is remembered."""
    if key is not None:
        function_given("unique", "key", key)
    return PullThrough(steps=(Step("unique", Verb.REJECT, _seen(key), key),), name="unique")


def non_unique(key: Callable[[A], Hashable] | None = None) -> PullThrough[A, A]:
    """Give a value each time its key appears again; every key seen is remembered."""
    if key is not None:
        function_given("non_unique", "key", key)
    return PullThrough(steps=(Step("non_unique", Verb.KEEP, _seen(key), key),), name="non_unique")


def through(op: Callable[[A], object] | None = None, on_end: Done | None = None) -> PullThrough[A, A]:
    """Call a function with each value on its way, and another once at the end, whichever side causes it."""
    if op is not None:
        function_given("through", "op", op)
    if on_end is not None:
        function_given("through", "on_end", on_end)
    verb = Verb.PASS if op is None else Verb.TAP
    return PullThrough(steps=(Step("through", verb, lambda: (op, None), op, on_end),), name="through")


@overload
def scan(fn: Callable[[B, A], B], initial: B) -> PullThrough[A, B]: ...
@overload
def scan(fn: Callable[[B, A], B], *, create: Callable[[], B]) -> PullThrough[A, B]: ...
def scan(
    fn: Callable[[Any, Any], Any], initial: Any = Missing.MISSING, *, create: Callable[[], Any] | None = None
) -> PullThrough[Any, Any]:
    """Give the result so far after each value; `create` makes what a run begins with, if that can be changed.

    >>> from penstock import pull
    >>> pull.pull(pull.count(3), pull.scan(lambda total, n: total + n, 0), pull.collect()).get()
    [0, 1, 3, 6]
    """
    function_given("scan", "fn", fn)
    initial_given("scan", "initial", initial, create)
    if create is None:
        return _step("scan", Verb.SCAN, fn, lambda: (fn, initial))
    made = create

    def start() -> Parts:
        total: Any = Missing.MISSING

        def step(value: Any) -> Any:
            nonlocal total
            total = fn(made() if total is Missing.MISSING else total, value)
            return total

        return step, None

    return _step("scan", Verb.EACH, fn, start)


__all__ = ["filter", "filter_not", "map", "non_unique", "scan", "take", "take_while", "through", "unique"]
