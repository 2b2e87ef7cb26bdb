"""element_count: how many elements, where enough is the same as endless."""

from __future__ import annotations

from operator import index
from typing import Final, Self, SupportsIndex

UNBOUNDED: Final = 2**63 - 1  # rule 3.17: demand from here on need not be counted
LEAST: Final = -(2**63)


class ElementCount(int):
    """A number of elements as the C++ text counts them: 64 bits, signed, and unbounded from `UNBOUNDED` on.

    An unbounded count stays so whatever is added or taken away. A count may go below zero, as it does where more was
    delivered than is known to be requested; below -2^63 it cannot go. It is an `int`, so it compares, hashes and goes
    into `request` as one; other arithmetic yields a plain `int`.

    >>> ElementCount(2) - 5
    ElementCount(-3)
    >>> ElementCount.unbounded() - 5
    ElementCount.unbounded()
    """

    __slots__ = ()

    def __new__(cls, count: SupportsIndex = 0, /) -> Self:
        """Make a count of `count`, or unbounded if that is out of reach."""
        number = _whole("count", count)
        if number < LEAST:
            raise OverflowError(f"ElementCount: a count must be >= -2**63, got {number}")
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
        if self.is_unbounded or _is_unbounded(more):
            return ElementCount.unbounded()
        return ElementCount(int(self) + int(more))

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


def asked_for(n: object) -> int:
    """Return how many elements a request asks for, or 0 if it asks for none by right (rule 3.9).

    Any whole number counts, those of numpy included; True and False are none.
    """
    return max(index(n), 0) if isinstance(n, SupportsIndex) and not isinstance(n, bool) else 0


def _difference(minuend: int, subtrahend: int) -> ElementCount:
    if _is_unbounded(minuend):
        return ElementCount.unbounded()
    return ElementCount(int(minuend) - int(subtrahend))


def _is_unbounded(count: int) -> bool:
    return count >= UNBOUNDED


def _whole(parameter: str, candidate: SupportsIndex) -> int:
    try:
        return int(index(candidate))
    except TypeError:
        raise TypeError(f"ElementCount: {parameter} must be an int, got {candidate!r}") from None
