"""shares: an element that several branches of a run take, each of which has to be done with it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar

from penstock.run.carrying.functions import Positions
from penstock.run.carrying.marks import Carried
from penstock.run.carrying.parts import PartMarks
from penstock.stage import Body, Gives, Sight, Stage, Step


class Shares:
    """The branches that take each element of one stream; one that has its result is done with all it had not done.

    A branch that fails or is cancelled is done with nothing more.
    """

    def __init__(self) -> None:
        self._branches: list[_Share] = []
        self.__qualname__ = "shared"  # what a listener shows

    def begin(self, within: PartMarks | None) -> Step:
        """Return the first step of another branch, or of an arm of one, which is done with the first of its parts."""
        share = _Share()
        self._branches.append(share)
        if within is not None:
            within.on_end.append(share.end)  # it ends with those around it
        return BranchEntry(share)

    @staticmethod
    def end(part: PartMarks) -> Step:
        """Return the last step of a branch, which is a part of the run."""
        return Positions(_Ended(part))

    def __call__(self, element: Carried) -> Carried:
        """Have every branch carry an element."""
        for share in self._branches:
            share.offer(element)
        element.done()
        return element


class _Share:
    """What one branch was offered since it was subscribed, and has not taken."""

    def __init__(self) -> None:
        self._offered: deque[tuple[Carried, Carried]] = deque()
        """Each element, and what of it is the branch's."""
        self._lock = Lock()
        self._open = False

    def begin(self) -> None:
        """Be offered elements from now on: the branch is about to be subscribed, perhaps behind another stream."""
        self._open = True

    def offer(self, element: Carried) -> None:
        """Have the branch carry an element that it is about to get."""
        with self._lock:
            if self._open:
                self._offered.append((element, element.also(element.value)))

    def take(self, element: Carried) -> Carried:
        """Return what of an element is the branch's; those before which have not come were not for it."""
        while True:
            with self._lock:
                if not self._offered:
                    return Carried(element.value)  # it has ended
                offered, own = self._offered.popleft()
            if offered is element:
                return own
            own.done()

    def end(self) -> None:
        """Be done with what was offered, and be offered nothing more."""
        with self._lock:
            self._open = False
            left, self._offered = self._offered, deque()
        for _, own in left:
            own.done()


@dataclass(frozen=True, slots=True)
class BranchEntry(Stage[Any, Any]):
    """The first step of a branch."""

    share: _Share
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body("v = {take}(v)", state=(("begun", "{begin}()"),))

    def begin(self) -> None:
        """Be told of a subscription."""
        self.share.begin()

    def take(self, element: Carried) -> Carried:
        """Take an element."""
        return self.share.take(element)


class _Ended:
    """A function that ends a branch when its result has come, and returns it."""

    def __init__(self, part: PartMarks) -> None:
        self._part = part
        self.__qualname__ = "result"

    def __call__(self, result: Any) -> Any:
        self._part.end()
        return result


__all__ = ["Shares"]
