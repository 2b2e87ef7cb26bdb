"""demand: the arithmetic of request(n)."""

from __future__ import annotations

from collections.abc import Callable
from operator import index

UNBOUNDED = 2**63 - 1
"""Demand at or above this is never counted down (rule 3.17)."""


def add(demand: int, n: int) -> int:
    """Add to a demand without going past UNBOUNDED."""
    total = demand + n
    return total if total < UNBOUNDED else UNBOUNDED


def legal(n: object, refuse: Callable[[Exception], None]) -> int:
    """Return a request as a plain number; refuse an illegal one (rule 3.9) and return 0."""
    error = refused(n)
    if error is not None:
        refuse(error)
        return 0
    return index(n)  # type: ignore[arg-type]


def refused(n: object) -> Exception | None:
    """Return the error for an illegal request, or None for a legal one."""
    if isinstance(n, bool):
        return TypeError(f"rule 3.9: request({n!r}): a request must be a whole number, got bool")
    try:
        count = index(n)  # type: ignore[arg-type]
    except TypeError:
        return TypeError(f"rule 3.9: request({n!r}): a request must be a whole number, got {type(n).__name__}")
    if count <= 0:
        return ValueError(f"rule 3.9: request({n!r}): a request must be positive")
    return None
