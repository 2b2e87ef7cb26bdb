"""subscribe_on: let what comes before run somewhere else.

Group: change where it runs
Marble: a.subscribe_on(inline()) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.boundary import Boundary
from penstock.engine.places.context import worker_of
from penstock.engine.places.executors import Executor, Worker
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class SubscribeOn(Source[Any]):
    """Subscribe to the stream, and ask it for elements, on a worker of the executor.

    Emits when the stream does, on that worker. Backpressures when downstream does. Completes when the stream
    completes. Cancels the stream and lets the worker go.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.PLACE
    stream: Chain
    executor: Executor
    passes: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.executor, Executor):
            raise TypeError(f"subscribe_on: executor must be an Executor, got {self.executor!r}")

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe on the worker."""
        worker = worker_of(self.executor)
        front = _Elsewhere(downstream, worker)
        try:
            worker.submit(lambda: connect(self.stream, front))
        except Exception:
            worker.close()
            raise


def _closing(signal: Callable[[Any], None], worker: Worker) -> Callable[[Any], None]:
    """Return the signal to a subscriber that may raise: a worker must not outlive the run that is then over."""

    def passed_on(value: Any, /) -> None:
        returned = False
        try:
            signal(value)
            returned = True
        finally:
            if not returned:
                worker.close()

    return passed_on


class _Elsewhere(Part):
    """The party before the subscriber: elements pass untouched, requests go by way of the worker."""

    __slots__ = ("_downstream", "_failure", "_worker", "height", "on_chunk", "on_next")

    def __init__(self, downstream: Subscriber[Any], worker: Worker) -> None:
        self._downstream = downstream
        self._worker = worker
        self._failure: list[Exception] = []
        """What the worker raised, which is why upstream fails."""
        self.height = height_of(downstream) + 1
        self.on_next, self.on_chunk = downstream.on_next, chunks_of(downstream)
        if not isinstance(downstream, Boundary):  # which only queues
            self.on_next = _closing(self.on_next, worker)
            self.on_chunk = None if self.on_chunk is None else _closing(self.on_chunk, worker)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        _closing(self._downstream.on_subscribe, self._worker)(_Requests(subscription, self._failure, self._worker))

    def stand_aside(self) -> Subscriber[Any]:
        self._worker.close()
        return self._downstream

    def on_error(self, error: Exception, /) -> None:
        self._worker.close()
        self._downstream.on_error(self._failure[0] if self._failure else error)

    def on_complete(self) -> None:
        self._worker.close()
        self._downstream.on_complete()


class _Requests:
    """The subscription handed on: requests run on the worker, a cancel at once."""

    __slots__ = ("_failure", "_subscription", "_worker")

    def __init__(self, subscription: Subscription, failure: list[Exception], worker: Worker) -> None:
        self._subscription = subscription
        self._failure = failure  # and not who stands before the subscriber (rule 3.13)
        self._worker = worker

    def request(self, n: int, /) -> None:
        subscription = self._subscription
        try:
            self._worker.submit(lambda: subscription.request(n))
        except Exception as error:  # noqa: BLE001  an executor of the user's, or one without a thread
            self._failure.append(error)
            subscription.request(0)  # rule 3.9: upstream ends with an error for it, after what it is signalling

    def cancel(self) -> None:
        self._subscription.cancel()
        self._worker.close()
