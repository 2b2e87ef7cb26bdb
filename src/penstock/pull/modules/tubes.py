"""tubes: pair, a sink whose values its source gives; notify, which gives each value to all who listen."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from penstock.pull.module import Duplex, PullSink, PullSource, PullThrough
from penstock.pull.modules.deferred import DeferredSource
from penstock.pull.modules.pushable import Pushable

B = TypeVar("B")
R = TypeVar("R")
T = TypeVar("T")


class Pair(Generic[T]):
    """A tube: what its sink reads, its source gives, one value for one ask."""

    __slots__ = ("sink", "source")

    def __init__(self) -> None:
        tube: DeferredSource[T] = DeferredSource("pair")
        self.source: PullSource[T] = tube
        self.sink: PullSink[T, None] = PullSink(tube.resolve, "pair", takes_source=True)

    @overload
    def __or__(self, module: PullThrough[T, B]) -> PullSource[B]: ...
    @overload
    def __or__(self, module: PullSink[T, R]) -> R: ...
    @overload
    def __or__(self, module: Duplex[T, B]) -> PullSource[B]: ...
    def __or__(self, module: Any) -> Any:
        return self.source | module


def pair() -> Pair[Any]:
    """Make a tube with a `sink` and a `source`; nothing is read before the source is."""
    return Pair()


class Notify(Generic[T]):
    """A source of values for every listener; each listener has its own buffer, without bound."""

    __slots__ = ("_end", "_listeners")

    def __init__(self) -> None:
        self._listeners: list[Pushable[T]] = []
        self._end: tuple[Exception | None] | None = None

    def __call__(self, value: T) -> None:
        """Give a value to all who listen now."""
        for listener in list(self._listeners):
            listener.push(value)

    def listen(self) -> Pushable[T]:
        """Return a source of what comes from now on; aborting it ends the listening."""
        listener: Pushable[T]

        def gone(_: Exception | None) -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        listener = Pushable(gone)
        self._listeners.append(listener)
        if self._end is not None:  # looked at last: the end may come from another thread meanwhile
            gone(None)
            listener.end(self._end[0])
        return listener

    def end(self, error: Exception | None = None) -> None:
        """End all listeners, after what they have not read yet."""
        self._end = (error,)
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.end(error)

    def abort(self, error: Exception | None = None) -> None:
        """End all listeners at once."""
        self._end = (error,)
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.abort(error)

    @property
    def listeners(self) -> int:
        """Return how many listen."""
        return len(self._listeners)


def notify() -> Notify[Any]:
    """Make a function that gives each value to all who `listen()`."""
    return Notify()


__all__ = ["Notify", "Pair", "notify", "pair"]
