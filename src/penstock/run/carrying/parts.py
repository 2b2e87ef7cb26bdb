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
from functools import partial
from threading import Lock
from typing import Any, ClassVar

from penstock.engine.many.branch import Branch
from penstock.run.carrying.marks import FORGOTTEN, Carried, MarkBook, SourceMark, by_book, each_once
from penstock.run.carrying.values import carried_values
from penstock.stage import Body, Gives, Sight, Stage


class PartMark(SourceMark):
    """An element that has entered a part and is not done there; its position are the marks that it had before."""

    __slots__ = ("keeper",)
    book: PartMarks

    def __init__(self, book: PartMarks, marks: tuple[SourceMark, ...]) -> None:
        super().__init__(book, marks)
        self.keeper = ""

    @property
    def waits(self) -> bool:
        """Tell whether steps keep all elements that carry it until others come."""
        return self.left > 0 and self.left == self.held


class PartMarks:
    """The marks of the elements that are inside of a part.

    Parts may be inside of others, a thousand deep; a mark of one then stands for those of the one around it. What is
    said of a mark is said of those in a loop, from the inside out.
    """

    def __init__(self, around: PartMarks | None = None) -> None:
        self._lock = Lock()
        self._around = around
        self._parts: list[PartMarks] = []
        if around is not None:
            around._parts.append(self)
        self._inside: set[PartMark] = set()
        self._abandoned: list[Carried] = []
        self._over = False
        self.on_end: list[Callable[[], object]] = []
        """What is called when it has ended."""
        self.__qualname__ = "part"  # what a listener shows

    def __len__(self) -> int:
        return len(self._inside)

    def from_the_outside(self) -> list[PartMarks]:
        """Return the parts that it is inside of, the outermost first, and itself."""
        found: list[PartMarks] = []
        at: PartMarks | None = self
        while at is not None:
            found.append(at)
            at = at._around
        return found[::-1]

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
        return Carried(element.value, each_once(found) if len(found) > len(element.marks) else tuple(found))

    def abandon(self, element: Carried) -> None:
        """Take note of an element that will not get in; it is done when the part has ended, and not before."""
        with self._lock:
            over = self._over
            if not over:
                self._abandoned.append(element)
        if over:
            element.done()

    def end(self) -> tuple[()]:
        """Be done with everything that is inside, parts as well, and with what comes from now on."""
        parts: list[PartMarks] = [self]
        ended: list[Callable[[], None]] = []
        for part in parts:
            settle = part._end()
            if settle is not None:  # else those inside have ended with it, too
                ended.append(settle)
                parts.extend(part._parts)
        for settle in reversed(ended):
            settle()
        return ()

    def _end(self) -> Callable[[], None] | None:
        """Let nothing in any more; return what is done with all that was inside, None if it has ended before."""
        with self._lock:
            if self._over:
                return None
            self._over = True
            inside, self._inside = self._inside, set()
            abandoned, self._abandoned = self._abandoned, []
            waiting = [mark for mark in inside if mark.waits]
            for mark in inside:
                mark.left = FORGOTTEN
        return partial(self._settle, inside, waiting, abandoned)

    def _settle(self, inside: set[PartMark], waiting: list[PartMark], abandoned: list[Carried]) -> None:
        for call in self.on_end:
            call()
        _let_go(waiting)
        Carried(None, tuple([each for mark in inside for each in mark.position])).done()
        for element in abandoned:
            element.done()

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
        waiting: list[tuple[MarkBook, Iterable[Any]]] = [(self, dropped)]
        for book, marks in waiting:
            if not isinstance(book, PartMarks):
                book.drop_all(marks)
                continue
            done, kept = book._drop(marks)
            if kept:
                _hold(kept)
            if done:
                waiting.extend(by_book(done))

    def _drop(self, dropped: Iterable[Any]) -> tuple[list[SourceMark], list[PartMark]]:
        """Drop marks; return the marks that those stood for which are done, and those which steps keep now."""
        done: list[SourceMark] = []
        kept: list[PartMark] = []
        with self._lock:
            for mark in dropped:
                mark.left -= 1
                if not mark.left:
                    self._inside.discard(mark)
                    done += mark.position
                elif mark.waits:
                    kept.append(mark)
        return done, kept

    def hold(self, mark: Any, keeper: str) -> None:
        """Know that a step keeps an element that carries a mark until another one comes."""
        if self._hold(mark, keeper):
            _hold((mark,))

    def _hold(self, mark: Any, keeper: str) -> bool:
        """Count a step that keeps an element; tell whether steps keep all that carry the mark now."""
        with self._lock:
            mark.held += 1
            mark.keeper = keeper
            waits: bool = mark.waits
        return waits

    def unhold(self, mark: Any) -> None:
        """Know that the step has given the element on, or will be done with it."""
        if self._unhold(mark):
            _let_go((mark,))

    def _unhold(self, mark: Any) -> bool:
        """Count a step that keeps an element no more; tell whether steps kept all that carry the mark before."""
        with self._lock:
            waited: bool = mark.waits
            mark.held -= 1
        return waited


def _hold(marks: Iterable[PartMark]) -> None:
    """Say of the marks that these stand for that steps keep an element."""
    kept = list(marks)
    for mark in kept:
        for each in mark.position:
            if not isinstance(each, PartMark):
                each.book.hold(each, mark.keeper)
            elif each.book._hold(each, mark.keeper):
                kept.append(each)


def _let_go(marks: Iterable[PartMark]) -> None:
    """Say of the marks that these stand for that steps keep an element no more."""
    moving = list(marks)
    for mark in moving:
        for each in mark.position:
            if not isinstance(each, PartMark):
                each.book.unhold(each)
            elif each.book._unhold(each):
                moving.append(each)


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


__all__ = ["PartExit", "PartMark", "PartMarks"]
