"""attempts: what the attempts of a stream that is opened again have given, and is not done yet.

An attempt that follows another one gives again what is not committed. A step behind may know such an element and leave
it out, which is no sign that it was done the first time. So nothing of an attempt is committed before everything is
done that those before it have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from penstock.run.carrying.marks import Carried, SourceMark


class Attempts:
    """The attempts of one stream; each has a mark, which what it gives carries besides its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._mark = self._another()
        self._before: set[SourceMark] = set()
        """The marks of earlier attempts that elements carry."""
        self._waiting: list[Callable[[], object]] = []
        self.__qualname__ = "attempt"  # what a listener shows

    def _another(self) -> SourceMark:
        mark = SourceMark(self, None)
        mark.left = 0  # no element carries it yet
        return mark

    def __call__(self, element: Carried) -> Carried:
        """Have an element that the attempt gives carry its mark."""
        if not element.marks:
            return element
        with self._lock:
            mark = self._mark
            mark.left += 1
        return Carried(element.value, (*element.marks, mark))

    def begin(self, then: Callable[[], object]) -> None:
        """Begin another attempt, and call a function when all that those before have given is done."""
        with self._lock:
            if self._mark.left:
                self._before.add(self._mark)
                self._mark = self._another()
            waits = bool(self._before)
            if waits:
                self._waiting.append(then)
        if not waits:
            then()

    # What is asked of the book of a mark.

    def keep(self, mark: SourceMark, /) -> None:
        """Have one more element carry a mark."""
        with self._lock:
            mark.left += 1

    def drop(self, mark: SourceMark, /) -> None:
        """Have one element less carry a mark."""
        self.drop_all((mark,))

    def drop_all(self, dropped: Iterable[SourceMark], /) -> None:
        """Have one element less carry each of these marks."""
        called: list[Callable[[], object]] = []
        with self._lock:
            for mark in dropped:
                mark.left -= 1
                if not mark.left:
                    self._before.discard(mark)
            if not self._before:
                called, self._waiting = self._waiting, []
        for then in called:
            then()

    def hold(self, mark: SourceMark, keeper: str, /) -> None:
        """Leave it to the marks of the sources to know what steps keep."""

    def unhold(self, mark: SourceMark, /) -> None:
        """Leave it to the marks of the sources to know what steps give on."""


__all__ = ["Attempts"]
