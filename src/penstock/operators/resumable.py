"""resumable: emit what a function opens from a position, so that a restart goes on where it was.

Group: make a stream
Marble: Stream.resumable(lambda n: range(n, 4), counted=True)
Choose: I have ... and want a stream of it / something that opens from any position, for restarts
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from threading import Lock
from typing import Any, Generic, TypeVar, overload

from penstock.engine.grounds.bystander import Bystander
from penstock.engine.grounds.cold_paths import left_alone
from penstock.engine.grounds.outlet import accepts
from penstock.engine.places.telling import hidden_here
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import connect_to
from penstock.engine.runs.wiring import connect, refuse
from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.arguments import count_given, function_given
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.spec.interfaces import Publisher, Subscriber, Subscription
from penstock.stage import Again, Source

T = TypeVar("T")
P = TypeVar("P")
UNCOMMITTED = 10_000
"""How many elements of a source may be uncommitted at a time, unless it says another number."""


@dataclass(frozen=True, slots=True)
class MadeWhenRead(Sequence[T]):
    """Elements that are made of items, each when it is read, so that it need not outlive what becomes of it."""

    make: Callable[[Any], T]
    items: Sequence[Any]
    make_each: Callable[[Iterable[Any]], Iterator[T]] | None = None
    """Does the same for many items in less time, still each when it is read; a generator function for one."""

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return self.made_of(self.items)

    def made_of(self, items: Iterable[Any]) -> Iterator[T]:
        """Return the elements of items, which are read one by one."""
        return map(self.make, items) if self.make_each is None else self.make_each(items)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> MadeWhenRead[T]: ...
    def __getitem__(self, at: int | slice) -> T | MadeWhenRead[T]:
        if isinstance(at, slice):
            return MadeWhenRead(self.make, self.items[at], self.make_each)
        return self.make(self.items[at])


@dataclass(frozen=True, slots=True)
class Positioned(Sequence[tuple[P, T]], Generic[P, T]):
    """Elements with their positions beside them: the same as pairs (position, element), without making the pairs.

    Positions may be computed when they are asked for, as those of a `range` are. Neither may change afterwards.

    >>> list(Positioned("abc", range(1, 4)))
    [(1, 'a'), (2, 'b'), (3, 'c')]
    """

    elements: Sequence[T]
    positions: Sequence[P]
    """For each element the position that says: all up to this one is done."""

    def __post_init__(self) -> None:
        if len(self.elements) != len(self.positions):
            raise ValueError(
                f"Positioned: each element has one position, got {len(self.elements)} elements and "
                f"{len(self.positions)} positions"
            )

    def __len__(self) -> int:
        return len(self.elements)

    def __iter__(self) -> Iterator[tuple[P, T]]:
        return zip(self.positions, self.elements, strict=True)

    @overload
    def __getitem__(self, at: int) -> tuple[P, T]: ...
    @overload
    def __getitem__(self, at: slice) -> Positioned[P, T]: ...
    def __getitem__(self, at: int | slice) -> tuple[P, T] | Positioned[P, T]:
        if isinstance(at, slice):
            return Positioned(self.elements[at], self.positions[at])
        return self.positions[at], self.elements[at]


class _Firsts(Sequence[Any]):
    """The positions of pairs, which are looked up when they are asked for."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Sequence[Any]) -> None:
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, at: Any) -> Any:
        return [pair[0] for pair in self._pairs[at]] if isinstance(at, slice) else self._pairs[at][0]

    def __iter__(self) -> Iterator[Any]:
        return map(itemgetter(0), self._pairs)


def positioned(pairs: Sequence[Any]) -> Positioned[Any, Any] | None:
    """Return pairs as elements and positions, copied, since the source goes on; None if one of them is no such pair."""
    if type(pairs) is Positioned:
        return pairs
    pairs = list(pairs)
    if {*map(type, pairs)} != {tuple}:
        return None
    try:
        elements = [element for position, element in pairs if position is not None and element is not None]
    except ValueError:  # there are tuples of another length
        return None
    return Positioned(elements, _Firsts(pairs)) if len(elements) == len(pairs) else None


def made(pairs: Sequence[Any], *, bare: bool = False) -> Positioned[Any, Any] | None:
    """Return the same as lists; None also if one is None, or cannot be had. `bare` elements go on without positions."""
    try:
        found = positioned(pairs)
        if found is None:
            return None
        elements, positions = list(found.elements), found.positions if bare else list(found.positions)
    except Exception:  # noqa: BLE001  it is raised again behind those before
        return None
    kinds = {*map(type, elements), *map(type, () if bare else positions)}
    return None if type(None) in kinds else Positioned(elements, positions)


