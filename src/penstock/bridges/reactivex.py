"""reactivex: Observables in and out.

An Observable has no backpressure: it sends what it has, and cannot be asked for less. So a stream that is made of one
needs a policy for elements that were not asked for, and a stream that becomes one is asked for everything. Demand can
be carried separately: `requests` takes the demand of a stream as an Observer of numbers, and gives it to a stream as an
Observable of them; one Subject does both.

What is not carried: demand, without `requests`. An observer that raises is cut off and its error goes to the hook for
what cannot be delivered, while other Observables would raise it wherever the element came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.engine.grounds.seat import Seat
from penstock.engine.many.emitter import EmitResult, Emitter, Overflow
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.errors import ProtocolError
from penstock.spec.dialects.strangers import publisher_given
from penstock.spec.interfaces import Publisher, Subscriber, Subscription
from penstock.spec.link import Link
from penstock.stage import Source
from penstock.stream import Stream, Subject

try:
    from reactivex import Observable
    from reactivex.abc import DisposableBase, ObservableBase, ObserverBase, SchedulerBase
    from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable
    from reactivex.scheduler import CurrentThreadScheduler
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.bridges.reactivex needs reactivex: pip install 'penstock[reactivex]'", name=missing.name
    ) from missing

T = TypeVar("T")


def _error_of(who: str, error: Any) -> Exception:
    """Return the error; reactivex lets anything be one."""
    if isinstance(error, Exception):
        return error
    return ProtocolError("1.4", f"{who} failed with {error!r}, which is not an exception")


class _Observer:
    """An observer that hands what an Observable sends to an emitter, and holds it to the contract."""

    __slots__ = ("_emitter", "_subscription")

    def __init__(self, emitter: Emitter[Any], subscription: DisposableBase) -> None:
        self._emitter = emitter
        self._subscription = subscription

    def on_next(self, element: Any) -> None:
        if element is None:
            self._emitter.fail(TypeError("rule 2.13: the observable sent None, which is not an element"))
        elif self._emitter.emit(element) is EmitResult.TERMINATED:
            self._subscription.dispose()  # the stream has failed, be it behind elements that wait, and takes no more

    def on_error(self, error: Any) -> None:
        self._emitter.fail(_error_of("the observable", error))

    def on_completed(self) -> None:
        self._emitter.complete()


@dataclass(frozen=True, slots=True)
class FromObservable(Source[T]):
    """A source that emits what an Observable sends; see `from_observable`."""

    observable: ObservableBase[T]
    overflow: Overflow
    size: int
    requests: ObserverBase[int] | None = field(default=None, repr=False)
    scheduler: SchedulerBase | None = field(default=None, repr=False)

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Subscribe to the Observable."""
        outlet = Seat(downstream)
        emitter: Emitter[Any] = Emitter("from_observable", outlet, self.overflow, self.size)
        subscription = SingleAssignmentDisposable()
        emitter.on_close(subscription.dispose)
        asking = None if self.requests is None else _Asking(self.requests, outlet, emitter)
        outlet.open()

        def subscribe(*_: object) -> None:
            if outlet.closed:
                return
            try:
                observer: Any = _Observer(emitter, subscription)
                subscription.disposable = self.observable.subscribe(observer, scheduler=self.scheduler)
            except Exception as error:  # noqa: BLE001  rule 1.9
                emitter.fail(error)
            if asking is not None:
                asking.open()

        # On the trampoline it sends after its `subscribe` has returned, so that it can be disposed of meanwhile.
        CurrentThreadScheduler.singleton().schedule(subscribe)


class _Asking:
    """The party that tells an observer of demand once the Observable is subscribed, and makes room for what comes."""

    __slots__ = ("_emitter", "_observer", "_open", "_outlet", "_waiting")

    def __init__(self, observer: ObserverBase[int], outlet: Seat, emitter: Emitter[Any]) -> None:
        self._observer = observer
        self._outlet = outlet
        self._emitter = emitter
        self._open = False
        self._waiting = 0
        outlet.on_request = self._ask
        outlet.on_taken = self._taken

    def _ask(self, n: int) -> None:
        with self._outlet.lock:
            self._emitter.widen(n)  # room for what is asked for, until it has been delivered
            tell = self._open
            if not tell:
                self._waiting = add(self._waiting, n)
        if tell:
            self._tell(n)

    def _taken(self, count: int) -> None:
        with self._outlet.lock:
            self._emitter.widen(-count)

    def open(self) -> None:
        with self._outlet.lock:
            self._open = True
            waiting = self._waiting
        if waiting:
            self._tell(waiting)

    def _tell(self, n: int) -> None:
        try:
            self._observer.on_next(n)
        except Exception as error:  # noqa: BLE001  rule 3.16
            self._emitter.fail(error)


