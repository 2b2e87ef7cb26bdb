"""dividing: how a step parts its elements into streams, as a rule whose state is a value.

Where a chain runs piece by piece, a stream that a step gives cannot live on from one piece to the next, but what comes
of it can: the step that follows makes elements of each stream, and the state of that is a value again. So the rule says
only which stream an element goes to, and when streams end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Protocol, TypeAlias


class Dividing(Protocol):
    """The rule of a step that divides, and the variables of one run of it."""

    kept: ClassVar[tuple[str, ...]]
    """The names of its variables, which hold values."""
    timed: ClassVar[bool]
    """Whether the time ends streams of it."""
    named: ClassVar[bool]
    """Whether streams have names, are open side by side, and begin anew when they were left; else one follows another,
    and what is left of one is dropped."""
    most: int
    """How many streams may be open at a time."""
    seconds: float
    """How long it waits at least; infinity if the time ends no stream."""

    @property
    def due(self) -> float | None:
        """Return when the streams that are open end, unless something comes before."""
        ...

    def made(self, name: Any, chain: Any, /) -> Any:
        """Return the stream of a name that reads a chain."""
        ...

    def begin(self, now: float, /) -> None:
        """Set the variables as a run begins with them."""
        ...

    def into(self, element: Any, now: float, /) -> tuple[Hashable, bool]:
        """Return the name of the stream that an element goes to, and whether it is the last of that stream."""
        ...

    def ended(self) -> None:
        """Take note that the streams that were open have ended."""
        ...


MakeDividing: TypeAlias = Callable[[Any], Dividing]
"""What makes the rule of a step from it."""

__all__ = ["Dividing", "MakeDividing"]
