"""waiting: what a step that time wakes does, without a thread, a timer or a demand: its state is a value.

Where a chain runs piece by piece the state of a step is kept elsewhere in between, and so is the moment at which it is
to be woken. Given an element, that moment or the end, the rule of a step answers with elements and sets the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol, TypeAlias


class Waiting(Protocol):
    """The rule of a step that waits, and the variables of one run of it."""

    kept: ClassVar[tuple[str, ...]]
    """The names of its variables, which hold values; `due` is one of them."""
    seconds: float
    """How long it waits at least, so that it is known how often to look at the time."""
    due: float | None
    """When it is to be woken; later than the moment at which it was, or not at all."""

    def begin(self, now: float, /) -> None:
        """Set the variables as a run begins with them."""
        ...

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        """Take an element, and return what is to be emitted."""
        ...

    def rang(self, now: float, /) -> Iterable[Any]:
        """Be woken, and return what is to be emitted; the moment that was set has come."""
        ...

    def ended(self) -> Iterable[Any]:
        """Return what is to be emitted at the end of upstream."""
        ...


MakeWaiting: TypeAlias = Callable[[Any], Waiting | None]
"""What makes the rule of a step from it; None if this one waits for other things than time."""

__all__ = ["MakeWaiting", "Waiting"]
