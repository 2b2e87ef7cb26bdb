"""marks: what modules of this package say to each other by what a function returns, where a value may be anything.

A module that reads another one of this package needs no answer function if the answer is ready: it calls
`at_once(later)`, which returns the value, or a mark. OVER: there is an end, in `end`. LATER: `later()` was called for
an answer function, which is called when there is an answer, and may have been already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from penstock.pull.ground.protocol import Answer, End, Read


class Mark:
    """An outcome that is not a value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


DROP: Final = Mark("DROP")
"""There is nothing for this value."""
STOP: Final = Mark("STOP")
"""There is nothing for this value nor for any other."""
FAIL: Final = Mark("FAIL")
"""A function raised."""
HALT: Final = Mark("HALT")
"""The stream was aborted by a function of the stream."""
OVER: Final = Mark("OVER")
"""There is an end."""
LATER: Final = Mark("LATER")
"""The answer is given to the function that was asked for."""

Later = Callable[[], Answer]


class AtOnce(Protocol):
    """A module that can answer by what it returns."""

    @property
    def end(self) -> End | None:
        """How it ended."""
        ...

    def at_once(self, later: Later) -> Any:
        """Return the next value, OVER or LATER."""
        ...


def at_once_of(read: Read) -> AtOnce | None:
    """Return the module that a function reads, if it is one that can answer by what it returns."""
    owner = getattr(read, "__self__", None)
    if owner is None or not hasattr(owner, "at_once") or getattr(read, "__func__", None) is not type(owner).read:
        return None
    found: AtOnce = owner
    return found
