"""crossings: what every bridge adds to the table of round trips, Stream -> neighbour -> Stream."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from penstock import Run, Stream


class Unforeseen(Exception):
    """Be an error of the user's own, which a crossing may have to be told of."""


@dataclass(frozen=True)
class Crossing:
    """Say how a stream crosses to a neighbour and back, and what the way holds."""

    name: str
    cross: Callable[[Stream[Any]], AbstractContextManager[Stream[Any]]]
    """Give the stream as it comes back; leaving the context releases whatever stood in between."""
    window: int | None
    """How many elements may have left the first stream beyond those the last consumer has asked for; None where the
    neighbour holds a whole collection (a table, a frame)."""
    element: Callable[[int], Any] = lambda n: n
    """Make the n-th element (n >= 1), one that the neighbour can carry."""
    marks: tuple[Any, ...] = ()
    """pytest marks, such as those of tests that need Spark."""


def heard(run: Run[Any]) -> Run[Any]:
    """Ask for a run's failure when it is over, for a neighbour that brings the failure to the reader by itself."""
    run.on_done(lambda: run.failure)
    return run
