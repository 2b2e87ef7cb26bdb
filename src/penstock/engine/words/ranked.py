"""ranked: an order that a function tells, for what has none by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.engine.words.arguments import function_given
from penstock.engine.words.around import Around


@dataclass(frozen=True, slots=True)
class By(Around):
    """A key that compares elements by a function that tells whether one comes before another."""

    less: Callable[[Any, Any], object]

    @property
    def inside(self) -> object:
        """Return the function of the user's."""
        return self.less

    def __call__(self, element: Any, /) -> Ranked:
        return Ranked(element, self.less)


class Ranked:
    """An element in the order of such a key; for `>` Python asks the other one for `<`."""

    __slots__ = ("element", "less")

    def __init__(self, element: Any, less: Callable[[Any, Any], object]) -> None:
        self.element = element
        self.less = less

    def __lt__(self, other: Ranked) -> bool:
        return bool(self.less(self.element, other.element))


def key_given(
    operator: str, key: Callable[[Any], Any] | None, less: Callable[[Any, Any], object] | None
) -> Callable[[Any], Any] | None:
    """Return the key to compare by; refuse two ways to compare."""
    if less is None:
        return key
    function_given(operator, "less", less)
    if key is not None:
        raise TypeError(f"{operator}: one of key and less can be given, got both")
    return By(less)
