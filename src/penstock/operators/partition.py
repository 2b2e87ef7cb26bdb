"""partition: send each element to one of two streams.

Group: split a stream
Marble: a.partition(lambda n: n % 2) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, ClassVar

from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.many.shared_run import WAIT, Member, SharedRun, Slow
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


class _ForkRun(SharedRun):
    """The run whose elements go to one of two sides; a side whose subscriber is gone takes nothing."""

    def __init__(self, step: Partition) -> None:
        super().__init__(step.size, step.slow)
        self._step = step
        self._sides = self.members = (Member(), Member())

    def join(self, place: int, downstream: Subscriber[Any]) -> bool:
        """Take a side; tell whether the run was still good for it."""
        side = self._sides[place]
        with self.lock:
            if self.cancelled:
                return False
            self.seat(side, downstream)
        side.open()
        return True

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        if self.done:
            return
        try:
            side = self._sides[0 if self._step.predicate(element) else 1]
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.end(blamed(error, self._step, self._step.predicate), cancel=True)
            return
        if side in self.members:
            if side.give(element):
                side.came += 1
            else:
                self.queue(side, element)
        self.sent += 1
        if self.asked - self.sent <= self.half:
            self.ask()

    def allowed(self) -> tuple[int, int]:
        wanted = max([side.wanted for side in self.members])
        waits = self.slow is WAIT
        room = min([side.room(self.size) for side in self.members]) if waits else self.size
        return min(wanted, room), wanted

    def left_alone(self) -> bool:
        return not any(side.taken for side in self.members)

    def forget(self) -> None:
        for side in self._sides:
            if not side.taken:  # one that is drains, or lets go of what is queued
                side.queue.clear()

    def behind(self) -> str:
        return (
            f"partition: this side is {self.size} elements behind the other one; take both at the same time, "
            "raise size, or let it miss elements with slow=Slow.DROP"
        )


class Fork:
    """The holder of the run that has a side to take; it makes a fresh one when there is none.

    A subscriber that comes when its side is taken begins another run.
    """

    __slots__ = ("_lock", "_run", "_taken")

    def __init__(self) -> None:
        self._lock = Lock()
        self._run: _ForkRun | None = None
        self._taken: set[int] = set()

    def join(self, step: Partition, downstream: Subscriber[Any]) -> None:
        """Take a side of the current run, or of a fresh one, which begins with this subscriber."""
        place = 0 if step.wanted else 1
        while True:
            with self._lock:
                run = self._run
                start = run is None or run.cancelled or place in self._taken
                if run is None or start:
                    run = self._run = _ForkRun(step)
                    self._taken = set()
                self._taken.add(place)
                if len(self._taken) == 2:
                    self._run = None  # both sides are taken
            if run.join(place, downstream):
                if start:
                    run.start(step.stream)
                return

    def __reduce__(self) -> tuple[type[Fork], tuple[()]]:
        return (Fork, ())


@dataclass(frozen=True, slots=True)
class Partition(Source[Any]):
    """Emit one side of one run: the elements for which the predicate is true, or the others.

    Emits when the stream does and the element is for this side. Backpressures when both sides do; elements that the
    other side has not asked for wait, up to `size`, also before it is subscribed. Then by `slow` that side fails with
    OverflowedError and this one goes on, or it misses elements, or if told to WAIT this one waits for it, for a
    subscriber that is yet to come too. Completes when the stream completes. Cancels the stream when no side is left.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.STREAMS
    stream: Chain
    predicate: Callable[[Any], object]
    wanted: bool
    size: int = 256
    slow: Slow = Slow.ERROR
    fork: Fork = field(default_factory=Fork, compare=False, repr=False)
    passes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        function_given("partition", "predicate", self.predicate)
        count_given("partition", "size", self.size, 1)
        if not isinstance(self.slow, Slow):
            raise TypeError(f"partition: slow must be a Slow, got {self.slow!r}")

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Take this side of a run, or start one."""
        self.fork.join(self, downstream)
