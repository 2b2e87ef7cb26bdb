"""deferred: modules that stand in for others until those are known: defer_source, defer_through, defer_sink, cont."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from penstock.pull.ground.marks import LATER, OVER, Later
from penstock.pull.ground.plain import AnswerOnce
from penstock.pull.ground.protocol import (
    Abort,
    Answer,
    End,
    PullError,
    Read,
    answer_given,
    asks,
    at_fault,
    cause,
    give,
    raised,
    read_raised,
    unheard,
    worst,
)
from penstock.pull.ground.steps import Fused
from penstock.pull.ground.turn import Line
from penstock.pull.module import PullSink, PullSource, PullThrough, composed, read_of

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


class Deferred:
    """A queue of requests until there is a source; an abort meanwhile ends it, and the source when it comes."""

    __slots__ = ("_closing", "_end", "_line", "_on_ask", "_target", "_waiting", "upstream")

    def __init__(self, on_ask: Callable[[], object] | None = None) -> None:
        self.upstream: Read | None = None
        """What is aborted if the end comes first."""
        self._line = Line()
        self._waiting: deque[Answer] = deque()
        self._target: Fused | None = None
        self._end: End | None = None
        self._closing = False
        self._on_ask = on_ask
        """What the first ask calls."""

    @property
    def end(self) -> End | None:
        """How it ended."""
        return self._end if self._target is None else self._target.end

    @property
    def level(self) -> int:
        """How many modules of this package stand above it in a row, since the last landing."""
        return 0 if self._target is None else self._target.level

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for a value, or abort."""
        if answer is None and asks(abort):
            answer_given(answer)
        if self._target is not None:
            self._target.read(abort, answer)
        else:
            self._line.run(self._request, abort, answer)

    def at_once(self, later: Later) -> Any:
        """Return the next value, OVER, or LATER."""
        if self._target is not None:
            return self._target.at_once(later)
        if self._end is not None and not self._closing:
            return OVER
        self.read(None, later())
        return LATER

    def resolve(self, read: Read) -> None:
        """Say which source it is."""
        self._line.run(self._resolved, read)

    def _request(self, abort: Abort, answer: Answer | None) -> None:
        if self._target is not None:
            self._target.read(abort, answer)
            return
        if self._end is not None and not self._closing:
            if answer is not None:
                give(answer, self._end)
            return
        if answer is not None:
            self._waiting.append(answer)
        if self._end is None and not asks(abort):
            self._stop(cause(abort))
        elif asks(abort) and self._on_ask is not None:
            on_ask, self._on_ask = self._on_ask, None
            on_ask()

    def stop(self, end: End) -> None:
        """End before there is a source."""
        self._line.run(self._stop, end)

    def _stop(self, end: End) -> None:
        if self._end is not None or self._target is not None:
            return
        self._end = end
        if self.upstream is None:
            self._settle()
            return
        self._closing = True
        try:
            self.upstream(end, partial(self._line.run, self._closed))
        except Exception as error:  # noqa: BLE001  property F10
            self._closed(raised(error))

    def _closed(self, end: bool | Exception | None, value: Any = None, /) -> None:
        if self._closing:
            self._closing = False
            self._end = worst(self._end, end)
            self._settle()

    def _resolved(self, read: Read) -> None:
        if self._end is None:
            self._target = target = Fused(read, ())
            target.adopt(self._waiting)
            return
        try:
            read(self._end, AnswerOnce(unheard(self._end)))
        except Exception as error:  # noqa: BLE001  property F10
            read_raised(error)

    def _settle(self) -> None:
        while self._waiting:
            give(self._waiting.popleft(), self._end)


class DeferredSource(PullSource[T]):
    """A source that is known later: requests wait for it, in order; an abort meanwhile ends it."""

    __slots__ = ("_deferred", "_resolved")

    def __init__(self, name: str = "defer_source") -> None:
        self._deferred = Deferred()
        super().__init__(self._deferred.read, name)
        self._resolved = False

    def resolve(self, source: PullSource[T] | Read) -> None:
        """Say which source it is; what was asked for meanwhile is asked of it."""
        if self._resolved:
            raise PullError("B15", f"{self.name} is resolved already")
        read = read_of(self.name, source)
        self._resolved = True
        self._deferred.resolve(read)

    def abort(self, error: Exception | None = None) -> None:
        """End, if there is no source yet; abort the source if there is."""
        end: End = error if error is not None else True
        self._deferred.read(end, unheard(end))


def defer_source() -> DeferredSource[Any]:
    """Make a source that is known later: `resolve(source)`."""
    return DeferredSource()


class DeferredThrough(PullThrough[A, B]):
    """A through that is known later; nothing is read before. Wired once."""

    __slots__ = ("_deferred", "_module", "_wired")

    def __init__(self) -> None:
        super().__init__(self._wire, name="defer_through")
        self._deferred = Deferred()
        self._module: Any = None
        self._wired = False

    def _wire(self, read: Read) -> Read:
        if self._wired:
            raise PullError("B15", "defer_through reads from a source already; make one for each pipeline")
        self._wired = True
        self._deferred.upstream = read
        if self._module is not None:
            self._apply()
        return self._deferred.read

    def resolve(self, through: PullThrough[A, B] | Callable[[Read], Any]) -> None:
        """Say which through it is; what was asked for meanwhile is asked of it."""
        if self._module is not None:
            raise PullError("B15", "defer_through is resolved already")
        if isinstance(through, PullSource | PullSink) or not (callable(through) or hasattr(through, "source")):
            raise TypeError(f"defer_through: through must be a through, got {through!r}")
        self._module = through
        if self._wired:
            self._apply()

    def abort(self, error: Exception | None = None) -> None:
        """End, whether the through is known or not; upstream is aborted."""
        end: End = error if error is not None else True
        self._deferred.read(end, unheard(end))

    def _apply(self) -> None:
        upstream = self._deferred.upstream
        assert upstream is not None
        if self._deferred.end is not None:
            return  # upstream was aborted, and needs no reader
        made = composed(PullSource(upstream, "defer_through"), self._module)
        self._deferred.resolve(read_of("defer_through", getattr(made, "source", made)))


