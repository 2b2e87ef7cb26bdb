"""stopping: the valves of a run, which stand where all that is inside of its steps comes to the end behind them.

What has come out of a source is done only at the end of the run, so a valve stands right behind each source, and the
steps behind the valve see a completion. For a source that is made of other streams it stands inside, behind the sources
of these, if they are all that the source waits for: closed valves let no further stream begin, so `concat` goes on to
nothing, a failure of what `retry` tries ends the run, and a wait that a clock would end is over at once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.engine.places.clocks import TASK_RAISED, Cancel, Clock, Task
from penstock.engine.places.context import carried
from penstock.engine.runs.chain import Chain, inner_chains, with_other_chains
from penstock.engine.weaving.handled_errors import caught
from penstock.engine.words.dropped import attempt
from penstock.operators.checked import Checked
from penstock.operators.combine_latest import CombineLatest
from penstock.operators.concat import Concat
from penstock.operators.delay_subscription import DelaySubscription
from penstock.operators.interleave import Interleave
from penstock.operators.join import Join
from penstock.operators.materialize import Materialize
from penstock.operators.merge import Merge
from penstock.operators.merge_sorted import MergeSorted
from penstock.operators.metrics import Metrics
from penstock.operators.observed import Observed
from penstock.operators.race import Race
from penstock.operators.retry import Retry
from penstock.operators.sample import Sample
from penstock.operators.skip_until import SkipUntil
from penstock.operators.subscribe_on import SubscribeOn
from penstock.operators.switch_if_empty import SwitchIfEmpty
from penstock.operators.take_until import TakeUntil
from penstock.operators.window import WindowUntil
from penstock.operators.with_context import WithContext
from penstock.operators.with_latest_from import WithLatestFrom
from penstock.operators.zip import Zip
from penstock.run.branches import Branches
from penstock.run.valves.valve import Valve, Valved
from penstock.stage import Joint, Source

_END_WITH_THEIRS = (
    Branches, Checked, CombineLatest, Concat, DelaySubscription, Interleave, Join, Materialize, Merge, MergeSorted,
    Metrics, Observed, Race, Retry, SubscribeOn, SwitchIfEmpty, WithContext, WithLatestFrom, Zip,
)  # fmt: skip
"""Sources that are made of streams, and have ended when these have."""
_END_WITH_ONE = (Sample, SkipUntil, TakeUntil, WindowUntil)
"""Those that have ended when their field `stream` has; another one only gives signs."""
_WAIT = (DelaySubscription, Retry)
"""Those that wait for a time before they subscribe."""


class _HurriedWait:
    """A task that waits for its time, or for the valve to be closed."""

    __slots__ = ("_cancel", "_task", "_valve")
    demand = 0

    def __init__(self, clock: Clock, seconds: float, task: Task, valve: Valve) -> None:
        self._task = [carried(task)]
        self._valve = valve
        self._cancel = clock.call_later(seconds, self._ring)
        valve.enter(self)
        if valve.closed:
            self.close()
        elif not self._task:  # called meanwhile
            valve.leave(self)

    def call_off(self) -> None:
        """Do not call it, if that has not happened yet."""
        self._task.clear()
        self._valve.leave(self)
        self._cancel()

    def close(self) -> None:
        """Call it now."""
        self._cancel()
        self._ring()

    def _ring(self) -> None:
        self._valve.leave(self)
        try:
            task = self._task.pop()
        except IndexError:
            return
        attempt(TASK_RAISED, task)


class _Hurried:
    """A clock whose tasks are called at once where the valve is closed."""

    __slots__ = ("_clock", "_valve", "now")

    def __init__(self, clock: Clock, valve: Valve) -> None:
        self._clock = clock
        self._valve = valve
        self.now = clock.now

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` after `seconds`, or when the valve is closed."""
        return _HurriedWait(self._clock, seconds, task, self._valve).call_off


def _while_open(valve: Valve, step: Retry, error: Exception) -> bool:
    """Tell whether an attempt that has failed is followed by another; behind a closed valve that would read nothing."""
    if valve.closed:
        return False
    meant, failure = caught(step, step.when, error)
    if failure is not error:  # the function that says so has raised
        raise failure
    return meant


def valved(chain: Chain, valve: Valve) -> Chain:
    """Put a valve behind each source of a chain; where it branches or comes together, that is before it does.

    There are sources that do more than to end when the streams that they are made of do, or that others share. Behind
    these is a valve for the whole, and what is inside of them is cancelled.
    """
    walk, valves = [chain], dict[int, Chain]()
    while walk:  # chains may be nested deeper than Python's stack
        at = walk[-1]
        inner = _ending(at.source)
        waiting = [each for each in inner if id(each) not in valves]
        if waiting:
            walk.extend(waiting)
            continue
        walk.pop()
        if inner:
            source = _stopped(at.source, valves, valve)
        else:
            # A collection lies ready, so a step that sees signals gets many of its elements at a time; a loop iterates.
            in_chunks = at.source.plain and bool(at.steps) and isinstance(at.steps[0], Joint)
            source = Valved(Chain(at.source), valve, iterates=not in_chunks)
        valves[id(at)] = Chain(source, at.steps, at.places)
    return valves[id(chain)]


def _ending(source: Source[Any]) -> list[Chain]:
    """Return the chains inside of a source that has ended when they have."""
    if isinstance(source, _END_WITH_ONE):
        return [source.stream]
    return inner_chains(source) if isinstance(source, _END_WITH_THEIRS) else []


def _stopped(source: Source[Any], valves: dict[int, Chain], valve: Valve) -> Source[Any]:
    """Return a source over chains with valves, which waits for no time and handles no failure once these are closed."""
    changes: dict[str, object] = {"clock": _Hurried(source.clock, valve)} if isinstance(source, _WAIT) else {}
    if isinstance(source, Retry):
        changes["when"] = partial(_while_open, valve, source)
    return with_other_chains(source, lambda each: valves.get(id(each), each), **changes)


__all__ = ["valved"]
