"""combining: sources made of several: cat, many, merge, zip_sources."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from penstock.errors import PenstockError
from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.desk import Confirm, Desk
from penstock.pull.ground.protocol import End, Read, at_fault, failure, unheard, worst
from penstock.pull.ground.reader import SourceReader, abort_all, level_of
from penstock.pull.module import PullSource, read_of

T = TypeVar("T")


def _sources_given(name: str, sources: object) -> None:
    if not isinstance(sources, Iterable) or isinstance(sources, PullSource):
        raise TypeError(f"{name}: sources must be an iterable of sources, got {sources!r}")


def _reads(name: str, sources: Iterable[Any]) -> list[Read]:
    _sources_given(name, sources)
    return [read_of(name, source, f"source {position}") for position, source in enumerate(sources)]


class _Cat:
    """A source that reads one source to its end, then the next."""

    def __init__(self, reads: list[Read]) -> None:
        self.desk = Desk(self._wanted, self._close)
        self._readers = deque(SourceReader(read, self.desk.give, self._ended, self.desk.turn) for read in reads)
        self.desk.level = level_of(self._readers)

    def _wanted(self) -> bool:
        if not self._readers:
            self.desk.finish(True)
            return True
        first = self._readers[0]
        first.ask()
        return first.asking

    def _ended(self, end: End) -> None:
        self._readers.popleft()
        if failure(end) is None:
            self.desk.serve()
        else:
            self.desk.stop(end)

    def _close(self, end: End, confirm: Confirm) -> None:
        abort_all(self._readers, end, confirm)


def cat(sources: Iterable[PullSource[T] | None]) -> PullSource[T]:
    """Give the values of one source after the other; None among them is left out.

    If one fails, those after it are aborted with its error, and then that is the end.
    """
    _sources_given("cat", sources)
    return PullSource(_Cat(_reads("cat", [source for source in sources if source is not None])).desk.read, "cat")


class Many(PullSource[T]):
    """A source that gives the values of any number of sources as they come.

    Each source that has nothing held is asked when the reader waits, so that of each one value at most is held. Sources
    may be added while it runs; it ends when all have ended and `cap()` was called, or when the sources were all given
    at the beginning. If one fails the others are aborted with its error, and what is held is dropped.
    """

    __slots__ = ("_capped", "_desk", "_held", "_readers")

    def __init__(self, sources: Iterable[Any] | None) -> None:
        self._desk = Desk(self._wanted, self._close)
        super().__init__(self._desk.read, "many")
        self._readers: list[SourceReader] = []
        self._held: deque[tuple[SourceReader, Any]] = deque()
        self._capped = sources is not None
        for read in _reads("many", () if sources is None else sources):
            self._join(read)

    def add(self, source: Any) -> None:
        """Add a source; one that comes after the end is aborted."""
        self._desk.turn.run(self._add, read_of("many", source))

    def cap(self) -> None:
        """Say that no more sources will be added."""
        self._desk.turn.run(self._cap)

    def _add(self, read: Read) -> None:
        if self._desk.over:
            end = worst(self._desk.end)
            read(end, unheard(end))
            return
        self._join(read)
        self._desk.serve()

    def _cap(self) -> None:
        self._capped = True
        self._desk.serve()

    def _join(self, read: Read) -> None:
        reader: SourceReader

        def arrived(value: Any) -> None:
            self._held.append((reader, value))
            self._desk.serve()

        def ended(end: End) -> None:
            self._readers.remove(reader)
            if failure(end) is None:
                self._desk.serve()
            else:
                self._desk.stop(end)

        reader = SourceReader(read, arrived, ended, self._desk.turn)
        self._readers.append(reader)
        self._desk.level = level_of(self._readers)

    def _wanted(self) -> bool:
        holding = {reader for reader, _ in self._held} if self._held else ()
        for reader in tuple(self._readers):
            if reader not in holding:
                reader.ask()
                if self._desk.over:
                    return True
        if self._held:
            self._desk.ready.append(self._held.popleft()[1])
        elif self._capped and not self._readers:
            self._desk.finish(True)
        return True

    def _close(self, end: End, confirm: Confirm) -> None:
        self._held.clear()
        readers, self._readers = self._readers, []
        abort_all(readers, end, confirm)


def many(sources: Iterable[PullSource[T]] | None = None) -> Many[T]:
    """Give the values of several sources as they come; without sources, `add` them and `cap` it."""
    return Many(sources)


class _Aligned:
    """A reader that asks every source for one value and goes on when all have answered: merge and zip_sources use it.

    `decide` makes of these values what is given next; a source that has none has ended.
    """

    def __init__(self, reads: list[Read], decide: Callable[[_Aligned], None]) -> None:
        self.desk = Desk(self._wanted, self._close)
        self.heads: list[tuple[Any] | None] = [None] * len(reads)
        self._decide = decide
        self._readers = [
            SourceReader(read, partial(self._arrived, position), self._ended, self.desk.turn)
            for position, read in enumerate(reads)
        ]
        self.desk.level = level_of(self._readers)

    def _wanted(self) -> bool:
        heads, waits = self.heads, False
        for position, reader in enumerate(self._readers):
            if heads[position] is None and reader.end is None:
                reader.ask()
                if self.desk.over:
                    return True
                waits = waits or (heads[position] is None and reader.end is None)
        if not waits:
            self._decide(self)
        return True

    def _arrived(self, position: int, value: Any) -> None:
        self.heads[position] = (value,)
        self.desk.serve()

    def _ended(self, end: End) -> None:
        if failure(end) is None:
            self.desk.serve()
        else:
            self.desk.stop(end)

    def _close(self, end: End, confirm: Confirm) -> None:
        abort_all(self._readers, end, confirm)


def _least(heads: list[tuple[Any] | None], key: Callable[[Any], Any] | None) -> int | None:
    """Return which source has the least value; of equal ones, the first."""
    found: tuple[Any, int] | None = None
    for position, head in enumerate(heads):
        if head is not None:
            rank = head[0] if key is None else key(head[0])
            if found is None or rank < found[0]:
                found = (rank, position)
    return None if found is None else found[1]


def merge(sources: Iterable[PullSource[T]], key: Callable[[T], Any] | None = None) -> PullSource[T]:
    """Give the values of sources that are each in order, in order; of equal ones the earlier source's first."""
    if key is not None:
        function_given("merge", "key", key)

    def give_least(aligned: _Aligned) -> None:
        try:
            least = _least(aligned.heads, key)
        except Exception as error:  # noqa: BLE001  property F5
            aligned.desk.fail(error if key is None else at_fault(error, "merge", key))
            return
        if least is None:
            aligned.desk.finish(True)
            return
        head = aligned.heads[least]
        assert head is not None
        aligned.heads[least] = None
        aligned.desk.give(head[0])  # unless the function for the key has aborted the stream

    return PullSource(_Aligned(_reads("merge", sources), give_least).desk.read, "merge")


class LengthError(PenstockError, ValueError):
    """The error of sources that must be of equal length and are not."""


def zip_sources(
    *sources: PullSource[Any] | Read, strict: bool = False, fill: Any = None
) -> PullSource[tuple[Any, ...]]:
    """Give tuples of one value of each source, up to the end of the longest, with `fill` for those that have ended.

    With `strict` sources of different length are an error.
    """

    def give_all(aligned: _Aligned) -> None:
        heads = aligned.heads
        if None not in heads and heads:
            aligned.heads = [None] * len(heads)
            aligned.desk.ready.append(tuple([head[0] for head in heads]))  # type: ignore[index]
            return
        short = [position for position, head in enumerate(heads) if head is None]
        if len(short) == len(heads):
            aligned.desk.finish(True)
        elif strict and short:
            aligned.desk.stop(LengthError(f"zip_sources: sources {short} ended before the others"))
        else:
            aligned.desk.ready.append(tuple(fill if head is None else head[0] for head in heads))
            aligned.heads = [None] * len(heads)

    return PullSource(_Aligned(_reads("zip_sources", sources), give_all).desk.read, "zip_sources")


__all__ = ["LengthError", "Many", "cat", "many", "merge", "zip_sources"]
