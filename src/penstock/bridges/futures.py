"""futures: results of futures as a stream, work for an executor, and a stream's result as a future.

A future carries one result or one failure, and a cancel both ways. It cannot carry demand: work that was submitted
runs, so the bound is on how much is submitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

from penstock.engine.places.bell import Bell
from penstock.engine.words.arguments import count_given, function_given
from penstock.engine.words.around import Around
from penstock.errors import EmptyError
from penstock.flow import Flow, flow
from penstock.spec.dialects.strangers import publisher_given
from penstock.spec.interfaces import Publisher, Subscription
from penstock.spec.link import Link
from penstock.stream import Stream

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


async def _result_of(operator: str, future: Future[T]) -> T:
    """Wait for a future on whichever loop this runs; a cancel takes the future along if it has not begun."""
    if not callable(getattr(future, "add_done_callback", None)):
        raise TypeError(f"{operator}: each element must be a Future, got {future!r}")
    bell = Bell(operator)
    future.add_done_callback(lambda _: bell.ring())
    try:
        await bell
    finally:
        future.cancel()  # does nothing to one that is done
    error = future.exception()
    if isinstance(error, Exception):
        raise error
    if error is not None:  # raised here it would end the event loop, which others use as well
        raise RuntimeError(f"{operator}: the work of a future was ended by {error!r}") from error
    return future.result()


def from_futures(futures: Iterable[Future[T]], *, concurrency: int = 16, ordered: bool = True) -> Stream[T]:
    """Emit the results of futures, in their order or, if not `ordered`, as they come.

    Emits when downstream asks and a result is there. Backpressures by taking no more futures: at most twice
    `concurrency` are taken and not yet delivered, so an iterator that submits as it goes has no more work outstanding;
    as many as `concurrency` are waited for at a time. Completes after the last result; fails with the first failure,
    and a cancelled future is one (`concurrent.futures.CancelledError`). Cancels those that are waited for and have not
    begun.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as executor:
    ...     list(from_futures(executor.submit(pow, n, 2) for n in range(4)))
    [0, 1, 4, 9]
    """
    count_given("from_futures", "concurrency", concurrency, 1)
    if not isinstance(futures, Iterable):
        raise TypeError(f"from_futures: futures must be an iterable of futures, got {futures!r}")
    return Stream.from_iterable(futures).map_async(
        partial(_result_of, "from_futures"), concurrency=concurrency, ordered=ordered
    )


def submit(executor: Executor, fn: Callable[[A], B], *, concurrency: int = 16, ordered: bool = True) -> Flow[A, B]:
    """Call a function with each element on an executor, at most `concurrency` calls outstanding.

    Emits when a result is there: in the order of the elements if `ordered`, else as they come. Backpressures when
    downstream does: `concurrency` elements are under way and as many more wait. Completes when all work is done; fails
    with the first failure. Cancels calls that have not begun; the executor stays yours.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from penstock import Stream
    >>> with ThreadPoolExecutor(2) as executor:
    ...     list(Stream.range(4) | submit(executor, lambda n: n * n, concurrency=2))
    [0, 1, 4, 9]
    """
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"submit: executor must have submit, got {executor!r}")
    function_given("submit", "fn", fn)
    count_given("submit", "concurrency", concurrency, 1)

    work = _Submitted(executor, fn)
    return flow(lambda stream: stream.map_async(work, concurrency=concurrency, ordered=ordered))


@dataclass(frozen=True, slots=True)
class _Submitted(Around, Generic[A, B]):
    """A call on an executor for each element."""

    executor: Executor
    fn: Callable[[A], B]

    @property
    def inside(self) -> object:
        """Return the function of the user's."""
        return self.fn

    async def __call__(self, element: A) -> B:
        return await _result_of("submit", self.executor.submit(self.fn, element))


class _Settling:
    """The subscriber that settles a future with the first element."""

    __slots__ = ("_future", "_link", "_notified")

    def __init__(self, future: Future[Any]) -> None:
        self._future = future
        self._link = Link()
        self._notified = Lock()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._link.begin(subscription)
        self._link.request(1)

    def on_next(self, element: Any, /) -> None:
        self._link.cancel()  # the rest is not needed
        if self._runs():
            self._future.set_result(element)

    def on_error(self, error: Exception, /) -> None:
        self._link.end()
        if self._runs():
            self._future.set_exception(error)

    def on_complete(self) -> None:
        self.on_error(EmptyError("to_future: the stream completed without an element"))

    def settled(self, future: Future[Any]) -> None:
        """Cancel the stream when the future was, and tell those who wait for several futures."""
        if future.cancelled():
            self._link.cancel()
            self._runs()

    def _runs(self) -> bool:
        """Tell whether the future still wants a result; a cancelled future must be told of that once, not twice."""
        return self._notified.acquire(blocking=False) and self._future.set_running_or_notify_cancel()


def to_future(stream: Publisher[T]) -> Future[T]:
    """Run a stream and return a future of its first element, the rest of it being cancelled.

    The run starts at once, where the stream starts it. Asks for one element. A failure of the stream is the future's;
    a stream without an element fails it with EmptyError. To cancel the future is to cancel the stream.

    >>> from penstock import Stream
    >>> to_future(Stream.range(5).count()).result()
    5
    """
    publisher_given("to_future: stream must be a Stream or another Publisher", stream)
    future: Future[T] = Future()
    settling = _Settling(future)
    future.add_done_callback(settling.settled)
    (stream if isinstance(stream, Stream) else Stream.from_publisher(stream)).subscribe(settling)
    return future


__all__ = ["from_futures", "submit", "to_future"]
