"""walking: a walk over what stands inside of each other, which takes no stack however deep that is.

A function that would call itself for what is inside is written as a generator: in the place of the call it yields
another walk, and is sent what that one returns. The walks that wait for others are kept in a list.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeVar

R = TypeVar("R")

Walk = Generator["Walk[Any]", Any, R]
"""A walk that asks for others of its kind, and returns a result."""


def walked(walk: Walk[R]) -> R:
    """Return the result of a walk, having made each walk that it asks for; a failure of any of them passes."""
    waiting: list[Walk[Any]] = [walk]
    given: Any = None
    while True:
        try:
            inner = waiting[-1].send(given)
        except StopIteration as end:
            waiting.pop()
            given = end.value
            if not waiting:
                return given  # type: ignore[no-any-return]
        else:
            waiting.append(inner)
            given = None


def all_of(walks: Iterable[Walk[R]]) -> Walk[list[R]]:
    """Ask for several walks, one after the other, and return what they return."""
    made: list[R] = []
    for walk in walks:
        made.append((yield walk))  # noqa: PERF401  a comprehension cannot yield
    return made


__all__ = ["Walk", "all_of", "walked"]
