"""element_count: how many elements, where enough is the same as endless."""

from __future__ import annotations

from operator import index
from typing import Final, Self, SupportsIndex

UNBOUNDED: Final = 2**63 - 1  # rule 3.17: demand from here on need not be counted


class ElementCount(int):
    """Count elements from 0 up to `UNBOUNDED`, where the count stays whatever is added or taken away.

    It is an `int`, so it compares, hashes and goes into `request` as one; other arithmetic yields a plain `int`.
    """

    __slots__ = ()

    def __new__(cls, count: SupportsIndex = 0, /) -> Self:
        """Make a count of `count`, or unbounded if that is out of reach."""
        number = _whole("count", count)
        return super().__new__(cls, min(number, UNBOUNDED))

    @classmethod
    def unbounded(cls) -> Self:
        """Return the count that no addition and no subtraction changes."""
        return cls(UNBOUNDED)

    @property
    def is_unbounded(self) -> bool:
        """Tell whether the count is out of reach."""
        return self == UNBOUNDED

    def __add__(self, more: int, /) -> ElementCount:
        if not isinstance(more, int):
            return NotImplemented
        return ElementCount(int(self) + _whole("addend", more))

    __radd__ = __add__

    def __sub__(self, fewer: int, /) -> ElementCount:
        if not isinstance(fewer, int):
            return NotImplemented
        return _difference(self, fewer)

    def __rsub__(self, more: int, /) -> ElementCount:
        if not isinstance(more, int):
            return NotImplemented
        return _difference(more, self)

    def __repr__(self) -> str:
        return "ElementCount.unbounded()" if self.is_unbounded else f"ElementCount({int(self)})"

    def __str__(self) -> str:
        return "unbounded" if self.is_unbounded else int.__repr__(self)


def _difference(minuend: int, subtrahend: int) -> ElementCount:
    fewer = _whole("subtrahend", subtrahend)
    if minuend >= UNBOUNDED:
        return ElementCount.unbounded()
    if minuend < fewer:
        raise ValueError(f"ElementCount: subtrahend must be <= {int(minuend)}, got {fewer}")
    return ElementCount(int(minuend) - fewer)


def _whole(parameter: str, candidate: SupportsIndex) -> int:
    try:
        number = int(index(candidate))
    except TypeError:
        raise TypeError(f"ElementCount: {parameter} must be an int, got {candidate!r}") from None
    if number < 0:
        raise ValueError(f"ElementCount: {parameter} must be >= 0, got {number}")
    return number
