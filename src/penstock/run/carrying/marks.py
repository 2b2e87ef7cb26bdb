"""marks: which elements of a source are not done yet, and what carries them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from threading import Condition, Lock, get_ident
from time import monotonic
from typing import Any, Protocol

from penstock.engine.words.dropped import drop
from penstock.engine.words.queued import look

OFTEN = 0.01
"""Seconds after which what is done is told even while more elements are being handed over."""
FORGOTTEN = -(1 << 62)
"""How many elements carry a mark that does not count any more, whatever becomes of those that do."""


def _nothing() -> None:
    pass


class MarkBook(Protocol):
    """What knows how many elements carry each of its marks."""

    def keep(self, mark: SourceMark, /) -> None:
        """Have one more element carry a mark."""
        ...

    def drop(self, mark: SourceMark, /) -> None:
        """Have one element less carry a mark."""
        ...

    def drop_all(self, dropped: Iterable[SourceMark], /) -> None:
        """Have one element less carry each of these marks."""
        ...

    def hold(self, mark: SourceMark, keeper: str, /) -> None:
        """Know that a step keeps an element that carries a mark until another one comes."""
        ...

    def unhold(self, mark: SourceMark, /) -> None:
        """Know that the step has given the element on, or will be done with it."""
        ...


class SourceMark:
    """An element of a source that is not done yet."""

    __slots__ = ("book", "held", "left", "position")

    def __init__(self, book: MarkBook, position: Any) -> None:
        self.book = book
        self.position = position
        self.left = 1
        """How many elements of the run carry it."""
        self.held = 0
        """How many of those a step keeps until another element comes."""


class SourceMarks:
    """The marks of a source in its order; it tells how far everything is done."""

    def __init__(self, commit: Callable[[Any], object], window: int | None, after: Any = None) -> None:
        self._commit = commit
        self.reached = after
        """The position up to which all is done, whether the source was told or not."""
        self.window = window
        """How many elements may not be done at a time; None for any number."""
        self._lock = Lock()
        self._marks: deque[SourceMark] = deque()
        self._position: Any = None
        self._telling = False
        self._teller = 0
        """The thread that tells the source, or has been the last to."""
        self._quiet = Condition(self._lock)
        self._finishing = False
        self._closed = False
        self.told = 0.0
        """When the source was told last."""
        self._cleared = 0
        """How many elements there are up to the newest position."""
        self.telling = 0
        """How many elements there are up to the position that the source is told."""
        self.gathers = False
        """Whether elements are being handed over, so that what is done is told now and then, and at their end."""
        self.on_room: Callable[[], None] = _nothing
        """What is called when there is room for more elements."""
        self.room_at = -1
        """How few elements may be under way for that to be called."""
        self._untold = 0
        """How many elements are done of which the source was not told."""
        self.asks = False
        """Whether it is called when what is being told has been."""
        self.waits = False
        """Whether the source was asked for nothing, because there is no room."""
        self.on_wait: Callable[[], None] = _nothing
        """What is called when it is so."""
        self._entered = 0
        self._settled = 0
        """How many of those that have entered are done, or are kept by steps that wait for others."""
        self._keeper = ""
        """What has kept the latest of them."""
        self.alone = False
        """Whether steps that keep elements wait for nothing but others of this source."""
        self.on_standstill: Callable[[str], None] | None = None
        """What is called, with a step that keeps elements, when no element moves and none can come."""
        self.moves: Callable[[], bool] | None = None
        """What tells, before that, whether a sink that elements wait at can go on by itself."""
        self.on_restart: Callable[[Callable[[], object]], None] | None = None
        """What is called when the source is opened again, with what to call when all it gave before is done."""
        self._again = False
        """Whether something that it gave before is not done yet."""
        self.on_failure: Callable[[Exception], None] | None = None
        """What is called when the source fails to take note, or the run can go no further: it ends the run."""

    def __len__(self) -> int:
        return len(self._marks)

    @property
    def keeper(self) -> str:
        """Return a step that keeps elements, if one does."""
        return self._keeper if any(mark.held for mark in look(self._marks)) else ""

    def standing(self) -> tuple[int, int, int]:
        """Return something that is another when anything has come or has been done."""
        return self._entered, self._settled, len(self._marks)

    def enter(self, position: Any) -> SourceMark:
        """Mark an element that comes from the source."""
        mark = SourceMark(self, position)
        self._marks.append(mark)
        self._entered += 1  # by the thread that has the source's elements, and no other
        return mark

    def enter_all(self, positions: Sequence[Any]) -> list[SourceMark]:
        """Mark elements that come from the source together."""
        made = list(map(SourceMark, repeat(self), positions))
        self._marks.extend(made)
        self._entered += len(made)
        return made

    def keep(self, mark: SourceMark) -> None:
        """Have one more element carry a mark."""
        with self._lock:
            if mark.left == mark.held:
                self._settled -= 1
            mark.left += 1

    def drop(self, mark: SourceMark) -> None:
        """Have one element less carry a mark; tell the source how far all are done, if that is farther."""
        with self._lock:
            mark.left -= 1
            if mark.left == mark.held:
                self._settled += 1
            cleared = not mark.left and self._marks[0] is mark and self._clear()
        self._dropped(cleared)

    def drop_all(self, dropped: Iterable[SourceMark]) -> None:
        """Have one element less carry each of these marks."""
        with self._lock:
            for mark in dropped:
                mark.left -= 1
                if mark.left == mark.held:
                    self._settled += 1
            cleared = bool(self._marks) and not self._marks[0].left and self._clear()
        self._dropped(cleared)

    def reach(self, position: Any, count: int) -> None:
        """Know that everything up to a position is done, so many elements of the run; where they carry no marks."""
        with self._lock:
            self._position = self.reached = position
            self._cleared = count

    def hold(self, mark: SourceMark, keeper: str) -> None:
        """Know that a step keeps an element that carries a mark until another one comes."""
        with self._lock:
            mark.held += 1
            if mark.left == mark.held:
                self._settled += 1
            self._keeper = keeper
        if self.waits:
            self.look()

    def unhold(self, mark: SourceMark) -> None:
        """Know that the step has given the element on, or will be done with it."""
        with self._lock:
            if mark.left == mark.held:
                self._settled -= 1
            mark.held -= 1

    def look(self) -> None:
        """Say so if no element moves and none can come."""
        with self._lock:
            full = self.window is not None and len(self._marks) >= self.window
            still = full and self.alone and self.waits and self._settled == self._entered
        if still and self.on_standstill is not None and not (self.moves is not None and self.moves()):
            self.on_standstill(self._keeper)

    def under_way(self) -> tuple[list[SourceMark], Any]:
        """Return the marks of elements that are not done, in the source's order, and the position before them."""
        with self._lock:
            return look(self._marks), self.reached

    def _clear(self) -> bool:
        if self._again:
            return False
        marks = self._marks
        last = marks[0]
        while marks and not marks[0].left:
            self._untold += 1  # first, so that it counts as one of the two
            self._cleared += 1
            last = marks.popleft()
        self._position = self.reached = last.position
        return True

    def _dropped(self, cleared: bool) -> None:
        """Go on outside of the lock, where functions are called."""
        if not cleared:
            if self.waits:
                self.look()
            return
        room = len(self._marks) <= self.room_at
        if room or not self.gathers or monotonic() - self.told > OFTEN:
            self.tell()
        if room:
            self.on_room()

    def tell(self) -> None:
        """Tell the source of the newest position, one at a time and in order, on whichever thread is first."""
        while not self._telling and self._position is not None:
            with self._lock:
                if self._telling or self._position is None or self._closed:
                    return
                position, self._position = self._position, None
                told = self._untold
                self.telling = self._cleared
                self._telling = True
                self._teller = get_ident()
            try:
                self._commit(position)
            except Exception as error:  # noqa: BLE001  rule 1.4: the run ends with it
                self._closed = True
                if self.on_failure is None:
                    drop("resumable: commit raised", error)
                else:
                    self.on_failure(error)
            finally:
                with self._lock:
                    self._untold -= told
                self._telling = False
                self.told = monotonic()
                if self._finishing:
                    with self._quiet:
                        self._quiet.notify_all()
            if self.asks:
                self.asks = False
                self.on_room()

    @property
    def uncommitted(self) -> int:
        """Return of how many elements the source was not told that they are done."""
        return len(self._marks) + self._untold  # in this order: one that becomes the other counts twice, and not never

    def all_told(self) -> bool:
        """Tell the source of the newest position; if another thread is telling it, `on_room` is called behind that."""
        self.tell()
        if not self._telling:
            return True
        self.asks = True
        return not self._telling  # looked at again behind `_asks`, so that one of the two threads goes on

    def restart(self) -> None:
        """Forget the elements that are under way: the source, opened behind `reached`, gives them again.

        It is told nothing more before those that steps behind have already are done.
        """
        with self._lock:
            for mark in self._marks:
                mark.left = FORGOTTEN
            self._marks = deque()
            self._entered = self._settled = self._cleared = 0
            self._again = self.on_restart is not None
        if self.on_restart is not None:
            self.on_restart(self._go_on)

    def _go_on(self) -> None:
        """Know that all that the source gave before it was opened again is done."""
        with self._lock:
            self._again = False
            cleared = bool(self._marks) and not self._marks[0].left and self._clear()
        self._dropped(cleared)

    def finish(self) -> None:
        """Tell the source the last position, wait for another thread that is telling it, and tell it no more."""
        self._finishing = True
        while True:
            self.tell()
            with self._lock:
                if self._telling and self._teller != get_ident():
                    self._quiet.wait_for(lambda: not self._telling)
                elif self._telling or self._closed or self._position is None:
                    self._closed = True
                    return

    def close(self) -> None:
        """Tell the source no more."""
        with self._lock:
            self._closed = True


