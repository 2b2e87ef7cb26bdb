"""lingering: a moment in which rows that keep coming are waited for, since a micro-batch costs far more than that."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition

LINGER = 0.005
"""Seconds that a row may wait for company, and again as long as there is some."""
MOST_LINGERS = 10


def linger(changed: Condition, here: Callable[[], int], enough: Callable[[], bool]) -> None:
    """Wait a moment while rows keep coming, until there are enough; hold the lock."""
    for _ in range(MOST_LINGERS):
        before = here()
        if changed.wait_for(enough, LINGER) or before == here():
            return


__all__ = ["linger"]
