"""keep_alive: emit something when nothing comes for a while.

Group: mind the time
Marble: a.keep_alive(2, 'beat', clock=clock) over -1-2------3|
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from penstock.engine.grounds.timed import Timed
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.arguments import Missing, count_given, elements_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, MakeWaiting, Silence, Tie

T = TypeVar("T")
U = TypeVar("U")


class _Beats(Silence):
    """The rule, in pieces, where everything is asked for: silence is filled each time it has lasted so long."""

    __slots__ = ("_step",)
    endless: ClassVar[bool] = True

    def __init__(self, step: KeepAlive[Any, Any]) -> None:
        super().__init__(step.seconds)
        self._step = step

    def rang(self, now: float, /) -> Iterable[Any]:
        self.due = now + self.seconds
        return (self._step.filler(),)


@dataclass(frozen=True, slots=True)
class KeepAlive(Joint[T, T | U], Generic[T, U]):
    """Emit `value`, or what `fn` returns, when an element that was asked for has not come for `seconds`.

    Emits when upstream emits, or has been silent for `seconds`. Backpressures when downstream does: while nothing is
    asked for no time passes, and at most `size` elements are held, those whose place was taken meanwhile. Completes
    when upstream completes; fails if the function raises. Cancels when downstream cancels.
    """

    tie: ClassVar[Tie] = Tie.TIME
    waits: ClassVar[MakeWaiting | None] = _Beats
    seconds: float
    value: U | Literal[Missing.MISSING] = Missing.MISSING
    fn: Callable[[], U] | None = None
    size: int = 256
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("keep_alive", "seconds", self.seconds, zero=False)
        if (self.value is Missing.MISSING) == (self.fn is None):
            raise TypeError("keep_alive: one of value and fn must be given")
        elements_given("keep_alive", self.value)
        if self.fn is not None:
            function_given("keep_alive", "fn", self.fn)
        count_given("keep_alive", "size", self.size, 1)
        clock_given("keep_alive", self.clock)

    def open(self, downstream: Subscriber[T | U], /) -> Subscriber[T]:
        """Put an outlet with a timer in front of what follows."""
        return _KeepAliveRun(self, downstream)

    def filler(self) -> Any:
        """Return what fills a silence."""
        if self.fn is None:
            return self.value
        made = self.fn()
        if made is None:
            raise no_element()
        return made


class _KeepAliveRun(Timed):
    """A run that sets the alarm when something is asked for, and again when an element comes."""

    def __init__(self, step: KeepAlive[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, step.clock, step.size)
        self._step = step
        self._waits = False
        """Whether something is asked for; else no time passes, and the alarm rings for nothing."""

    def arrived(self, element: Any) -> None:
        if self._waits:
            self.alarm.set(self._step.seconds)
        with self.lock:
            self.credit.arrived()
        self.outlet.offer(element)

    def requested(self, _: int) -> None:
        with self.lock:
            waits, self._waits = self._waits, True
        if not waits:
            self.alarm.set(self._step.seconds)
        self.ask()

    def taken(self, count: int) -> None:
        with self.lock:
            self.credit.held -= count
            self._waits = self._waits and self._hungry()
        self.ask()

    def _hungry(self) -> bool:
        return self.outlet.demand > len(self.outlet.queue)

    def rang(self, _: object) -> None:
        """Fill the silence."""
        if self._waits and not self.over:
            self._fill()
            if self._waits:
                self.alarm.set(self._step.seconds)

    def _fill(self) -> None:
        try:
            filler = self._step.filler()
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.fail(blamed(error, self._step, self._step.fn))
            return
        with self.lock:
            hungry = self._hungry() and not self.over
            if hungry:
                self.credit.held += 1
                self.outlet.queue.append(filler)
        if hungry:
            self.outlet.wake()