class Carried:
    """An element on its way, with the marks of those that it was made of."""

    __slots__ = ("marks", "value")

    def __init__(self, value: Any, marks: tuple[SourceMark, ...] = ()) -> None:
        self.value = value
        self.marks = marks

    def __repr__(self) -> str:
        return repr(self.value)  # what a log shows

    def made(self, value: Any) -> Carried:
        """Return what this element became; this one is no more."""
        return Carried(value, self.marks)

    def also(self, value: Any) -> Carried:
        """Return one of several elements that come of this one, which is still to be done."""
        for mark in self.marks:
            mark.book.keep(mark)
        return Carried(value, self.marks)

    def done(self) -> None:
        """Say that this element is done, or was dropped."""
        marks = self.marks
        if not marks:
            return
        if len(marks) == 1:
            marks[0].book.drop(marks[0])
            return
        for book, dropped in by_book(marks):
            book.drop_all(dropped)


def by_book(marks: Sequence[SourceMark]) -> list[tuple[MarkBook, Sequence[SourceMark]]]:
    """Return marks apart by what knows how many elements carry them."""
    books = {id(mark.book): mark.book for mark in marks}.values()
    if len(books) == 1:
        return [(book, marks) for book in books]
    return [(book, [mark for mark in marks if mark.book is book]) for book in books]


