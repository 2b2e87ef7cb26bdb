"""pouring: the end of a pipeline that hands its elements to another library and says how many there were.

A basin is what one run pours into. `put` takes an element and tells whether the other side wants more; if it does not,
that is a cancel which comes from below, and the pipeline ends well with what was taken. `end` is told how the stream
ended. `left` is called once at the very end, however that came, also by a cancel; then it comes from any thread and
perhaps while `put` is under way, which it must not wait for.

A task asks for one element at a time, and for the next one when that has been taken. A thread has up to AHEAD elements
waiting for it, so that not every one of them has to wake it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from penstock.engine.grounds.outlet import Outlet, accepts, element_or_raise
from penstock.engine.grounds.relay import Relay
from penstock.engine.places.event_loops import AnyLoop, Future, Task, lease_loop
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import Items
from penstock.engine.runs.wiring import connect
from penstock.engine.words.demand import add
from penstock.engine.words.dropped import drop
from penstock.engine.words.signals import Completed, Failed, Next, Signal
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Joint, Results

T = TypeVar("T")
AHEAD = 16
"""How many elements wait for the thread of a basin that may make it wait."""
THREAD_NAME = "penstock-sink"


class Basin(Protocol):
    """A taker of elements, one at a time, on a thread that may wait."""

    def put(self, element: Any, /) -> bool:
        """Take an element; tell whether more are wanted."""
        ...

    def end(self, error: Exception | None, /) -> None:
        """Take the end."""
        ...

    def left(self) -> None:
        """Let go of everything."""
        ...


class AsyncBasin(Protocol):
    """A taker of elements, one at a time, in a task."""

    async def put(self, element: Any, /) -> int:
        """Take an element; return for how many it counts, 0 if no more are wanted."""
        ...

    async def end(self, error: Exception | None, /) -> None:
        """Take the end."""
        ...

    def left(self) -> Awaitable[None] | None:
        """Let go of everything; on the loop, which is kept until what is returned has been awaited."""
        ...


def _let_go(basin: Basin | AsyncBasin) -> Awaitable[None] | None:
    try:
        return basin.left()
    except Exception as error:  # noqa: BLE001  the end has been decided already
        drop("a sink failed to let go", error)
    return None


async def _awaited(rest: Awaitable[None]) -> None:
    await rest


@dataclass(frozen=True, slots=True)
class Pour(Joint[T, int]):
    """A step that emits how many elements a basin has taken; see the module."""

    results: ClassVar[Results] = Results.ONE
    make: Callable[[], Basin]

    def open(self, downstream: Subscriber[int], /) -> Subscriber[T]:
        """Make a basin, and stand in front of what follows."""
        return _PourRun(downstream, self.make()).entrance


class _PourRun(Relay[Any]):
    """A run that puts what arrives, in the thread that brings it; the count follows as a stream of one element."""

    def __init__(self, downstream: Subscriber[int], basin: Basin) -> None:
        super().__init__(downstream)
        self._basin = basin
        self._count = 0
        self._counted = False

    def arrived(self, element: Any) -> None:
        if self._counted:
            super().arrived(element)
            return
        try:
            wanted = self._basin.put(element)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.end(error, cancel=True)
            return
        if not wanted:
            self._follow(cancel=True)
            return
        self._count += 1
        self.left_out()

    def completed(self) -> None:
        if self._counted:
            self.end()
        elif self._told(None):
            self._follow()

    def failed(self, error: Exception) -> None:
        self._told(error)
        self.end(error)

    def _told(self, error: Exception | None) -> bool:
        """Tell the basin of the end; tell whether it took it."""
        try:
            self._basin.end(error)
        except Exception as failure:  # noqa: BLE001  rule 1.4
            if error is None:
                self.end(failure)
                return False
            drop("a sink failed to pass a failure on", failure)
        return True

    def _follow(self, *, cancel: bool = False) -> None:
        upstream = self._upstream
        self._counted = True
        if cancel and upstream is not None:
            upstream.cancel()
            with self._lock:
                self._demand = add(self._demand, 1)  # for the element that was not taken comes the count
        self.attach(lambda leg: connect(Chain(Items((self._count,))), leg))

    def released(self) -> None:
        _let_go(self._basin)


@dataclass(frozen=True, slots=True)
class PourAsync(Joint[T, int]):
    """A step that emits how many elements an asynchronous basin has taken; see the module."""

    results: ClassVar[Results] = Results.ONE
    make: Callable[[], AsyncBasin]

    def open(self, downstream: Subscriber[int], /) -> Subscriber[T]:
        """Make a basin, and stand in front of what follows."""
        return _PourAsyncRun(downstream, self.make())


class _PourAsyncRun:
    """A run that puts what arrives from a task on a loop; signals come on any thread, the rest happens on the loop."""

    def __init__(self, downstream: Subscriber[int], basin: AsyncBasin) -> None:
        self._basin = basin
        self._lease: AnyLoop = lease_loop()
        self._signals: deque[Signal[Any]] = deque()
        self._arrival: Future | None = None
        self._task: Task | None = None
        self._over = False
        self._upstream: Subscription | None = None
        self._outlet: Outlet[int] = Outlet(downstream)
        self._outlet.on_cancel = self._cancelled

    # On any thread.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        self._outlet.open()
        self._lease.call(self._start)

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        self._arrived(Next(element))

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._arrived(Failed(error))

    def on_complete(self) -> None:
        self._arrived(Completed())

    def _arrived(self, signal: Signal[Any]) -> None:
        if not self._over:
            self._signals.append(signal)
            self._lease.call(self._wake)
        elif isinstance(signal, Failed):
            drop("an error came after the end or the cancel", signal.error)

    def _cancelled(self) -> None:
        self._over = True
        if self._upstream is not None:
            self._upstream.cancel()
        self._lease.call(self._stop)

    # On the loop.

    def _start(self) -> None:
        if self._over:
            self._leave()
            return
        self._task = self._lease.spawn(self._pour())
        self._task.add_done_callback(self._ended)

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _next(self) -> Signal[Any]:
        while not self._signals:
            self._arrival = self._lease.future()
            await self._arrival
            self._arrival = None
        return self._signals.popleft()

    async def _pour(self) -> None:
        count, wanted, error = 0, 1, None
        assert self._upstream is not None
        try:
            while wanted:
                self._upstream.request(1)
                signal = await self._next()
                if not isinstance(signal, Next):
                    error = signal.error if isinstance(signal, Failed) else None
                    await self._told(error)
                    break
                wanted = await self._basin.put(signal.element)
                count += wanted
            else:
                self._upstream.cancel()
        except Exception as failure:  # noqa: BLE001  rule 1.4
            self._upstream.cancel()
            error = failure
        self._over = True
        if error is None:
            self._outlet.queue.append(count)
        self._outlet.complete(error)

    async def _told(self, error: Exception | None) -> None:
        try:
            await self._basin.end(error)
        except Exception as failure:
            if error is None:
                raise
            drop("a sink failed to pass a failure on", failure)

    def _ended(self, task: Task) -> None:
        self._task = None
        if not self._over:
            self._over = True
            assert self._upstream is not None
            self._upstream.cancel()
            self._outlet.complete(RuntimeError("the event loop ended before the stream did"))
        self._leave()

    def _leave(self) -> None:
        rest = _let_go(self._basin)
        self._signals.clear()
        if rest is None:
            self._lease.release()
        else:
            self._lease.spawn(_awaited(rest)).add_done_callback(lambda _: self._lease.release())


__all__ = ["AHEAD", "THREAD_NAME", "AsyncBasin", "Basin", "Pour", "PourAsync"]
