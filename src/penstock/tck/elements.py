"""elements: how elements of any kind are compared, those that cannot be compared included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable


def same(first: Any, second: Any) -> bool:
    """Tell whether two elements are one or equal, or bow out if these cannot be compared, as arrays cannot."""
    try:
        return first is second or bool(first == second)
    except Exception as error:
        raise NotApplicable(f"its elements cannot be compared: {shown(error)}") from error


def alike(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Tell whether two lists hold the same elements, or bow out if these cannot be compared."""
    return len(first) == len(second) and all(map(same, first, second))
