"""signals: what a subscriber was told, as values, and the error of an expectation that was not met."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

PATIENCE = 5.0
"""Seconds to wait for something that must happen; nothing waits this long unless it fails."""


class VerificationError(AssertionError):
    """Report that a stream did not do what was expected of it."""


@dataclass(frozen=True, slots=True)
class Next:
    """Record an element."""

    element: Any

    def __str__(self) -> str:
        return f"next({self.element!r})"


@dataclass(frozen=True, slots=True)
class Failed:
    """Record the failure that ended the stream."""

    error: Exception

    def __str__(self) -> str:
        return f"error({self.error!r})"


@dataclass(frozen=True, slots=True)
class Completed:
    """Record the successful end of the stream."""

    def __str__(self) -> str:
        return "complete"


Signal = Next | Failed | Completed


def spoken(signals: Iterable[Signal]) -> str:
    """Return signals in words."""
    return ", ".join(map(str, signals)) or "nothing"
