"""sample: emit the latest element at every tick.

Group: mind the time
Marble: a.sample(3, clock=clock) over -12--3----4|
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.beside import Beside
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber
from penstock.stage import Holding, MakeWaiting, Results, Source, Tie, Waiting
from penstock.stage.waiting import next_tick


class _Ticks(Holding):
    """The rule, in pieces, for ticks at a steady pace: the latest element is held until the next one.

    The pace begins with the run. Where nothing is held no tick is waited for.
    """

    __slots__ = ("start",)
    kept: ClassVar[tuple[str, ...]] = ("items", "start", "due")

    def begin(self, now: float, /) -> None:
        super().begin(now)
        self.start = now

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        if self.due is None:
            self.due = next_tick(self.start, self.seconds, now)
        self.items = [element]
        return ()


def _paced(step: Sample) -> Waiting | None:
    """Return the rule for a pace; what another stream says cannot be known in advance."""
    pace = step.ticks.source.pace
    return None if pace is None or step.ticks.steps else _Ticks(pace)


@dataclass(frozen=True, slots=True)
class Sample(Source[Any]):
    """Emit the latest element of the stream whenever the other stream emits, if there has been one since.

    Emits when the other stream does. Backpressures never: it asks for everything and holds the latest element and one
    that was sampled; a sampled element that was not asked for gives way to a newer one. Completes when either stream
    completes, after the element that it holds; fails with the first failure. Cancels both streams, also when it
    completes.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.TIME
    waits: ClassVar[MakeWaiting | None] = _paced
    stream: Chain
    ticks: Chain

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the ticks, then to the stream."""
        run = _SampleRun(downstream)
        run.outlet.open()
        for chain, hand in ((self.ticks, run.ticks), (self.stream, run.elements)):
            if not hand.over:
                connect(chain, hand)


class _SampleRun(Part):
    def __init__(self, downstream: Subscriber[Any]) -> None:
        self.height = height_of(downstream) + 1
        self._latest: tuple[Any] | None = None
        self.elements = Beside(self.height, self._remember, self.end)
        self.ticks = Beside(self.height, self._tick, self.end)
        self.outlet: Outlet[Any] = Outlet(downstream)
        self.outlet.on_cancel = self._cancel

    def _remember(self, element: Any) -> None:
        self._latest = (element,)

    def _tick(self, _: Any) -> None:
        outlet = self.outlet
        with outlet.lock:  # for both: the end may come while another thread ticks, and an older element must not follow
            latest, self._latest = self._latest, None
            if latest is None:
                return
            if outlet.queue:
                outlet.queue.pop()
            outlet.queue.append(latest[0])
        outlet.wake()

    def end(self, error: Exception | None) -> None:
        """End with the element that is held, whichever stream has ended."""
        self._tick(None)
        self.outlet.complete(error)
        self._cancel()

    def _cancel(self) -> None:
        self._latest = None
        for hand in (self.elements, self.ticks):
            hand.cancel()
