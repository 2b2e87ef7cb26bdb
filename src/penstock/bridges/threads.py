"""threads: queues between threads and processes.

A queue carries elements; the end and a failure travel behind them as `Completed()` and `Failed(error)`, as
`penstock.bridges.shared.in_band` says. What it cannot carry is a cancel of the side that takes: a bounded queue then
just stays full. A queue that can be shut down (Python 3.13) carries it: shut it down, and the sink ends.

A thread that waits for a `queue.Queue` waits on the queue's own condition and is woken by a cancel. Other queues
(`SimpleQueue`, those of `multiprocessing`) give no such hold: there the thread looks every `poll` seconds whether it
was cancelled.
"""

from __future__ import annotations

import inspect
import pickle
import queue as queues
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast, overload

from penstock.bridges.shared.in_band import end_of, ends, packed, unpacked
from penstock.bridges.shared.pouring import pour
from penstock.engine.grounds.relay import Relay
from penstock.engine.places.executors import thread
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import Items
from penstock.engine.runs.wiring import connect
from penstock.engine.weaving.blame import text_of
from penstock.engine.words.arguments import of_class
from penstock.engine.words.signals import Completed, Failed
from penstock.errors import PenstockError
from penstock.flow import Sink
from penstock.operators.subscribe_on import SubscribeOn
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Opener, Source
from penstock.stream import Stream

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
POLL = 0.05
_NAME = "penstock-queue"
_SHUT_DOWN: Any = getattr(queues, "ShutDown", ())  # Python 3.13
_STOPPED = object()


class AnyQueue(Protocol[T]):
    """A queue between threads or processes: `queue.Queue`, `SimpleQueue`, `multiprocessing.Queue` and their like."""

    def get(self, block: bool = True, timeout: float | None = None) -> T:
        """Take the next item, or raise queue.Empty."""
        ...

    def put(self, item: T, /, block: bool = True, timeout: float | None = None) -> None:
        """Add an item, or raise queue.Full."""
        ...


class FilledQueue(Protocol[T_contra]):
    """A queue between threads or processes as those see it who fill it."""

    def put(self, item: T_contra, /, block: bool = True, timeout: float | None = None) -> None:
        """Add an item, or raise queue.Full."""
        ...


class _Waiting:
    """The wait for a queue on behalf of one run, until `stop` is called."""

    __slots__ = ("_owned", "_poll", "_queue", "_stopped", "run")

    def __init__(self, queue: AnyQueue[Any], poll: float) -> None:
        self._queue = queue
        self._owned = isinstance(queue, queues.Queue)
        self._poll = poll
        self._stopped = False
        self.run: Relay[Any] | None = None
        """The run; its end is seen here before `stop` is called, so that no item is taken that would be lost."""

    @property
    def stopped(self) -> bool:
        """Tell whether the run wants nothing any more."""
        run = self.run
        return self._stopped or (run is not None and run.over)

    def stop(self) -> None:
        """Wake the thread that waits; from any thread."""
        self._stopped = True
        self.run = None
        queue: Any = self._queue
        if self._owned:
            with queue.mutex:
                queue.not_empty.notify_all()
                queue.not_full.notify_all()

    def take(self) -> Any:
        """Return the next item, or _STOPPED."""
        queue: Any = self._queue
        while not self.stopped:
            try:
                if not self._owned:
                    return queue.get(timeout=self._poll)
                with queue.not_empty:
                    while not (self.stopped or queue._qsize() or getattr(queue, "is_shutdown", False)):
                        queue.not_empty.wait()
                if not self.stopped:
                    return queue.get_nowait()
            except queues.Empty:  # another consumer was faster
                continue
        return _STOPPED

    def put(self, item: Any) -> bool:
        """Add an item; tell whether it was, and not stopped before."""
        queue: Any = self._queue
        while not self._stopped:
            try:
                if not self._owned:
                    queue.put(item, timeout=self._poll)
                    return True
                with queue.not_full:
                    while not (
                        self._stopped or not 0 < queue.maxsize <= queue._qsize() or getattr(queue, "is_shutdown", False)
                    ):
                        queue.not_full.wait()
                if not self._stopped:
                    queue.put_nowait(item)
                    return True
            except queues.Full:
                continue
        return False

    def items(self) -> Iterator[Any]:
        """Give the elements until the end or the stop."""
        done: Callable[[], object] = getattr(self._queue, "task_done", lambda: None)
        while True:
            try:
                item = self.take()
            except _SHUT_DOWN:
                return
            if item is _STOPPED:
                return
            try:
                if ends(item):
                    return
                yield unpacked(item)
            finally:
                done()


class _Interrupted(Relay[Any]):
    """A relay that stops the waiting when the run is over, whatever ended it."""

    def __init__(self, downstream: Subscriber[Any], waiting: _Waiting) -> None:
        super().__init__(downstream)
        self._waiting = waiting
        waiting.run = self

    def released(self) -> None:
        self._waiting.stop()