def each(pairs: Sequence[Any], take: Callable[[Any], None], fail: Callable[[Exception], None]) -> None:
    """Hand on one pair after the other, and after those the error of one that cannot be had."""
    rest = iter(pairs)
    while True:
        try:
            pair = next(rest)
        except StopIteration:
            return None
        except Exception as error:  # noqa: BLE001  rule 1.4: not that of the subscriber
            return fail(error)
        take(pair)


@dataclass(frozen=True, slots=True)
class Opened(Generic[T]):
    """What `open_from` may return in the place of elements, where one connection gives them and is told what is done.

    Who opened it closes it, once, when the elements have ended or were cancelled and no commit will follow.
    """

    elements: Publisher[T] | Iterable[T] | AsyncIterable[T]
    """What follows the position."""
    commit: Callable[[Any], object] | None = None
    """Takes note that everything up to a position is done; called in order, from any thread, and does not wait."""
    close: Callable[[], object] | None = None
    """Lets go of the connection, behind the last commit; called once, from any thread, and does not wait."""
    wait: Callable[[], object] | None = None
    """Blocks until it is closed, and raises what a commit failed with that was told after the elements had ended."""
    reaches: Callable[[int], object] | None = None
    """Is told, before a commit, how many of the elements there are up to its position; called as that is."""
    cede: Callable[[], Callable[[], Any]] | None = None
    """Leaves it to a sink to tell what is done, together with what it writes; gives what returns the connection."""


class OpenedRun:
    """One run of a resumable source: what it has opened, if that was connected, and who is told what is done."""

    def __init__(self, source: Resumable[Any]) -> None:
        self._source = source
        self._opened: list[Opened[Any]] = []
        self._lock = Lock()
        self._open = True
        self._ceded = False
        self._reader: Callable[[], Any] | None = None

    def opened(self, given: Opened[Any]) -> None:
        """Take what was opened; the one before, whose elements have ended, is told no more."""
        if self._ceded and given.cede is not None:
            self._reader = given.cede()
        with self._lock:
            before, self._opened = self._opened, [given]
            to_close = before if self._open else [given]
        for each in to_close:
            _closed(each)

    def commit(self, position: Any, count: int | None = None) -> None:
        """Tell the source that everything up to a position is done, which may be known to be so many elements."""
        opened = next(iter(self._opened), None)
        tell = self._source.commit if opened is None else opened.commit
        if tell is None or self._ceded:
            return
        if opened is not None and opened.reaches is not None and count is not None:
            opened.reaches(count)
        tell(position)

    def cede(self) -> None:
        """Leave it to a sink to tell what is done; before anything is opened."""
        self._ceded = True

    def reader(self) -> Any:
        """Return the connection that a sink tells what is done, None where there is none to be had."""
        return None if self._reader is None else self._reader()

    def close(self) -> None:
        """Let go of the connection, behind the last commit; does not wait."""
        with self._lock:
            to_close, self._open = self._opened if self._open else [], False
        for each in to_close:
            _closed(each)

    def wait(self) -> None:
        """Block until it is closed, and raise what the last commit failed with."""
        for each in self._opened:
            if each.wait is not None:
                each.wait()


def _closed(given: Opened[Any]) -> None:
    if given.close is not None:
        try:
            given.close()
        except Exception as error:  # noqa: BLE001  the end has been decided already
            drop("resumable: close raised", error)


