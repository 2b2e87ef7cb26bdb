"""signals: what a subscriber is told, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Next(Generic[T_co]):
    """The record of an element."""

    element: T_co

    def __str__(self) -> str:
        return f"next({self.element!r})"


@dataclass(frozen=True, slots=True)
class Failed:
    """The record of the failure that ended the stream."""

    error: Exception

    def __str__(self) -> str:
        return f"error({self.error!r})"


@dataclass(frozen=True, slots=True)
class Completed:
    """The record of the successful end of the stream."""

    def __str__(self) -> str:
        return "complete"


Signal = Next[T] | Failed | Completed
