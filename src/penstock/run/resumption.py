"""resumption: how a stream goes on behind a position that it gave, in another run or in another process.

A position is a JSON value, `[p, k]`: open the source behind its position `p`, the beginning if that is None, run the
steps, and leave out their first `k` results. Where each step gives one result for each element, `k` is 0 and nothing
is left out but the elements before, by the source itself. Where a step treats each element alone, `k` counts the
results of the element behind `p`. Where a step remembers (take, scan), only the beginning will do, and `k` counts all.

What is assumed, and what `penstock.testing.check_resumable` holds a stream to: a source that gives the same again gives
it in the same order, and a user's function makes the same of the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

from penstock.engine.runs.again import again_of
from penstock.engine.runs.chain import Chain, cuts
from penstock.engine.weaving.blame import describe
from penstock.errors import PenstockError
from penstock.operators.map import Map
from penstock.operators.resumable import OpenedRun, Resumable, element_of
from penstock.stage import Again, Body, Gives, Stage
from penstock.stream import Stream

T = TypeVar("T")
X = TypeVar("X")  # a static method needs its own variable: the class's is unknown to pyright there

Position = Any
"""A JSON value; None is the beginning."""


class NotResumableError(PenstockError):
    """The error that a stream cannot go on behind a position; `again` is what another run of it gives."""

    def __init__(self, message: str, again: Again) -> None:
        super().__init__(message)
        self.again = again

    def __reduce__(self) -> tuple[type[NotResumableError], tuple[str, Again]]:
        return (type(self), (str(self), self.again))


class Reckoning(Enum):
    """The ways in which a position is known."""

    TOLD = "the source tells the position of each element"
    COUNTED = "its elements are counted, and those before are left out at the source"
    REPLAYED = "its results are counted, and those before are made again and left out"


@dataclass(frozen=True, slots=True)
class Resumption(Generic[T]):
    """A stream that can go on behind any position it gave; made by `Resumption.of`.

    >>> words = Resumption.of(Stream.just("a", "b", "c").filter(lambda word: word != "b"))
    >>> [(position, word) for position, word in words.open()]
    [([None, 1], 'a'), ([None, 2], 'c')]
    >>> [word for position, word in words.open([None, 1])]
    ['c']
    """

    stream: Stream[T]
    way: Reckoning

    @staticmethod
    def of(stream: Stream[X]) -> Resumption[X]:
        """Find out how a stream resumes, or raise NotResumableError with the reason."""
        if not isinstance(stream, Stream):
            raise TypeError(f"Resumption.of: stream must be a Stream, got {stream!r}")
        return Resumption(stream, _reckoning(stream._chain))

    @property
    def counts(self) -> bool:
        """Tell whether positions are known by counting elements, so that `elements` is all there is to it."""
        return self.way is not Reckoning.TOLD

    def position(self, count: int) -> Position:
        """Return the position behind so many elements, where they are counted.

        Args:
            count: How many elements.
        """
        return [count, 0] if self.way is Reckoning.COUNTED else [None, count]

    def count(self, position: Position | None) -> int:
        """Return how many elements there are before a position, where they are counted."""
        at, skip = _checked(position)
        if at is None:
            return skip
        if self.way is Reckoning.REPLAYED or type(at) is not int:
            raise ValueError(f"resume: {position!r} is no position of {self.stream!r}, whose results are counted")
        return at + skip

    def begun(self) -> OpenedRun | None:
        """Return what a run is told of and closed by, for a caller that does both; None if its source wants neither."""
        source = self.stream._chain.source
        return OpenedRun(source) if isinstance(source, Resumable) else None

    def elements(self, after: Position | None = None, run: OpenedRun | None = None) -> Stream[T]:
        """Return what follows a position, where elements are counted; positions are left to the caller.

        Args:
            after: The position.
            run: What the caller tells what is done, and closes; without it that is closed behind the elements.
        """
        chain, count = self.stream._chain, self.count(after)
        if self.way is Reckoning.REPLAYED:
            return Stream(chain.then(_Past(count)) if count else chain)
        source = chain.source
        if isinstance(source, Resumable) and source.counted:
            return Stream(Chain(source.opened(count, run).source, chain.steps, chain.places))
        length = source.length()
        if length is not None and length < count:
            raise _behind_the_end(count, count - length)
        later = source.after(count) if count else source
        if later is not None:
            return Stream(Chain(later, chain.steps, chain.places))
        return Stream(Chain(source, (_Past(count), *chain.steps)))

    def open(self, after: Position | None = None, run: OpenedRun | None = None) -> Stream[tuple[Position, T]]:
        """Return what follows a position, each element with its own; None is the beginning.

        Args:
            after: The position.
            run: What the caller tells what is done, and closes; without it that is closed behind the elements.
        """
        if self.counts:
            first, position = self.count(after) + 1, self.position
            return self.elements(after, run).enumerate(first).map(lambda pair: (position(pair[0]), pair[1]))
        at, skip = _checked(after)
        return Stream.defer(lambda: self._told(at, skip, run))

    def _told(self, at: Position | None, skip: int, run: OpenedRun | None) -> Stream[tuple[Position, T]]:
        chain = self.stream._chain
        source = chain.source
        assert isinstance(source, Resumable)
        cursor = _Cursor(at, exact=all(step.gives is Gives.ONE for step in chain.steps))
        opened = source.opened(at, run)
        pairs: Stream[Any] = Stream(opened)
        if source.counted:
            pairs = pairs.enumerate((at or 0) + 1)
        for step in (Map(cursor.enter), *chain.steps, Map(cursor.leave)):
            pairs = pairs.apply(step)
        return pairs.apply(_Past(skip)) if skip else pairs

    def commit(self, position: Position, run: OpenedRun | None = None) -> None:
        """Tell the source that what comes before a position will not be asked for again.

        Args:
            position: The position.
            run: The run that is told, where a run has its own connection.
        """
        at, _ = _checked(position)
        told = run or self.begun()
        if told is not None and at is not None and position != [0, 0]:
            told.commit(at)

    @property
    def commits(self) -> bool:
        """Tell whether the source wants to be told."""
        source = self.stream._chain.source
        return isinstance(source, Resumable) and (source.commit is not None or source.opens)


@dataclass(frozen=True, slots=True)
class _Past(Stage[Any, Any]):
    """Leave out the first elements, and refuse a stream that has fewer."""

    count: int
    loop: ClassVar[Body] = Body(
        "if {left}:\n    {left} -= 1\n    skip",
        state=(("left", "{count}"),),
        lacks="{left} + 1",
        tail="{ended}({left})",
    )

    def ended(self, left: int) -> tuple[()]:
        """Give nothing more, or fail."""
        if left:
            raise _behind_the_end(self.count, left)
        return ()


def _behind_the_end(count: int, left: int) -> ValueError:
    return ValueError(f"resume: the position is behind {count} elements, and the stream has {count - left} now")


class _Cursor:
    """The place of one run in its source: behind which position it reads, and how many results came since."""

    def __init__(self, at: Position | None, *, exact: bool) -> None:
        self._before = self._at = at
        self._results = 0
        self._exact = exact

    def enter(self, pair: Any) -> Any:
        """Note the position of an element that the steps are about to see."""
        element = element_of(pair)
        self._before, self._at, self._results = self._at, pair[0], 0
        return element

    def leave(self, result: Any) -> tuple[Position, Any]:
        """Give a result of that element its position."""
        if self._exact:
            return [self._at, 0], result
        self._results += 1
        return [self._before, self._results], result


def _reckoning(chain: Chain) -> Reckoning:
    source = chain.source
    one = all(step.gives is Gives.ONE for step in chain.steps)
    if isinstance(source, Resumable):
        if source.counted and one and all(step.steady for step in chain.steps):
            return Reckoning.COUNTED
        seen = next((step for step in chain.steps if not isinstance(step, Stage) or step.gives is Gives.ANY), None)
        if seen is None and _of_one_piece(chain):
            return Reckoning.TOLD
        if source.commit is not None or source.opens:
            step = "so many steps" if seen is None else describe(seen)
            raise NotResumableError(
                f"{Stream(chain)!r} cannot go on behind a position: {step} may need elements from before, which are"
                " committed and gone; put it into a @flow behind the source, or do its work in open_from",
                Again.UNSAID,
            )
    again, reason = again_of(chain)
    if again is Again.SAME:
        return Reckoning.COUNTED if one else Reckoning.REPLAYED
    words = "gives what comes from then on" if again is Again.LATER else "may give something else"
    raise NotResumableError(f"{Stream(chain)!r} cannot go on behind a position: {reason} {words} in another run", again)


def _of_one_piece(chain: Chain) -> bool:
    """Tell whether the steps run as one loop, which has done with an element before it sees the next."""
    stages: Any = (_PASS, *chain.steps, _PASS)
    return len(cuts(stages)) == 1


def _checked(position: Position | None) -> tuple[Position | None, int]:
    if position is None:
        return None, 0
    if isinstance(position, list | tuple) and len(position) == 2:
        at, skip = position
        if type(skip) is int and skip >= 0:
            return at, skip
    raise ValueError(f"resume: a position is a pair [position of the source, count], got {position!r:.100}")


def _same(element: Any) -> Any:
    return element


_PASS: Map[Any, Any] = Map(_same)

__all__ = ["NotResumableError", "Position", "Reckoning", "Resumption"]