def joined(value: Any, parts: Sequence[Carried]) -> Carried:
    """Return the one element that several became."""
    marks = [mark for part in parts for mark in part.marks]
    return Carried(value, tuple(marks) if len(marks) <= len(parts) else each_once(marks))


def each_once(marks: list[SourceMark]) -> tuple[SourceMark, ...]:
    """Return marks that one element carries, each once; where steps divide and join again they would double."""
    first = dict.fromkeys(marks)
    if len(first) < len(marks):
        more = Counter(marks) - Counter(first.keys())
        Carried(None, tuple(more.elements())).done()
    return tuple(first)


def joined_list(parts: list[Carried]) -> Carried:
    """Return a list of elements as one element."""
    return joined([part.value for part in parts], parts)


def joined_tuple(parts: tuple[Carried, ...]) -> Carried:
    """Return a tuple of elements as one element."""
    return joined(tuple([part.value for part in parts]), parts)


def finished(element: Carried) -> Any:
    """Say that an element has come to the end, and return it as it is without its marks."""
    element.done()
    return element.value


__all__ = [
    "FORGOTTEN", "Carried", "MarkBook", "SourceMark", "SourceMarks", "by_book", "each_once", "finished",
    "joined", "joined_list", "joined_tuple",
]  # fmt: skip
