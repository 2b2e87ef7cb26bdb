"""parts: a part of a run that may end before its source does, and then holds nothing up.

A branch, an arm of `merge`, the stream that a function makes of a group: each takes elements, and may have enough of
them while others go on. What is inside by then, in a queue or in a task, comes to no end. So an element that enters a
part gets a mark of that part in the place of those that it has, which stay with the mark; when it leaves, it has them
again. A part that has completed is done with all marks that are left. One that fails or is cancelled says nothing:
what was under way stays uncommitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar

from penstock.engine.many.branch import Branch
from penstock.run.carrying.marks import FORGOTTEN, Carried, SourceMark
from penstock.run.carrying.values import carried_values
from penstock.stage import Body, Gives, Sight, Stage


class PartMark(SourceMark):
    """An element that has entered a part and is not done there; its position are the marks that it had before."""

    __slots__ = ("keeper",)

    def __init__(self, book: PartMarks, marks: tuple[SourceMark, ...]) -> None:
        super().__init__(book, marks)
        self.keeper = ""

    @property
    def waits(self) -> bool:
        """Tell whether steps keep all elements that carry it until others come."""
        return self.left > 0 and self.left == self.held


class PartMarks:
    """The marks of the elements that are inside of a part."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside: set[PartMark] = set()
        self._abandoned: list[Carried] = []
        self._over = False
        self.on_end: list[Callable[[], object]] = []
        """What is called when it has ended."""
        self.__qualname__ = "part"  # what a listener shows

    def __len__(self) -> int:
        return len(self._inside)

    def __call__(self, element: Carried) -> Carried:
        """Let an element in."""
        if not element.marks:
            return element
        mark = PartMark(self, element.marks)
        with self._lock:
            over = self._over
            if not over:
                self._inside.add(mark)
        if not over:
            return Carried(element.value, (mark,))
        element.done()
        return Carried(element.value)

    def leave(self, element: Carried) -> Carried:
        """Let an element out, with the marks that those had which it was made of."""
        found: list[SourceMark] = []
        dropped: list[PartMark] = []
        with self._lock:
            for mark in element.marks:
                if not isinstance(mark, PartMark) or mark.book is not self:
                    found.append(mark)
                elif mark.left == 1:
                    mark.left = 0
                    self._inside.discard(mark)
                    found += mark.position
                elif mark.left > 0:
                    for each in mark.position:
                        each.book.keep(each)
                    found += mark.position
                    dropped.append(mark)
        if dropped:
            self.drop_all(dropped)
        return Carried(element.value, tuple(found))

    def abandon(self, element: Carried) -> None:
        """Take note of an element that will not get in; it is done when the part has ended, and not before."""
        with self._lock:
            over = self._over
            if not over:
                self._abandoned.append(element)
        if over:
            element.done()

    def end(self) -> tuple[()]:
        """Be done with everything that is inside, and with what comes from now on."""
        with self._lock:
            self._over = True
            inside, self._inside = self._inside, set()
            abandoned, self._abandoned = self._abandoned, []
            waiting = [mark for mark in inside if mark.waits]
            for mark in inside:
                mark.left = FORGOTTEN
        for call in self.on_end:
            call()
        _let_go(waiting)
        Carried(None, tuple([each for mark in inside for each in mark.position])).done()
        for element in abandoned:
            element.done()
        return ()

    # What is asked of the book of a mark.

    def keep(self, mark: Any) -> None:
        """Have one more element carry a mark."""
        with self._lock:
            waited = mark.waits
            mark.left += 1
        if waited:
            _let_go((mark,))

    def drop(self, mark: Any) -> None:
        """Have one element less carry a mark."""
        self.drop_all((mark,))

    def drop_all(self, dropped: Iterable[Any]) -> None:
        """Have one element less carry each of these marks."""
        done: list[SourceMark] = []
        waiting: list[PartMark] = []
        with self._lock:
            for mark in dropped:
                mark.left -= 1
                if not mark.left:
                    self._inside.discard(mark)
                    done += mark.position
                elif mark.waits:
                    waiting.append(mark)
        _hold(waiting)
        if done:
            Carried(None, tuple(done)).done()

    def hold(self, mark: Any, keeper: str) -> None:
        """Know that a step keeps an element that carries a mark until another one comes."""
        with self._lock:
            mark.held += 1
            mark.keeper = keeper
            waits = mark.waits
        if waits:
            _hold((mark,))

    def unhold(self, mark: Any) -> None:
        """Know that the step has given the element on, or will be done with it."""
        with self._lock:
            waited = mark.waits
            mark.held -= 1
        if waited:
            _let_go((mark,))


def _hold(marks: Iterable[PartMark]) -> None:
    for mark in marks:
        for each in mark.position:
            each.book.hold(each, mark.keeper)


def _let_go(marks: Iterable[PartMark]) -> None:
    for mark in marks:
        for each in mark.position:
            each.book.unhold(each)


class Divided:
    """What makes the streams that a step divides a stream into, and is told of elements that none of them gets.

    Those are done when what reads their stream has ended, or else when what reads the stream of streams has.
    """

    def __init__(self, make: Callable[..., Any], part: PartMarks) -> None:
        self._make = make
        self._part = part

    def __call__(self, *made: Any) -> Any:
        return self._make(*made[:-1], carried_values(made[-1]))

    def drops(self, branch: Branch | None, elements: list[Carried]) -> None:
        """Be told of elements that go to no subscriber."""
        part = self._part if branch is None or branch.reader is None else branch.reader
        for element in elements:
            part.abandon(element)


@dataclass(frozen=True, slots=True)
class PartExit(Stage[Any, Any]):
    """The end of a part."""

    part: PartMarks
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ANY
    loop: ClassVar[Body] = Body("v = {leave}(v)", tail="{end}()")

    def leave(self, element: Carried) -> Carried:
        """Let an element out."""
        return self.part.leave(element)

    def end(self) -> tuple[()]:
        """Be told of the last one."""
        return self.part.end()


def source_marks(marks: Iterable[SourceMark]) -> list[SourceMark]:
    """Return the marks of sources that marks of parts stand for."""
    found: list[SourceMark] = []
    for mark in marks:
        if isinstance(mark, PartMark):
            found += source_marks(mark.position)
        else:
            found.append(mark)
    return found


__all__ = ["PartExit", "PartMark", "PartMarks", "source_marks"]