def from_observable(
    observable: ObservableBase[T],
    *,
    overflow: Overflow,
    size: int = 256,
    requests: ObserverBase[int] | None = None,
    scheduler: SchedulerBase | None = None,
) -> Stream[T]:
    """Emit what an Observable sends, with a policy for elements that were not asked for.

    Emits when downstream asks and an element is there. Backpressures by `overflow`, which has to be said: elements are
    dropped, the latest replaces the one that waits, or the stream fails with OverflowedError once `size` of them wait.
    `requests` is told of demand, for an Observable that can be asked; what was asked for always has room, and `size` is
    for what comes beyond. Completes and fails as the Observable does. Cancels by disposing of the subscription, also
    when the stream has failed. An Observable that sends while it is being subscribed keeps the thread that subscribes;
    one without end should have its own scheduler.

    >>> import reactivex
    >>> from penstock import Overflow
    >>> list(from_observable(reactivex.of(1, 2, 3), overflow=Overflow.ERROR))
    [1, 2, 3]
    """
    if not isinstance(observable, ObservableBase):
        raise TypeError(f"from_observable: observable must be an Observable, got {observable!r}")
    if overflow is Overflow.BUFFER:
        raise ValueError(
            "from_observable: overflow must be Overflow.DROP, LATEST or ERROR, got Overflow.BUFFER; "
            "an Observable cannot keep what is refused"
        )
    if not isinstance(overflow, Overflow):
        raise TypeError(f"from_observable: overflow must be an Overflow, got {overflow!r}")
    count_given("from_observable", "size", size, 1)
    if requests is not None and not callable(getattr(requests, "on_next", None)):
        raise TypeError(f"from_observable: requests must be an Observer, got {requests!r}")
    if requests is not None and overflow is not Overflow.ERROR:
        raise ValueError(f"from_observable: overflow must be Overflow.ERROR with requests, got {overflow}")
    return Stream(Chain(FromObservable(observable, overflow, size, requests, scheduler)))


class _Sending:
    """The subscriber that hands elements to an observer."""

    __slots__ = ("_at_first", "_link", "_observer")

    def __init__(self, observer: ObserverBase[Any], link: Link, at_first: int) -> None:
        self._observer = observer
        self._link = link
        self._at_first = at_first

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._link.begin(subscription)
        if self._at_first:
            self._link.request(self._at_first)

    def on_next(self, element: Any, /) -> None:
        self._observer.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        self._link.end()
        self._observer.on_error(error)

    def on_complete(self) -> None:
        self._link.end()
        self._observer.on_completed()


def to_observable(stream: Publisher[T], *, requests: ObservableBase[int] | None = None) -> Observable[T]:
    """Offer a stream as an Observable, of which each subscription is a separate run.

    Sends everything as fast as the observers take it, or, given `requests`, as many elements as that Observable says.
    Completes and fails as the stream does. Disposing cancels the run, from any thread. The run starts on the scheduler
    that is given to `subscribe`, or on the current thread's.

    >>> from penstock import Stream
    >>> to_observable(Stream.range(3)).subscribe(print).dispose()
    0
    1
    2
    """
    publisher_given("to_observable: stream must be a Stream or another Publisher", stream)
    if requests is not None and not isinstance(requests, ObservableBase):
        raise TypeError(f"to_observable: requests must be an Observable, got {requests!r}")
    source = stream if isinstance(stream, Stream) else Stream.from_publisher(stream)

    def subscribe(observer: ObserverBase[Any], scheduler: SchedulerBase | None = None) -> DisposableBase:
        link = Link()
        run = source
        asking: list[DisposableBase] = []
        if requests is not None:
            failing: Subject[Any] = Stream.subject()
            run = source.take_until(failing)

            def refuse(error: Any) -> None:
                failing.fail(_error_of("the requests", error))

            asking.append(requests.subscribe(link.request, refuse))  # before the run, so that none is missed
        sending = _Sending(observer, link, UNBOUNDED if requests is None else 0)
        started = (scheduler or CurrentThreadScheduler.singleton()).schedule(lambda *_: run.subscribe(sending))
        return CompositeDisposable(Disposable(link.cancel), started, *asking)

    return Observable(subscribe)


__all__ = ["from_observable", "to_observable"]
