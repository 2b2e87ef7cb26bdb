"""pouring: the end of a pipeline that hands its elements to another library and says how many there were.

A basin is what one run pours into. `put` takes an element and tells whether the other side wants more; if it does not,
that is a cancel which comes from below, and the pipeline ends well with what was taken. `end` is told how the stream
ended. `left` is called once at the very end, however that came, also by a cancel; then it comes from any thread and
perhaps while `put` is under way, which it must not wait for. An asynchronous basin may have a coroutine `begin`, which
is awaited before anything is asked for. One that works between two elements as well has a `failure`, None while there
is none, and calls `on_failure` on the loop when there is one: the run fails with it at once.

A task asks for one element at a time, and for the next one when that has been taken, or, where the basin says so
(`ahead`), while it waits for that to be taken. A thread has up to AHEAD elements waiting for it, so that not every one
of them has to wake it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from penstock.engine.doors.iterate import LoopInbox
from penstock.engine.grounds.relay import Relay
from penstock.engine.places.event_loops import lease_loop
from penstock.engine.runs.async_run import AsyncRun
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import Items
from penstock.engine.runs.wiring import connect
from penstock.engine.weaving.segment import Segment
from penstock.engine.words.demand import add
from penstock.engine.words.dropped import drop
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, LoopGate, Results

T = TypeVar("T")
AHEAD = 16
"""How many elements wait for the thread of a basin that may make it wait."""
THREAD_NAME = "penstock-sink"
_BEHIND = Segment((), 1)
"""No stages, behind a source that names the step of its errors itself."""


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
                self.demand = add(self.demand, 1)  # for the element that was not taken comes the count
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
        return _PourAsyncRun(downstream, self.make()).inbox


class _PourInbox(LoopInbox):
    """The subscriber in front of such a run; it asks for its first element when the count is asked for."""

    __slots__ = ("_run",)

    def __init__(self, run: _PourAsyncRun) -> None:
        super().__init__(1, lease_loop())
        self._run = run

    def subscribed(self) -> None:
        """Signal `on_subscribe`."""
        self._run.start()


class _PourAsyncRun(AsyncRun):
    """A run of a task that puts what arrives, and gives the count."""

    __slots__ = ("_basin", "inbox")

    def __init__(self, downstream: Subscriber[int], basin: AsyncBasin) -> None:
        super().__init__(_BEHIND, self._poured, downstream)
        self._basin = basin
        self.inbox = _PourInbox(self)
        self._lease = lease_loop()  # here, since upstream may subscribe on another thread

    async def _poured(self, gate: LoopGate | None) -> AsyncIterator[int]:
        assert gate is not None
        count = await self._count()
        gate.finish()  # so that the end comes with the count
        yield count

    async def _count(self) -> int:
        inbox, queue, count = self.inbox, self.inbox.queue, 0
        may_have: Any = self._basin
        ahead = getattr(may_have, "ahead", False)
        begin = getattr(may_have, "begin", None)
        if begin is not None:
            await begin()
        if hasattr(may_have, "on_failure"):
            may_have.on_failure = inbox.stir
        inbox.request(1)
        while not self._gate.over and (queue or not inbox.done):
            while queue:
                if ahead:
                    inbox.loop.call(self._ask)  # when the basin has begun to wait, so that it does not wait for this
                wanted = await self._basin.put(queue.popleft())
                if not wanted:
                    return count
                count += wanted
                if self._gate.over:
                    return count
                if not ahead:
                    inbox.request(1)
            failure = getattr(may_have, "failure", None)
            if failure is not None:
                raise failure
            await inbox.comes()
        if self._gate.over:
            return count  # cancelled meanwhile; a basin may keep the cancel to itself
        try:
            await self._basin.end(inbox.error)
        except Exception as failure:
            if inbox.error is None:
                raise
            drop("a sink failed to pass a failure on", failure)
        inbox.at_end()  # which raises the failure, if there is one
        return count

    def _ask(self) -> None:
        self.inbox.request(1)

    def _end(self, failure: Exception | None) -> None:
        super()._end(failure)
        self.inbox.leave()  # at once, while the task may have to wait until it ends

    def _let_go(self) -> Subscriber[Any]:
        self.inbox.leave()
        self.inbox.on_loop(self._leave)
        return super()._let_go()

    def _leave(self) -> None:
        rest, lease = _let_go(self._basin), self.inbox.loop
        if rest is None:
            lease.release()
        else:
            lease.spawn(_awaited(rest)).add_done_callback(lambda _: lease.release())


__all__ = ["AHEAD", "THREAD_NAME", "AsyncBasin", "Basin", "Pour", "PourAsync"]
