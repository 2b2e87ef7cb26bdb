"""subscribe_on: let what comes before run somewhere else.

Group: change where it runs
Marble: a.subscribe_on(inline()) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from penstock.engine.grounds.boundary import Boundary
from penstock.engine.places.context import worker_of
from penstock.engine.places.errand import place_ended, send
from penstock.engine.places.executors import Executor, Worker
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, refuse
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
        place = _Place(worker_of(self.executor))
        front = _Elsewhere(downstream, place)
        try:
            send(place.worker.submit, partial(connect, self.stream, front), front.lost)
        except Exception:
            place.close()
            raise


class _Place:
    """The worker that is subscribed and asked on, what it raised, and whether the run needs it no more."""

    __slots__ = ("failure", "over", "worker")

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.failure: Exception | None = None
        """Why upstream fails, if that is so."""
        self.over = False

    def close(self) -> None:
        self.over = True
        self.worker.close()


def _closing(signal: Callable[[Any], None], place: _Place) -> Callable[[Any], None]:
    """Return the signal to a subscriber that may raise: a worker must not outlive the run that is then over."""

    def passed_on(value: Any, /) -> None:
        returned = False
        try:
            signal(value)
            returned = True
        finally:
            if not returned:
                place.close()

    return passed_on


class _Elsewhere(Part):
    """The party before the subscriber: elements pass untouched, requests go by way of the worker."""

    __slots__ = ("_downstream", "_place", "height", "on_chunk", "on_next")

    def __init__(self, downstream: Subscriber[Any], place: _Place) -> None:
        self._downstream = downstream
        self._place = place
        self.height = height_of(downstream) + 1
        self.on_next, self.on_chunk = downstream.on_next, chunks_of(downstream)
        if not isinstance(downstream, Boundary):  # which only queues
            self.on_next = _closing(self.on_next, place)
            self.on_chunk = None if self.on_chunk is None else _closing(self.on_chunk, place)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        _closing(self._downstream.on_subscribe, self._place)(_Requests(subscription, self._place))

    def stand_aside(self) -> Subscriber[Any]:
        self._place.close()
        return self._downstream

    def lost(self) -> None:
        """Say that there is no place to subscribe in."""
        self._place.close()
        refuse(self._downstream, place_ended())

    def on_error(self, error: Exception, /) -> None:
        self._place.close()
        self._downstream.on_error(self._place.failure or error)

    def on_complete(self) -> None:
        self._place.close()
        self._downstream.on_complete()


class _Requests:
    """The subscription handed on: requests run on the worker, a cancel and a bad request at once."""

    __slots__ = ("_place", "_subscription")

    def __init__(self, subscription: Subscription, place: _Place) -> None:
        self._subscription = subscription
        self._place = place  # and not who stands before the subscriber (rule 3.13)

    def request(self, n: int, /) -> None:
        if self._place.over:
            return  # rule 3.6
        if type(n) is not int or n <= 0:  # rule 3.9: it asks for nothing, and must not wait for what the worker is at
            self._subscription.request(n)
            return
        try:
            send(self._place.worker.submit, partial(self._ask, n), self._lost)
        except Exception as error:  # noqa: BLE001  an executor of the user's, or one without a thread
            self._fail(error)

    def _ask(self, n: int) -> None:
        if not self._place.over:  # the end may have come while the request waited (rule 2.4)
            self._subscription.request(n)

    def _lost(self) -> None:
        self._fail(place_ended())

    def _fail(self, error: Exception) -> None:
        if not self._place.over:
            self._place.failure = self._place.failure or error
            self._subscription.request(0)  # rule 3.9: upstream ends with an error for it, after what it is signalling

    def cancel(self) -> None:
        self._subscription.cancel()
        self._place.close()
