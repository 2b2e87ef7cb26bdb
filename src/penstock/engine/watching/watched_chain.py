"""watched_chain: see the runs of one chain: loops that count, and gauges where signals are passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress, islice
from operator import length_hint
from typing import Any

from penstock.engine.runs.chain import ITERATED
from penstock.engine.runs.pushed_run import PushRun
from penstock.engine.watching.chain_meter import Meter
from penstock.engine.watching.loop_meter import LoopMeter, PushMeter, count_ready, lies_ready
from penstock.engine.watching.signal_meter import Gauge
from penstock.engine.watching.weave_observed import (
    CleanObservedWeaver,
    ObservedPushWeaver,
    ObservedWeaver,
)
from penstock.engine.weaving.iterators import in_turns
from penstock.engine.weaving.segment import Delivers, Pushed, Segment, Trace
from penstock.engine.weaving.weave import Form
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, LoopGate, Opener

MOST_BARE = 16
"""How many sources that are iterated as they are may be left in the middle before they are forgotten."""

_NAMES: dict[str, Any] = {"compress": compress, "end": object(), "islice": islice}


class ChainWatch:
    """The view of the runs of one chain."""

    __slots__ = ("bare", "gauges", "iterated", "meter")

    def __init__(self, meter: Meter, *, top: bool) -> None:
        self.meter = meter
        self.gauges: dict[int, Gauge] = {}
        """The latest gauge behind each step."""
        self.bare: list[tuple[Callable[[], None], Iterator[Any]]] = []
        """What ends the counting of sources that are iterated as they are."""
        self.iterated = top
        """Whether the end of the loop is the end of what is observed."""

    def segment(self, stages: Sequence[Any], first: int, total: int, trace: Trace | None, /) -> Segment:
        """Return a segment whose loops count."""
        return _WatchedSegment(self, stages, first, total, trace)

    def behind(self, start: int, stop: int, subscriber: Subscriber[Any], /) -> Subscriber[Any]:
        """Put a gauge behind steps[start:stop], or behind the source."""
        steps = self.meter.chain.steps
        last = self.iterated and stop == len(steps)
        if last:
            self.iterated = False  # there is a subscriber, so its gauge sees the end
        signals = start == stop or (stop > 0 and isinstance(steps[stop - 1], Joint))
        chunks = signals or (stop < len(steps) and isinstance(steps[stop], Joint))
        pushed = signals and stop < len(steps) and isinstance(subscriber, PushRun)  # one of this chain, which counts
        passes = chunks and start != ITERATED and not pushed  # these keep the time of what follows themselves
        gauge = Gauge(self.meter, start, stop, subscriber, counts=signals, passes=passes, chunks=chunks, last=last)
        gauge.delegates = pushed
        self.gauges[stop] = gauge
        return gauge


def _noted(inputs: list[Iterator[Any]], opener: Opener[Any], gate: LoopGate | None) -> Iterator[Any]:
    """Open one of several runs that a source is made of, and add it to those that are known."""
    iterator = opener(gate)
    inputs.append(iterator)
    return iterator


class _WatchedSegment(Segment):
    """A segment whose stages are opened as loops and functions that count and take the time."""

    __slots__ = ("_watch",)

    def __init__(self, watch: ChainWatch, stages: Sequence[Any], first: int, total: int, trace: Trace | None) -> None:
        super().__init__(stages, first, total, trace)
        self._watch = watch

    def open_form(
        self, form: Form, source: Callable[[LoopGate | None], Any], gate: LoopGate | None, *, clean: bool = False
    ) -> Any:
        """Open one run in a form."""
        watch = self._watch
        iterator: Any = None
        if clean and not self.stages and not watch.iterated:
            iterator = source(gate)
            if lies_ready(iterator):
                self._count(iterator)
                return iterator
            source = lambda _, iterator=iterator: iterator  # type: ignore[misc]  # noqa: E731
        inputs: list[Iterator[Any]] = []
        if isinstance(source, partial) and source.func is in_turns:
            source = partial(in_turns, [partial(_noted, inputs, opener) for opener in source.args[0]])
        for function, where, fields in self.prepared(form, _NAMES, CleanObservedWeaver if clean else ObservedWeaver):
            stages, loop, first, *_ = where
            last = loop.stop == len(stages)
            meter = LoopMeter(
                watch.meter,
                [stage.body for stage in stages[loop.first : loop.stop]],
                first + loop.first,
                sourced=form != "fed" and first + loop.first == 0,
                top=watch.iterated and last,
                signals=form == "sync" and last and self._joint_follows(),
            )
            meter.inputs, inputs = inputs, []
            iterator = function(source, gate, where, meter, *fields)
            source = lambda _, iterator=iterator: iterator  # type: ignore[misc]  # noqa: E731
        return iterator

    def _joint_follows(self) -> bool:
        """Tell whether signals go from here to a joint."""
        steps, stop = self._watch.meter.chain.steps, self.first + len(self.stages)
        return stop in self._watch.gauges and stop < len(steps) and isinstance(steps[stop], Joint)

    def _count(self, source: Iterator[Any]) -> None:
        """Count what is taken from a source that is iterated as it is; there is no signal of its end."""
        left = [(end, iterator) for end, iterator in self._watch.bare if length_hint(iterator)][-MOST_BARE:]
        for end, _ in set(self._watch.bare) - set(left):
            end()
        self._watch.bare = [*left, (count_ready(self._watch.meter, source), source)]

    def ready(self, source: Iterator[Any]) -> None:
        """Count what is taken from a source that is delivered as it is; the gauge behind it ends that."""
        self._behind().on_end = count_ready(self._watch.meter, source)

    def open_pushed(self, run: Delivers) -> Pushed:
        """Open a run as a function, counted and timed; the gauge behind it ends it."""
        ((function, where, fields),) = self.prepared("push", _NAMES, ObservedPushWeaver)
        before = self._watch.gauges.get(self.first)
        if before is not None and not before.delegates:
            before = None
        meter = PushMeter(self._watch.meter, [stage.body for stage in self.stages], self.first, run, before)
        fold, push, tails, stands = function(where, run.last, meter, meter.failing(where), *fields)
        if before is not None:  # which counts what comes in chunks
            run.push_many, run.fold = meter.push_many, fold
        self._behind().on_end = meter.end
        return push, tails, stands

    def _behind(self) -> Gauge:
        return self._watch.gauges[self.first + len(self.stages)]