def defer_through() -> DeferredThrough[Any, Any]:
    """Make a through that is known later: `resolve(through)`.

    >>> from penstock import pull
    >>> later = pull.defer_through()
    >>> found = pull.pull(pull.count(2), later, pull.collect())
    >>> later.resolve(pull.map(str))
    >>> found.get()
    ['0', '1', '2']
    """
    return DeferredThrough()


class DeferredSink(PullSink[T, None]):
    """A sink that is known later; nothing is read before. Wired once."""

    __slots__ = ("_end", "_sink", "_source")

    def __init__(self) -> None:
        super().__init__(self._begin, "defer_sink")
        self._source: Read | None = None
        self._sink: Any = None
        self._end: End | None = None

    def _begin(self, read: Read) -> None:
        if self._source is not None:
            raise PullError("B15", "defer_sink reads from a source already; a sink is wired once")
        self._source = read
        self._go()

    def resolve(self, sink: PullSink[T, Any] | Callable[[Read], Any]) -> None:
        """Say which sink it is, which then reads."""
        if self._sink is not None:
            raise PullError("B15", "defer_sink is resolved already")
        if isinstance(sink, PullSource | PullThrough) or not callable(sink):
            raise TypeError(f"defer_sink: sink must be a sink, got {sink!r}")
        self._sink = sink
        self._go()

    def abort(self, error: Exception | None = None) -> None:
        """Abort the source, if the sink is not known yet; a sink that comes then reads the end."""
        if self._end is None and (self._sink is None or self._source is None):
            self._end = error if error is not None else True
            if self._source is not None:
                self._source(self._end, AnswerOnce(unheard(self._end)))

    def _go(self) -> None:
        if self._source is None:
            return
        if self._sink is None:
            if self._end is not None:
                self._source(self._end, AnswerOnce(unheard(self._end)))
            return
        source: PullSource[Any] = PullSource(self._source, "defer_sink")
        self._sink(source) if isinstance(self._sink, PullSink) else composed(source, self._sink)


def defer_sink() -> DeferredSink[Any]:
    """Make a sink that is known later: `resolve(sink)`; nothing is read before.

    >>> from penstock import pull
    >>> later = pull.defer_sink()
    >>> pull.pull(pull.count(2), later)
    >>> later.resolve(pull.collect(lambda error, found: print(found)))
    [0, 1, 2]
    """
    return DeferredSink()


def cont(start: Awaitable[PullSource[T]] | Callable[..., Any]) -> PullSource[T]:
    """Make a source of one that is on its way: of an awaitable of it, or of a function that finds it.

    Such a function is called at the first ask. It returns an awaitable, or takes a function that is called once with
    an error or None, and the source. What is awaited is awaited on the running event loop.

    >>> from penstock import pull
    >>> pull.cont(lambda found: found(None, pull.count(2))) | pull.collect(lambda error, values: print(values))
    [0, 1, 2]
    """
    if not callable(start) and not inspect.isawaitable(start):
        raise TypeError(f"cont: start must be an awaitable or a function, got {start!r}")

    def found(error: Exception | None = None, source: Any = None) -> None:
        if error is None:
            try:
                deferred.resolve(read_of("cont", source))
            except Exception as wrong:  # noqa: BLE001  it is the end
                error = wrong
        if error is not None:
            deferred.stop(error)

    def begin() -> None:
        given: Any = start
        once = _Found(found)
        try:
            if not callable(given):
                once.awaits(given)
            elif inspect.iscoroutinefunction(given) or not _takes_one(given):
                once.awaits(given())
            else:
                given(once)
        except Exception as error:  # noqa: BLE001  property F5
            once(at_fault(error, "cont", start))

    deferred = Deferred(begin)
    return PullSource(deferred.read, "cont")


class _Found:
    """The function that is told the source, once."""

    __slots__ = ("_told", "_waits")

    def __init__(self, told: Callable[..., object]) -> None:
        self._told = told
        self._waits = True

    def __call__(self, error: Exception | None = None, source: Any = None) -> None:
        if self._waits:
            self._waits = False
            self._told(error, source)

    def awaits(self, source: Any) -> None:
        import asyncio  # noqa: PLC0415  only programs that use it pay for it

        async def wait() -> Any:
            return await source

        def ended(task: asyncio.Task[Any]) -> None:
            if task.cancelled():
                self(RuntimeError("cont: the work under way was cancelled"))
            elif (error := task.exception()) is not None:
                self(error if isinstance(error, Exception) else RuntimeError(f"cont: it was ended by {error!r}"))
            else:
                self(None, task.result())

        waiting = wait()
        try:
            task = asyncio.get_running_loop().create_task(waiting)
        except RuntimeError:
            waiting.close()
            raise RuntimeError("cont: it must be read on a running event loop") from None
        task.add_done_callback(ended)


def _takes_one(fn: Callable[..., Any]) -> bool:
    try:
        inspect.signature(fn).bind(None)
    except ValueError:
        return True  # some builtins tell no signature
    except TypeError:
        return False
    return True


__all__ = [
    "Deferred", "DeferredSink", "DeferredSource", "DeferredThrough", "cont", "defer_sink", "defer_source",
    "defer_through",
]  # fmt: skip
