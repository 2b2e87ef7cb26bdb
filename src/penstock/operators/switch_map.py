"""switch_map: turn each element into a stream, and emit the newest of them alone.

Group: change each element
Marble: a.switch_map(lambda n: Stream.interval(1, clock=clock).map(lambda _: n).take(3)) over -1----23|
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import Outlet, accepts, element_or_raise
from penstock.engine.runs.given import connect_to
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Publisher, Subscriber, Subscription
from penstock.stage import Joint, Tie

A = TypeVar("A")
B = TypeVar("B")


class LeavingFunction:
    """A function of penstock's own that is told what becomes of elements, since streams are left behind with some."""

    def takes(self, element: Any) -> Any:
        """Return what an element becomes that a publisher has given."""
        raise NotImplementedError

    def drops(self, element: Any) -> None:
        """Be told of an element that a publisher gave when another one had become the newest."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class SwitchMap(Joint[A, B]):
    """Emit the elements of the publisher or iterable that the function returns for the newest element.

    Emits when the newest publisher does; the one before is cancelled when an element comes. Backpressures the newest
    publisher when downstream does, of which at most `prefetch` elements are held; upstream is asked for everything,
    once downstream asks. Completes when upstream and the newest publisher have completed; fails with the first failure.
    Cancels upstream and the newest publisher.
    """

    tie: ClassVar[Tie] = Tie.STREAMS
    fn: Callable[[A], Publisher[B] | Iterable[B] | AsyncIterable[B]]
    prefetch: int = 32

    def __post_init__(self) -> None:
        function_given("switch_map", "fn", self.fn)
        count_given("switch_map", "prefetch", self.prefetch, 1)

    def open(self, downstream: Subscriber[B], /) -> Subscriber[A]:
        """Return the subscriber of the elements to be mapped."""
        return _SwitchMapRun(self, downstream)


class _Inner(Part):
    """The subscriber of one publisher; `owed` is what it was asked for and has not given."""

    __slots__ = ("_run", "done", "height", "owed", "subscription")

    def __init__(self, run: _SwitchMapRun) -> None:
        self._run = run
        self.height = run.height
        self.owed = 0
        self.done = False
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if accepts(subscription, self.subscription, closed=self.done):
            self.subscription = subscription
            if self._run.newest is self:
                self._run.ask(0)
            else:
                subscription.cancel()

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        self._run.arrived(self, element)

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self.done = True
        self._run.inner_failed(self, error)

    def on_complete(self) -> None:
        self.done = True
        self._run.inner_completed(self)

    def cancel(self) -> None:
        if not self.done and self.subscription is not None:
            self.subscription.cancel()


class _SwitchMapRun(Part):
    """The run over the newest publisher; the outlet's lock guards which one it is and what it owes."""

    def __init__(self, step: SwitchMap[Any, Any], downstream: Subscriber[Any]) -> None:
        self.height = height_of(downstream) + 1
        self._step = step
        self._half = (step.prefetch + 1) // 2
        self._upstream: Subscription | None = None
        self._done = self._begun = self._failed = False
        self._told = step.fn if isinstance(step.fn, LeavingFunction) else None
        self.newest: _Inner | None = None
        self._outlet: Outlet[Any] = Outlet(downstream)
        self._outlet.on_request = self._requested
        self._outlet.on_taken = self._taken
        self._outlet.on_cancel = self._cancel

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        self._outlet.open()

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        inner = _Inner(self)
        with self._outlet.lock:
            if self._outlet.closed:
                return
            before, self.newest = self.newest, inner
        if before is not None:
            before.cancel()
        fn = self._step.fn
        try:
            connect_to("switch_map", fn(element), inner)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self._fail(blamed(error, self._step, fn))

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._failed = True
        self._outlet.complete(error)
        self._done = True  # only now, so that the newest one does not complete it
        self._cancel()

    def on_complete(self) -> None:
        with self._outlet.lock:
            self._done = True
            over = self.newest is None
        if over:
            self._outlet.complete()

    def _requested(self, n: int) -> None:
        """Ask upstream for everything when downstream asks for the first, and the newest for what is asked for."""
        if not self._begun:
            with self._outlet.lock:
                begun, self._begun = self._begun, True
            if not begun and self._upstream is not None:
                self._upstream.request(UNBOUNDED)
        self.ask(n)

    # The publishers.

    def ask(self, _: int) -> None:
        """Ask the newest for what is asked for below, up to a window and then by halves of it."""
        outlet = self._outlet
        with outlet.lock:
            newest = self.newest
            if newest is None or newest.subscription is None:
                return
            wanted = outlet.demand - len(outlet.queue)
            room = self._step.prefetch - len(outlet.queue)
            more = min(wanted, room) - newest.owed
            if more <= 0 or (room < wanted and more < self._half):
                return
            newest.owed += more
            subscription = newest.subscription
        subscription.request(more)

    def arrived(self, inner: _Inner, element: Any) -> None:
        if self._told is not None:
            element = self._told.takes(element)
        with self._outlet.lock:
            taken = inner is self.newest and not self._outlet.closed
            if taken:
                inner.owed -= 1
                self._outlet.queue.append(element)  # before the next one can become the newest
            left = not taken and not self._outlet.closed and not self._failed
        if taken:
            self._outlet.wake()
        elif left and self._told is not None:
            self._told.drops(element)

    def _taken(self, _: int) -> None:
        newest = self.newest
        if newest is not None and newest.owed <= self._half:
            self.ask(0)

    def inner_completed(self, inner: _Inner) -> None:
        with self._outlet.lock:
            if inner is not self.newest:
                return
            self.newest = None
            over = self._done
        if over:
            self._outlet.complete()

    def inner_failed(self, inner: _Inner, error: Exception) -> None:
        if inner is self.newest:
            self._fail(error)
        else:
            too_late(error)

    def _fail(self, error: Exception) -> None:
        self._failed = True
        self._outlet.complete(error)
        self._cancel()

    def _cancel(self) -> None:
        with self._outlet.lock:
            newest, self.newest = self.newest, None
        if self._upstream is not None and not self._done:
            self._upstream.cancel()
        if newest is not None:
            newest.cancel()
