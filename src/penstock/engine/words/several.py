"""several: what a stage that turns one element into several asks for, and accepts."""

from __future__ import annotations

from collections.abc import Iterator
from types import GeneratorType
from typing import Any

from penstock.stage import SIZED, InnerGate, LoopGate

PLAIN = frozenset((list, tuple, range, str, bytes, dict, set, frozenset, GeneratorType))
"""What needs no second look: a loop takes it as it is."""


def length_of(items: object) -> int | None:
    """Return how many items a list or a tuple has, without running a user's code; None if that cannot be known."""
    for kind in (list, tuple):
        if isinstance(items, kind) and type(items).__iter__ is kind.__iter__:
            return kind.__len__(items)  # type: ignore[arg-type]
    return None


def _closed_when_used_up(iterator: Iterator[Any]) -> Iterator[Any]:
    """Return the iterator, or for one that has to be closed, a file say, a generator that does so at its end."""
    if type(iterator) is GeneratorType or not callable(getattr(iterator, "close", None)):
        return iterator
    return _closing(iterator)


def _closing(iterator: Any) -> Iterator[Any]:
    try:
        for item in iterator:  # noqa: UP028  `yield from` would close it as well
            yield item
    finally:
        iterator.close()


class Made:
    """What a stage makes of an element; to look for its end is to call the stage's function, and reads no source."""

    __slots__ = ("items",)

    def __init__(self, items: Iterator[Any]) -> None:
        self.items = items


class Iterated:
    """A stream of penstock's, which a loop may iterate; an object of a user's with such a method is none."""

    __slots__ = ()

    def _pulled(self, gate: LoopGate | None = None) -> Iterator[Any] | None:
        """Return an iterator over a fresh run that never waits for a signal, or None if there is none."""
        raise NotImplementedError


def items_of(given: Any, gate: LoopGate | None, operator: str = "flat_map") -> tuple[Iterator[Any], object]:
    """Iterate over what a user's function returned; a stream that needs signals would block, so it is refused.

    The second of the two is what knows whether the first is used up.
    """
    if type(given) in PLAIN:
        iterator: Iterator[Any] | None = iter(given)
        return iterator, iterator  # type: ignore[return-value]
    if type(given) is Made:
        return given.items, None
    if not callable(getattr(given, "subscribe", None)):
        try:
            iterator = iter(given)
        except TypeError:
            if hasattr(given, "__iter__"):
                raise
            cure = "; flat_map(fn, concurrency=1) takes an asynchronous one" if hasattr(given, "__aiter__") else ""
            raise TypeError(f"an iterable or a stream must be given, got {given!r}{cure}") from None
        return _closed_when_used_up(iterator), iterator
    inner = None if gate is None else InnerGate(gate)
    iterator = given._pulled(inner) if isinstance(given, Iterated) else None
    if iterator is None:
        raise TypeError(
            f"{operator}: fn returned {given!r}, which needs to be subscribed; say {operator}(fn, concurrency=1)"
        )
    return iterator, iterator if type(iterator) in SIZED else inner
