"""switch_map: turn each element into a stream, and emit the newest of them alone.

Group: change each element
Marble: a.switch_map(lambda n: Stream.interval(1, clock=clock).map(lambda _: n).take(3)) over -1----23|
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.upstream import Queued, Upstream
from penstock.engine.runs.given import connect_to
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Publisher, Subscriber
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


class _Inner(Upstream):
    """The subscriber of one publisher; `owed` is what it was asked for and has not given."""

    __slots__ = ("_run", "owed")

    def __init__(self, run: _SwitchMapRun) -> None:
        super().__init__(run.height, run.prefetch)
        self._run = run
        self.owed = 0

    def subscribed(self) -> None:
        self._run.ask()

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        self._run.arrived(self, element)  # though it was left: what is dropped is told of

    def ended(self, error: Exception | None, /) -> None:
        self._run.inner_ended(self, error)


class _SwitchMapRun(Queued):
    """The run over the newest publisher; the outlet's lock guards which one it is and what it owes."""

    def __init__(self, step: SwitchMap[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self.prefetch = step.prefetch
        self._done = self._failed = False
        self._told = step.fn if isinstance(step.fn, LeavingFunction) else None
        self.newest: _Inner | None = None

    def came(self, element: Any, /) -> None:
        inner = _Inner(self)
        with self.outlet.lock:
            if self.outlet.closed:
                return
            before, self.newest = self.newest, inner
        if before is not None:
            before.cancel()
        fn = self._step.fn
        try:
            connect_to("switch_map", fn(element), inner)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.fail(blamed(error, self._step, fn))

    def ended(self, error: Exception | None, /) -> None:
        if error is not None:
            self.fail(error)
            return
        with self.outlet.lock:
            self._done = True
            over = self.newest is None
        if over:
            self.outlet.complete()

    def requested(self, _: int, /) -> None:
        """Ask upstream for everything when downstream asks for the first, and the newest for what is asked for."""
        if not self.begun:
            self.begin()
        self.ask()

    # The publishers.

    def ask(self) -> None:
        """Ask the newest for what is asked for below, up to a window and then by halves of it."""
        outlet = self.outlet
        with outlet.lock:
            newest = self.newest
            if newest is None or not newest.here:
                return
            wanted = outlet.demand - len(outlet.queue)
            room = self.prefetch - len(outlet.queue)
            more = min(wanted, room) - newest.owed
            if more <= 0 or (room < wanted and more < newest.half):
                return
            newest.owed += more
        newest.request(more)

    def arrived(self, inner: _Inner, element: Any) -> None:
        if self._told is not None:
            element = self._told.takes(element)
        with self.outlet.lock:
            taken = inner is self.newest and not self.outlet.closed
            if taken:
                inner.owed -= 1
                self.outlet.queue.append(element)  # before the next one can become the newest
            left = not taken and not self.outlet.closed and not self._failed
        if taken:
            self.outlet.wake()
        elif left and self._told is not None:
            self._told.drops(element)

    def taken(self, _: int, /) -> None:
        newest = self.newest
        if newest is not None and newest.owed <= newest.half:
            self.ask()

    def inner_ended(self, inner: _Inner, error: Exception | None) -> None:
        with self.outlet.lock:
            left = inner is not self.newest
            over = self._done
            if error is None and not left:
                self.newest = None
        if left:
            too_late(error)
        elif error is not None:
            self.fail(error)
        elif over:
            self.outlet.complete()

    def fail(self, error: Exception) -> None:
        self._failed = True
        self.outlet.complete(error)
        self.cancel()

    def cancel(self) -> None:
        with self.outlet.lock:
            newest, self.newest = self.newest, None
        super().cancel()
        if newest is not None:
            newest.cancel()