@dataclass(frozen=True, slots=True)
class FromQueue(Source[T]):
    """A source that emits what comes out of a queue; see `from_queue`."""

    queue: AnyQueue[T]
    poll: float

    @property
    def again(self) -> Again:
        """Give what is put into the queue from then on."""
        return Again.LATER

    def waiting_opener(self) -> Opener[T]:
        """Wait in the thread that iterates, which wants to."""
        return lambda _: _Waiting(self.queue, self.poll).items()

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Wait in a new thread."""
        waiting = _Waiting(self.queue, self.poll)
        chain = Chain(SubscribeOn(Chain(Items(waiting.items())), thread(_NAME)))
        _Interrupted(downstream, waiting).attach(lambda leg: connect(chain, leg))


def _queue_given(operator: str, queue: object, poll: object, *names: str) -> None:
    if any(not callable(getattr(queue, name, None)) for name in names) or isinstance(queue, type):
        raise TypeError(f"{operator}: queue must have {' and '.join(names)}, got {queue!r}{of_class(queue)}")
    if any(inspect.iscoroutinefunction(getattr(queue, name)) for name in names):
        raise TypeError(f"{operator}: queue must be one of threads, got {queue!r}; see penstock.bridges.asyncio")
    if isinstance(poll, bool) or not isinstance(poll, int | float) or not poll > 0:
        raise ValueError(f"{operator}: poll must be > 0 seconds, got {poll!r}")


@overload
def from_queue(queue: AnyQueue[T | Completed | Failed], *, poll: float = POLL) -> Stream[T]: ...
@overload
def from_queue(queue: AnyQueue[T | Completed], *, poll: float = POLL) -> Stream[T]: ...
@overload
def from_queue(queue: AnyQueue[T], *, poll: float = POLL) -> Stream[T]: ...
def from_queue(queue: AnyQueue[Any], *, poll: float = POLL) -> Stream[Any]:
    """Emit the items of a `queue.Queue` or another queue between threads or processes.

    Emits when downstream asks and an item is there; a `for` loop waits itself, other subscribers have a thread that
    does. Backpressures by not taking items; an `async for` loop asks for up to 256 ahead, `open(window=1)` for one.
    Completes at a `Completed()`, fails at a `Failed(error)`; one such mark ends one reader. Cancels at once with a
    `queue.Queue`, within `poll` seconds with others; an item that is being taken at that moment is gone. `task_done` is
    called for each item that was delivered.

    >>> from queue import Queue
    >>> from penstock import Stream
    >>> waiting = Queue()
    >>> (Stream.range(3) | to_queue(waiting)).run().wait()
    3
    >>> list(from_queue(waiting))
    [0, 1, 2]
    """
    _queue_given("from_queue", queue, poll, "get")
    return Stream(Chain(FromQueue(queue, float(poll))))


class _QueueBasin:
    """A basin that puts elements into a queue, then the end."""

    __slots__ = ("_check", "_end", "_local", "_waiting")

    def __init__(self, queue: AnyQueue[Any], poll: float, end: bool) -> None:
        self._waiting = _Waiting(queue, poll)
        self._local = isinstance(queue, queues.Queue | queues.SimpleQueue)
        self._check = _check_for(queue)
        self._end = end

    def put(self, element: Any, /) -> bool:
        item = packed(element)
        try:
            self._check(item)
        except Exception as error:
            self.end(error)  # who takes is told as well
            raise
        return self._put(item)

    def end(self, error: Exception | None, /) -> None:
        if self._end:
            self._put(end_of(error if error is None or self._local else _picklable(error)))

    def _put(self, item: Any) -> bool:
        try:
            return self._waiting.put(item)
        except _SHUT_DOWN:
            return False  # the consumer has said that it wants nothing more

    def left(self) -> None:
        self._waiting.stop()


def _nothing(_: Any) -> None:
    """Check nothing."""


def _check_for(queue: object) -> Callable[[Any], object]:
    """Return what raises for an item that a queue of multiprocessing would lose: one that it cannot pickle.

    Such a queue pickles on another thread, behind `put`; what that raises there is printed, and the item is gone.
    """
    kind = getattr(sys.modules.get("multiprocessing.queues"), "Queue", None)
    if not isinstance(kind, type) or not isinstance(queue, kind):
        return _nothing
    from multiprocessing.reduction import ForkingPickler  # noqa: PLC0415  the queue has brought it in

    return ForkingPickler.dumps


def _picklable(error: Exception) -> Exception:
    """Return an error that reaches another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  whatever an exception's own methods raise
        return PenstockError(f"{type(error).__name__}: {text_of(error)}")
    return error


def to_queue(queue: FilledQueue[T], *, end: bool = True, poll: float = POLL) -> Sink[T, int]:
    """Put elements into a `queue.Queue` or another queue between threads or processes; the result is how many.

    Asks for the next element when there is room, 16 ahead; a full queue makes a separate thread wait. Puts
    `Completed()` or `Failed(error)` behind the last element, unless `end` is false (several may fill one queue). Ends
    when the queue is shut down. Cancels at once with a `queue.Queue`, within `poll` seconds with others; no mark is put
    then. An element that a `multiprocessing.Queue` cannot pickle fails the sink. An error that does not pickle reaches
    another process as a PenstockError with its name and message.

    >>> from queue import Queue
    >>> from penstock import Stream
    >>> waiting = Queue()
    >>> (Stream.just("a") | to_queue(waiting)).run().wait(), waiting.get(), waiting.get()
    (1, 'a', Completed())
    """
    _queue_given("to_queue", queue, poll, "put")
    return pour(lambda: _QueueBasin(cast("AnyQueue[Any]", queue), float(poll), end))


__all__ = ["AnyQueue", "from_queue", "to_queue"]
