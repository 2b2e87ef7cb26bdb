"""shares: an element that several branches of a run take, each of which has to be done with it."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any

from penstock.run.carrying.marks import Carried, Positions
from penstock.stage import Step


class Shares:
    """The branches that take each element of one stream; one that has its result is done with what it did not take.

    A branch that fails or is cancelled is done with nothing more.
    """

    def __init__(self) -> None:
        self._branches: list[_Share] = []
        self.__qualname__ = "shared"  # what a listener shows

    def begin(self) -> Step:
        """Return the first step of another branch."""
        share = _Share()
        self._branches.append(share)
        return Positions(share)

    def end(self, first: int) -> Step:
        """Return the last step of the branches from the one of this number on."""
        return Positions(_Ended(self._branches[first:]))

    def __len__(self) -> int:
        return len(self._branches)

    def __call__(self, element: Carried) -> Carried:
        """Have every branch carry an element."""
        for share in self._branches:
            share.offer(element.also(element.value))
        element.done()
        return element


class _Share:
    """What one branch was offered and has not taken."""

    def __init__(self) -> None:
        self._offered: deque[Carried] = deque()
        self._lock = Lock()
        self._over = False
        self.__qualname__ = "branch"

    def offer(self, element: Carried) -> None:
        with self._lock:
            over = self._over
            if not over:
                self._offered.append(element)
        if over:
            element.done()

    def __call__(self, _: Carried) -> Carried:
        return self._offered.popleft()

    def end(self) -> None:
        with self._lock:
            self._over = True
            left, self._offered = self._offered, deque()
        for element in left:
            element.done()


class _Ended:
    """A function that ends branches when their result has come, and returns it."""

    def __init__(self, branches: list[_Share]) -> None:
        self._branches = branches
        self.__qualname__ = "result"

    def __call__(self, result: Any) -> Any:
        for share in self._branches:
            share.end()
        return result


__all__ = ["Shares"]
