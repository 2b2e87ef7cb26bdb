"""branch: one of the streams that one upstream is split into, with the seat of its subscriber."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.grounds.outlet import Outlet
from penstock.engine.grounds.seat import FailureWord, Seat
from penstock.engine.words.queued import take_all
from penstock.errors import OverflowedError, PenstockError
from penstock.spec.interfaces import Subscriber


class Branch(Seat):
    """The seat of a branch's one subscriber, and its elements until that one has come.

    It is opened when its subscriber comes; until then no thread can have its turn.
    """

    __slots__ = ("_claim", "done", "error", "heir", "held", "hungry", "key", "left", "reader")

    def __init__(self, claim: Callable[[Branch, Subscriber[Any]], None], word: FailureWord, key: Any) -> None:
        super().__init__()
        self.word = word
        self.key = key
        self.held = 0
        """How many elements count as held for it: those in the queue and those being delivered."""
        self.hungry = False
        self.left = False
        """Whether it takes no more elements, and gives none."""
        self.done = False
        """Whether it ends after what it holds."""
        self.heir: Branch | None = None
        """What takes its place since it was cancelled; it is sent out when this one has been let go of."""
        self.error: Exception | None = None
        self.reader: Any = None
        """What reads it, for who is told of elements that go to no subscriber."""
        self._claim = claim

    def claim(self, downstream: Subscriber[Any]) -> None:
        """Take the one subscriber."""
        self._claim(self, downstream)

    def emptied(self) -> list[Any]:
        """Be left, and hold nothing any more; return what it held."""
        rest = take_all(self.queue)
        self.left, self.held = True, 0
        return rest


Drops = Callable[[Branch | None, list[Any]], None]
"""What is told of elements that go to no subscriber, and of the branch that they were for, if there is one."""


def untold(branch: Branch | None, elements: list[Any]) -> None:
    """Tell of no elements."""


def refuse(downstream: Subscriber[Any], name: str, *, taken: bool) -> None:
    """Tell a subscriber why it cannot have a branch, unless it has cancelled meanwhile."""
    why = (
        "was taken by an earlier subscriber; put share() behind it for more"
        if taken
        else "had no subscriber when all were cancelled; subscribe to each as it comes, as flat_map does"
    )
    outlet: Outlet[Any] = Outlet(downstream)
    outlet.open()
    outlet.fail_now(PenstockError(f"{name} {why}"))


def stalled(operator: str, size: int, name: str) -> OverflowedError:
    """Return the error that says what is wrong and how to cure it."""
    return OverflowedError(
        f"{operator}: {size} elements wait in streams without a subscriber, {name} among them, and others wait for "
        f"elements; subscribe to each as it comes: flat_map(fn, concurrency=n) with n >= the number open at a time, or "
        f"say {operator}(..., size=n) with n > {size}"
    )
