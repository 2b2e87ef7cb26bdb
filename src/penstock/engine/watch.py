"""watch: see the runs of one chain: loops that count, and gauges where signals are passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress, islice
from operator import length_hint
from typing import Any

from penstock.engine.chain import ITERATED
from penstock.engine.gauge import Gauge
from penstock.engine.loop_meter import LoopMeter, PushMeter, SourceMeter, lies_ready
from penstock.engine.meter import Meter
from penstock.engine.push import PushRun
from penstock.engine.segment import Delivers, Pushed, Segment
from penstock.engine.weave import Form
from penstock.engine.weave_observed import CleanObservedWeaver, ObservedPushWeaver, ObservedWeaver
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gate, Joint

MOST_BARE = 16
"""How many sources that are iterated as they are may be left in the middle before they are forgotten."""

_NAMES: dict[str, Any] = {"compress": compress, "end": object(), "islice": islice}


class ChainWatch:
    """See the runs of one chain."""

    __slots__ = ("_bare", "_gauges", "_iterated", "meter")

    def __init__(self, meter: Meter, *, top: bool) -> None:
        self.meter = meter
        self._gauges: dict[int, Gauge] = {}
        """The latest gauge behind each step."""
        self._bare: list[tuple[SourceMeter, Iterator[Any]]] = []
        """What counts sources that are iterated as they are."""
        self._iterated = top
        """Whether the end of the loop is the end of what is observed."""

    def open(
        self,
        segment: Segment,
        form: Form,
        source: Callable[[Gate | None], Any],
        gate: Gate | None,
        /,
        *,
        clean: bool = False,
    ) -> Any:
        """Open a run of a segment, counted and timed."""
        iterator: Any = None
        if clean and not segment.stages and not self._iterated:
            iterator = source(gate)
            if lies_ready(iterator):
                self._count(iterator)
                return iterator
            source = lambda _, iterator=iterator: iterator  # type: ignore[misc]  # noqa: E731
        weaver = CleanObservedWeaver if clean else ObservedWeaver
        for function, where, fields in segment.prepared(form, _NAMES, weaver):
            stages, loop, first, *_ = where
            meter = LoopMeter(
                self.meter,
                [stage.body for stage in stages[loop.first : loop.stop]],
                first + loop.first,
                sourced=form != "fed" and first + loop.first == 0,
                top=self._iterated and loop.stop == len(stages),
                signals=form == "sync" and loop.stop == len(stages) and self._joint_follows(first + loop.stop),
            )
            iterator = function(source, gate, where, meter, *fields)
            source = lambda _, iterator=iterator: iterator  # type: ignore[misc]  # noqa: E731
        return iterator

    def _joint_follows(self, stop: int) -> bool:
        """Tell whether signals go from steps[:stop] to a joint."""
        steps = self.meter.steps
        return stop in self._gauges and stop < len(steps) and isinstance(steps[stop], Joint)

    def ready(self, segment: Segment, source: Iterator[Any], /) -> None:
        """Count what is taken from a source that is delivered as it is; the gauge behind it ends that."""
        self._gauges[segment.first + len(segment.stages)].on_end(SourceMeter(self.meter, source).end)

    def _count(self, source: Iterator[Any]) -> None:
        """Count what is taken from a source that is iterated as it is; nobody says when that is over."""
        left = [(part, iterator) for part, iterator in self._bare if length_hint(iterator)][-MOST_BARE:]
        for part, iterator in self._bare:
            if not any(iterator is other for _, other in left):
                part.end()
        self._bare = [*left, (SourceMeter(self.meter, source), source)]

    def push(self, segment: Segment, run: Delivers, /) -> Pushed:
        """Open a run of a segment as a function, counted and timed; the gauge behind it ends it."""
        ((function, where, fields),) = segment.prepared("push", _NAMES, ObservedPushWeaver)
        stages, _, first, *_ = where
        before = self._gauges.get(first)
        if before is not None and not before.delegates:
            before = None
        meter = PushMeter(self.meter, [stage.body for stage in stages], first, run, before)
        opened: Pushed = function(where, run.last, meter, *fields)
        self._gauges[first + len(stages)].on_end(meter.end)
        return opened

    def behind(self, start: int, stop: int, subscriber: Subscriber[Any], /) -> Subscriber[Any]:
        """Put a gauge behind steps[start:stop], or behind the source."""
        steps = self.meter.steps
        last = self._iterated and stop == len(steps)
        if last:
            self._iterated = False  # there is a subscriber, so its gauge sees the end
        signals = start == stop or (stop > 0 and isinstance(steps[stop - 1], Joint))
        chunks = signals or (stop < len(steps) and isinstance(steps[stop], Joint))
        pushed = signals and isinstance(subscriber, PushRun)
        passes = chunks and start != ITERATED and not pushed  # these keep the time of what follows themselves
        gauge = Gauge(self.meter, start, stop, subscriber, counts=signals, passes=passes, chunks=chunks, last=last)
        gauge.delegates = pushed
        self._gauges[stop] = gauge
        return gauge
