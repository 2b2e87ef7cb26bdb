"""using: open a resource for a stream, and close it when the stream is over.

Group: make a stream
Marble: Stream.using(lambda: [1, 2], iter, list.clear)
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from penstock.engine.grounds.relay import Leg, Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import chain_of, connect_to
from penstock.engine.runs.wiring import connect, pull, reads_nothing
from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.segment import close
from penstock.engine.words.arguments import awaits, function_given
from penstock.engine.words.dropped import drop
from penstock.spec.interfaces import Publisher, Subscriber, Subscription
from penstock.stage import AsyncOpener, LoopGate, Opener, Source

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Using(Source[T], Generic[T, R]):
    """Open a resource for each subscriber, emit what is made with it, and close it once, however that ends.

    Emits when what was made does. Backpressures when downstream does. Completes when what was made has completed and
    the resource is closed; fails if any of the functions raises. Cancels what was made, then closes the resource.
    """

    open: Callable[[], R]
    use: Callable[[R], Publisher[T] | Iterable[T] | AsyncIterable[T]]
    close: Callable[[R], object]

    def __post_init__(self) -> None:
        for name, fn in (("open", self.open), ("use", self.use), ("close", self.close)):
            if awaits(fn):
                raise TypeError(
                    f"using: {name} must not be a coroutine function, got {fn!r}; write an asynchronous generator with "
                    "`async with` and give it to from_async_iterable"
                )
            function_given("using", name, fn)

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Open the resource and subscribe to what is made with it."""
        try:
            resource = self.open()
        except Exception as error:  # noqa: BLE001  rule 1.9: a failure is signalled, never raised
            Relay(downstream).end(blamed(error, self, self.open))
            return
        held = _Held(self, resource)
        run = _UsingRun(downstream, held)
        assert run.leg is not None
        held.enter()
        try:
            given: Any = self.use(resource)
            opener = _opener_of(given)
            if opener is not None:
                connect(Chain(_Items(run.held, opener, _reads_nothing(given))), run.leg)
            elif isinstance(given, AsyncIterable) and not callable(getattr(given, "subscribe", None)):
                connect(Chain(_AsyncItems(run.held, given)), run.leg)
            else:
                connect_to("using", given, run.leg)
        except Exception as error:  # noqa: BLE001  rule 1.9
            run.failed(blamed(error, self, self.use))
        finally:
            held.leave()


def _opener_of(given: Any) -> Opener[Any] | None:
    """Return how to iterate over what was made, or None if it cannot be."""
    chain = chain_of(given)
    if chain is not None:
        return pull(chain)
    if isinstance(given, Iterable) and not callable(getattr(given, "subscribe", None)):
        return lambda _: iter(given)
    return None


def _reads_nothing(given: Any) -> bool:
    """Tell whether it is known that nothing has to be read of what was made."""
    chain = chain_of(given)
    return reads_nothing(chain) if chain is not None else type(given) in (list, tuple) and not given


class _Held:
    """The resource; closing it again does nothing."""

    __slots__ = ("_calls", "_due", "_lock", "_resource", "_step", "used")

    def __init__(self, step: Using[Any, Any], resource: Any) -> None:
        self._lock = Lock()
        self._step = step
        self._resource = [resource]
        self.used = False
        """Whether a loop holds it, which closes it at its own end: what was made must be closed before."""
        self._calls = 0
        self._due = False
        """Whether it is to be closed when the last call to what was made has returned, which may use it until then."""

    def begin(self) -> bool:
        """Let a loop use it; tell whether it is still open."""
        with self._lock:
            self.used = bool(self._resource)
            return self.used

    def enter(self) -> None:
        """Know that what was made is called, and may be in the middle of a loop when it is cancelled."""
        with self._lock:
            self._calls += 1

    def leave(self) -> None:
        """Know that such a call has returned; close it if that had to wait for it."""
        with self._lock:
            self._calls -= 1
            due = self._due and not self._calls and not self.used
        if due:
            self.close_quietly()

    def close(self) -> None:
        """Close it; what the function raises is passed on."""
        with self._lock:
            resources, self._resource = self._resource, []
        for resource in resources:
            try:
                self._step.close(resource)
            except Exception as error:  # noqa: BLE001  rule 1.4
                raise blamed(error, self._step, self._step.close)  # noqa: B904  it is the same error, or was a stop

    def close_quietly(self) -> None:
        """Close it where an error is on its way already, or no subscriber is left to be told."""
        try:
            self.close()
        except Exception as error:  # noqa: BLE001
            drop("using: close raised", error)

    def close_unless_used(self) -> None:
        """Close it, unless a loop will, or who calls what was made; that must be closed before."""
        with self._lock:
            waits = self.used or self._calls > 0
            self._due = self._calls > 0 and not self.used
        if not waits:
            self.close_quietly()


@dataclass(frozen=True, eq=False)
class _Items(Source[Any]):
    """The iterable that was made with the resource."""

    held: _Held
    made: Opener[Any]
    nothing: bool

    def length(self) -> int | None:
        return 0 if self.nothing else None

    def opener(self) -> Opener[Any]:
        return self._open

    def _open(self, gate: LoopGate | None) -> Iterator[Any]:
        if not self.held.begin():
            return
        done = False
        try:
            iterator = self.made(gate)
            if gate is not None:
                gate.opened(iterator)
            try:
                for element in iterator:  # noqa: UP028  `yield from` would close it as well, and twice
                    yield element
            finally:
                close(iterator)
            done = True
        finally:
            if done:
                self.held.close()
            else:
                self.held.close_quietly()


@dataclass(frozen=True, eq=False)
class _AsyncItems(Source[Any]):
    """The asynchronous iterable that was made with the resource."""

    held: _Held
    made: AsyncIterable[Any]

    def async_opener(self) -> AsyncOpener[Any]:
        return self._open

    async def _open(self, _: LoopGate | None) -> AsyncIterator[Any]:
        if not self.held.begin():
            return
        done = False
        try:
            iterator: Any = aiter(self.made)
            try:
                async for element in iterator:
                    yield element
            finally:
                closing: Callable[[], Awaitable[object]] | None = getattr(iterator, "aclose", None)
                if callable(closing):
                    await closing()
            done = True
        finally:
            if done:
                self.held.close()
            else:
                self.held.close_quietly()


class _UsingRun(Relay[Any]):
    """A run that closes the resource where no loop does: behind a publisher's end, or after it was cancelled."""

    def __init__(self, downstream: Subscriber[Any], held: _Held) -> None:
        super().__init__(downstream)
        self.held = held

    def subscribed(self, leg: Leg, subscription: Subscription) -> None:
        super().subscribed(leg, _Asked(subscription, self.held))

    def completed(self) -> None:
        try:
            self.held.close()
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.end(error)
            return
        self.end()

    def failed(self, error: Exception) -> None:
        self.held.close_quietly()
        self.end(error)

    def cancel(self) -> None:
        super().cancel()
        self.held.close_unless_used()

    def end(self, error: Exception | None = None, *, cancel: bool = False) -> None:
        super().end(error, cancel=cancel)
        self.held.close_unless_used()


class _Asked:
    """The subscription to what was made: the resource stays open while a request is answered."""

    __slots__ = ("_held", "_subscription")

    def __init__(self, subscription: Subscription, held: _Held) -> None:
        self._subscription = subscription
        self._held = held

    def request(self, n: int, /) -> None:
        self._held.enter()
        try:
            self._subscription.request(n)
        finally:
            self._held.leave()

    def cancel(self) -> None:
        self._subscription.cancel()
