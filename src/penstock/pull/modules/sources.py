"""sources: modules whose values can be iterated: values, keys, once, count, infinite, empty, error, from_iter."""

from __future__ import annotations

import builtins
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, overload

from penstock.engine.words.arguments import count_given
from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.iterated import IteratedSource
from penstock.pull.ground.protocol import Done
from penstock.pull.module import PullSource

T = TypeVar("T")


def _iterated(name: str, open_items: Callable[[], Iterator[T]], on_abort: Done | None = None) -> PullSource[T]:
    if on_abort is not None:
        function_given(name, "on_abort", on_abort)
    iterated = IteratedSource(open_items, on_abort)
    return PullSource(iterated.read, name, iterated)


def _items_given(name: str, items: object) -> None:
    if not hasattr(items, "__iter__") and not hasattr(items, "__getitem__"):
        raise TypeError(f"{name}: items must be iterable, got {items!r}")


@overload
def values(items: Mapping[Any, T], on_abort: Done | None = None) -> PullSource[T]: ...
@overload
def values(items: Iterable[T], on_abort: Done | None = None) -> PullSource[T]: ...
def values(items: Iterable[Any] | Mapping[Any, Any], on_abort: Done | None = None) -> PullSource[Any]:
    """Give the items of a collection, or the values of a mapping; `on_abort` is told if it is aborted."""
    _items_given("values", items)
    if isinstance(items, Mapping):
        return _iterated("values", lambda: iter(items.values()), on_abort)
    return _iterated("values", lambda: iter(items), on_abort)


def keys(items: Mapping[T, Any], on_abort: Done | None = None) -> PullSource[T]:
    """Give the keys of a mapping."""
    if not isinstance(items, Mapping):
        raise TypeError(f"keys: items must be a mapping, got {items!r}")
    return _iterated("keys", lambda: iter(items), on_abort)


def once(value: T, on_abort: Done | None = None) -> PullSource[T]:
    """Give one value, whatever it is."""
    return _iterated("once", lambda: iter((value,)), on_abort)


def count(stop: int | None = None) -> PullSource[int]:
    """Give 0, 1, 2 and so on, up to `stop` and with it; without end if there is none."""
    if stop is None:
        return _iterated("count", itertools.count)
    count_given("count", "stop", stop, 0)
    return _iterated("count", lambda: iter(builtins.range(stop + 1)))


@overload
def infinite() -> PullSource[float]: ...
@overload
def infinite(generate: Callable[[], T]) -> PullSource[T]: ...
def infinite(generate: Callable[[], Any] = random.random) -> PullSource[Any]:
    """Give what a function returns, again and again."""
    function_given("infinite", "generate", generate)

    def calls() -> Iterator[Any]:
        while True:
            yield generate()

    return _iterated("infinite", calls)


def empty() -> PullSource[Any]:
    """Give nothing."""
    return _iterated("empty", lambda: iter(()))


def error(exception: Exception) -> PullSource[Any]:
    """Fail at the first ask."""
    if not isinstance(exception, Exception):
        raise TypeError(f"error: exception must be an Exception, got {exception!r}")

    def fails() -> Iterator[Any]:
        raise exception

    return _iterated("error", fails)


def from_iter(items: Iterable[T]) -> PullSource[T]:
    """Give the items of any iterable; a generator is closed when it is aborted."""
    _items_given("from_iter", items)
    return _iterated("from_iter", lambda: iter(items))


__all__ = ["count", "empty", "error", "from_iter", "infinite", "keys", "once", "values"]