@dataclass(frozen=True, slots=True)
class Resumable(Source[T]):
    """Emit the elements that `open_from` gives from the beginning; who resumes opens it behind a position instead.

    Emits when what was opened does. Backpressures when downstream does. Completes when what was opened completes; fails
    if the function raises. Cancels what was opened.
    """

    open_from: Callable[[Any], Any]
    commit: Callable[[Any], object] | None = None
    counted: bool = False
    opens: bool = False
    """Whether `open_from` returns an `Opened`, which is told what is done."""
    window: int = UNCOMMITTED
    """How many elements of a run that commits may not be done at a time."""
    notes: bool = True
    """Whether an `Opened` takes note of what it is told; if not, a stream that tells it nothing loses nothing."""

    def __post_init__(self) -> None:
        function_given("resumable", "open_from", self.open_from)
        if self.commit is not None:
            function_given("resumable", "commit", self.commit)
            if self.opens:
                raise TypeError("resumable: with opens=True the Opened has the commit, and none can be given besides")
        count_given("resumable", "window", self.window, 1)

    @property
    def again(self) -> Again:
        """Give the same again; where commits are told, what was committed may be gone."""
        return Again.SAME if self.commit is None and not self.opens else Again.UNSAID

    def opened(self, after: Any, opening: OpenedRun | None = None) -> Chain:
        """Return what follows a position, None being the beginning: pairs of a position and an element, or elements.

        With an `opening` the caller tells what is done, and closes it; without one it is closed behind the elements.
        """
        return Chain(_Elements(self, (after or 0) if self.counted else after, opening))

    @property
    def takes_note(self) -> bool:
        """Tell whether anything happens when it is told what is done."""
        return self.commit is not None or (self.opens and self.notes)

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Open it from the beginning and leave the positions out."""
        hidden = hidden_here(self) if self.takes_note else None
        if hidden is not None:
            refuse(downstream, hidden)
            return
        connect(self.opened(None), downstream if self.counted else _BareRun(self, downstream))


@dataclass(frozen=True, slots=True)
class _Elements(Source[Any]):
    """What follows a position."""

    source: Resumable[Any]
    after: Any
    opening: OpenedRun | None = field(default=None, compare=False, repr=False)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        try:
            given: Any = self.source.open_from(self.after)
            if isinstance(given, Opened) is not self.source.opens:
                if isinstance(given, Opened):
                    _closed(given)
                word = "an" if self.source.opens else "no"
                raise TypeError(
                    f"resumable: open_from must return {word} Opened, got {given!r:.100}; say opens=True if it does"
                )
            if isinstance(given, Opened):
                if self.opening is None:
                    downstream = _ClosingRun(downstream, given)
                else:
                    self.opening.opened(given)
                given = given.elements
            connect_to("resumable", given, downstream)
        except Exception as error:  # noqa: BLE001  rule 1.9: a failure is signalled, never raised
            refuse(downstream, blamed(error, self.source, self.source.open_from))


class _ClosingRun(Bystander):
    """A run that closes what was opened behind its elements."""

    def __init__(self, downstream: Subscriber[Any], opened: Opened[Any]) -> None:
        super().__init__(downstream, 1)
        self._opened = [opened]

    def _over(self, error: BaseException | None, *, whole: bool) -> Subscriber[Any] | None:
        downstream = super()._over(error, whole=whole)
        while self._opened:
            _closed(self._opened.pop())
        return downstream


def element_of(pair: Any) -> Any:
    """Return the element of a pair, and refuse what is none."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"resumable: open_from must give pairs (position, element), got {pair!r:.100}")
    if pair[0] is None:
        raise TypeError(f"resumable: None is the beginning and no position, got {pair!r:.100}")
    return pair[1]


class _BareRun(Part):
    """A run that leaves the positions out, of many elements at a time where that is possible."""

    def __init__(self, source: Resumable[Any], downstream: Subscriber[Any]) -> None:
        self.height = height_of(downstream) + 1
        self._source = source
        self._downstream = downstream
        self._deliver_all = chunks_of(downstream)
        self._upstream: Subscription | None = None
        self._over = False
        self.on_chunk = None if self._deliver_all is None else self._all

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if accepts(subscription, self._upstream):
            self._upstream = subscription
            self._downstream.on_subscribe(subscription)

    def on_next(self, pair: Any, /) -> None:
        if self._over:
            return  # rule 2.8
        try:
            element = element_of(pair)
            if element is None:
                raise no_element()
        except TypeError as error:
            self._refuse(blamed(error, self._source, self._source.open_from))
        else:
            self._downstream.on_next(element)

    def _all(self, pairs: Sequence[Any], /) -> None:
        found = made(pairs, bare=True)
        if found is not None:
            assert self._deliver_all is not None
            self._deliver_all(found.elements)  # type: ignore[arg-type]
        else:
            each(pairs, self.on_next, lambda error: self._refuse(blamed(error, self._source, self._source.open_from)))

    def _refuse(self, error: Exception) -> None:
        self._over = True
        assert self._upstream is not None
        self._upstream.cancel()
        self._downstream.on_error(error)

    def on_error(self, error: Exception, /) -> None:
        if not self._over:
            self._downstream.on_error(error)

    def on_complete(self) -> None:
        if not self._over:
            self._downstream.on_complete()

    def gone(self) -> None:
        """Be told that nothing will be signalled any more."""
        left_alone(self._downstream)
