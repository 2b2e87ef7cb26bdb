"""concat_map: turn each element into a stream, and emit one of them after the other.

Group: change each element
Marble: a.concat_map(lambda n: Stream.just(n, n).delay(2, clock=clock)) over -12----3|
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.relay import Relay
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.runs.given import connect_to
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Joint, Sight

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class ConcatMap(Joint[A, B]):
    """Emit the elements of the publisher or iterable that the function returns for each element, in order.

    Emits when the current publisher does. Backpressures when downstream does: it holds nothing, and asks upstream for
    the next element when the current publisher has completed and downstream asks. Completes when upstream and the last
    publisher have completed; fails if a publisher does, and with a failure of upstream after the current publisher.
    Cancels upstream and the current publisher.
    """

    fn: Callable[[A], Publisher[B] | Iterable[B] | AsyncIterable[B]]
    sight: ClassVar[Sight] = Sight.ITEM

    @property
    def steady(self) -> bool:
        """Tell that one publisher comes after the other; the function is taken to return the same for the same."""
        return True

    @property
    def reads(self) -> int:
        """Return that it reads one publisher after the other."""
        return 1

    def __post_init__(self) -> None:
        function_given("concat_map", "fn", self.fn)

    def open(self, downstream: Subscriber[B], /) -> Subscriber[A]:
        """Return the subscriber of the elements to be mapped."""
        return _Outer(_ConcatMapRun(self, downstream))


class _Outer(Upstream):
    """The subscriber of the elements to be mapped."""

    __slots__ = ("_run", "done", "error")

    def __init__(self, run: _ConcatMapRun) -> None:
        super().__init__(run.height)
        self._run = run
        self.done = False
        self.error: Exception | None = None
        run.outer = self

    def subscribed(self) -> None:
        self._run.start()
        self._run.go_on()

    def came(self, element: Any, /) -> None:
        self._run.follow(element)

    def ended(self, error: Exception | None, /) -> None:
        if self._run.over:
            too_late(error)
        else:
            self.error = error
            self.done = True
            self._run.no_more()

    def cancel(self) -> None:
        error, self.error = self.error, None
        too_late(error)
        super().cancel()


class _ConcatMapRun(Relay[Any]):
    """A relay over one publisher after the other; `_busy` says that there is a current one, or one is `_asked` for."""

    outer: _Outer

    def __init__(self, step: ConcatMap[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self._guard = Lock()
        self._busy = False
        self._asked = False

    def requested(self, n: int, first: bool) -> None:
        if first and not self._opening:
            self.go_on()

    def completed(self) -> None:
        with self._guard:
            self._busy = False
        self.go_on()

    def go_on(self) -> None:
        """Ask for the next element if there is no current publisher and downstream asks, or end after the last one."""
        outer = self.outer
        with self._guard:
            if self._busy:
                return
            asks = self._asked = not outer.done and self.demand > 0
            self._busy = asks or outer.done
        if asks:
            outer.request(1)
        elif outer.done:
            error, outer.error = outer.error, None
            self.end(error)

    def no_more(self) -> None:
        """Take note that no element comes, not even one that was asked for."""
        with self._guard:
            if self._asked:
                self._asked = self._busy = False
        self.go_on()

    def follow(self, element: Any) -> None:
        """Attach the publisher of an element."""
        self._asked = False
        self.attach(lambda leg: self._connect(element, leg))

    def _connect(self, element: Any, leg: Subscriber[Any]) -> None:
        fn = self._step.fn
        try:
            connect_to("concat_map", fn(element), leg)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.end(blamed(error, self._step, fn))

    def released(self) -> None:
        self.outer.cancel()
