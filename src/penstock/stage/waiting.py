"""waiting: what a step that time wakes does, without a thread, a timer or a demand: its state is a value.

Where a chain runs piece by piece the state of a step is kept elsewhere in between, and so is the moment at which it is
to be woken. Given an element, that moment or the end, the rule of a step answers with elements and sets the next one.
`Holding` and `Silence` are what the rules of the catalogue have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol, TypeAlias


class Waiting(Protocol):
    """The rule of a step that waits, and the variables of one run of it."""

    kept: ClassVar[tuple[str, ...]]
    """The names of its variables, which hold values; `due` follows from them, or is one."""
    lingers: ClassVar[bool]
    """Whether the end of upstream has to wait in it as well: it has passed once nothing is due any more."""
    silent: ClassVar[bool]
    """Whether it holds nothing, and waits for a time in which nothing comes."""
    endless: ClassVar[bool]
    """Whether it is due again and again as long as nothing comes."""
    seconds: float
    """How long it waits at least, so that it is known how often to look at the time."""

    @property
    def due(self) -> float | None:
        """Return when it is to be woken; later than the moment at which it was, or not at all."""
        ...

    def begin(self, now: float, /) -> None:
        """Set the variables as a run begins with them."""
        ...

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        """Take an element, and return what is to be emitted."""
        ...

    def rang(self, now: float, /) -> Iterable[Any]:
        """Be woken, and return what is to be emitted; the moment that was set has come."""
        ...

    def ended(self, now: float, /) -> Iterable[Any]:
        """Return what is to be emitted when upstream ends; a rule that does not linger is due no more."""
        ...


MakeWaiting: TypeAlias = Callable[[Any], Waiting | None]
"""What makes the rule of a step from it; None if this one waits for other things than time."""


class Holding:
    """The rule that holds elements until a time has come or upstream has ended; another one says which, and when."""

    __slots__ = ("due", "items", "seconds")
    kept: ClassVar[tuple[str, ...]] = ("items", "due")
    lingers: ClassVar[bool] = False
    silent: ClassVar[bool] = False
    endless: ClassVar[bool] = False

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.begin(0.0)

    def begin(self, now: float, /) -> None:
        """Hold nothing."""
        self.items: list[Any] = []
        self.due: float | None = None

    def rang(self, now: float, /) -> Iterable[Any]:
        """Let go of what is held."""
        return self.let_go()

    def ended(self, now: float, /) -> Iterable[Any]:
        """Let go of what is held."""
        return self.let_go()

    def let_go(self) -> list[Any]:
        """Return what is held, and hold it no more."""
        items, self.items, self.due = self.items, [], None
        return items


class Silence:
    """The rule that lets elements pass, and waits for the moment at which none has come for so long."""

    __slots__ = ("due", "seconds")
    kept: ClassVar[tuple[str, ...]] = ("due",)
    lingers: ClassVar[bool] = False
    silent: ClassVar[bool] = True
    endless: ClassVar[bool] = False

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.begin(0.0)

    def begin(self, now: float, /) -> None:
        """Wait from now on."""
        self.due: float | None = now + self.seconds

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        """Let an element pass, and wait from now on."""
        self.due = now + self.seconds
        return (element,)

    def ended(self, now: float, /) -> Iterable[Any]:
        """Wait no more."""
        self.due = None
        return ()


def next_tick(start: float, seconds: float, now: float) -> float:
    """Return the first of the times that are `seconds` apart, from `start` on, which is later than now."""
    tick = (now - start) // seconds
    due = start + (tick + 1) * seconds
    return due if due > now else start + (tick + 2) * seconds  # by a rounding


__all__ = ["Holding", "MakeWaiting", "Silence", "Waiting", "next_tick"]
