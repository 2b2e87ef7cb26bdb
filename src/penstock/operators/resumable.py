"""resumable: emit what a function opens from a position, so that a restart goes on where it was.

Group: make a stream
Marble: Stream.resumable(lambda n: range(n, 4), counted=True)
Choose: I have ... and want a stream of it / something that opens from any position, for restarts
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar

from penstock.engine.grounds.cold_paths import left_alone, nobody
from penstock.engine.grounds.outlet import accepts
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
UNCOMMITTED = 10_000
"""How many elements of a source may be uncommitted at a time, unless it says another number."""


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


class OpenedRun:
    """One run of a resumable source: what it has opened, if that was connected, and who is told what is done."""

    def __init__(self, source: Resumable[Any]) -> None:
        self._source = source
        self._opened: list[Opened[Any]] = []
        self._lock = Lock()
        self._open = True

    def opened(self, given: Opened[Any]) -> None:
        """Take what was opened; the one before, whose elements have ended, is told no more."""
        with self._lock:
            before, self._opened = self._opened, [given]
            to_close = before if self._open else [given]
        for each in to_close:
            _closed(each)

    def commit(self, position: Any) -> None:
        """Tell the source that everything up to a position is done."""
        tell = next((each.commit for each in self._opened), self._source.commit)
        if tell is not None:
            tell(position)

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

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Open it from the beginning and leave the positions out."""
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


class _ClosingRun(Part):
    """A run that closes what was opened behind its elements, which pass as if it were not there."""

    def __init__(self, downstream: Subscriber[Any], opened: Opened[Any]) -> None:
        self.height = height_of(downstream) + 1
        self.on_next: Callable[[Any], None] = downstream.on_next
        self.on_chunk = chunks_of(downstream)
        self._downstream: Subscriber[Any] | None = downstream
        self._opened = [opened]
        self._upstream: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if accepts(subscription, self._upstream) and self._downstream is not None:
            self._upstream = subscription
            self._downstream.on_subscribe(self)

    def on_error(self, error: Exception, /) -> None:
        downstream = self._close()
        if downstream is not None:
            downstream.on_error(error)

    def on_complete(self) -> None:
        downstream = self._close()
        if downstream is not None:
            downstream.on_complete()

    def gone(self) -> None:
        """Be told that nothing will be signalled any more."""
        left_alone(self._close())

    def request(self, n: int, /) -> None:
        assert self._upstream is not None
        self._upstream.request(n)

    def cancel(self) -> None:
        assert self._upstream is not None
        self._upstream.cancel()
        self._close()

    def _close(self) -> Subscriber[Any] | None:
        """Close what was opened, and forget the subscriber (rule 3.13)."""
        downstream, self._downstream, self.on_next, self.on_chunk = self._downstream, None, nobody, None
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

    def _all(self, pairs: list[Any], /) -> None:
        found = [pair[1] for pair in pairs if type(pair) is tuple and len(pair) == 2 and pair[0] is not None]
        if len(found) == len(pairs) and not any(element is None for element in found):
            assert self._deliver_all is not None
            self._deliver_all(found)
        else:
            for pair in pairs:  # those before the one that is no pair come first
                self.on_next(pair)

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
