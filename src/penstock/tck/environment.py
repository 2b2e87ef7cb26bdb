"""environment: what one trial of a rule runs in: its probes, its patience, and where breaches are noted.

A trial never sleeps and never measures: it waits until something holds (`wait_until`), or lets the world come to rest
(`rest`, or a bare `yield` in a trial written as a generator) and then looks. Signals arrive on foreign threads, where
raising would only confuse the subject, so whatever is seen there is noted (`fail`, `breach`) and judged afterwards.

What bounds a trial is `Limits`: it waits for no more than `elements`, and `timeout` is how long its subject may do
nothing at all, counted from the last signal that this trial has seen of it.
"""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.spec.shown import shown
from penstock.tck.activity import Activity
from penstock.tck.outcome import Limits
from penstock.tck.patience import Patience
from penstock.tck.planned import PlannedFailure
from penstock.tck.probe import Runaway, TrialProbe

R = TypeVar("R")
_MISSES = 3
_FEWEST = 5  # elements that a trial may wait for however low the limits are
_SIGNALS = 20  # for each element of the limits, after which a subject that goes on is waited for no longer
_ENOUGH = 100  # elements, at the least, for that


class NotApplicable(Exception):
    """The reason why a trial cannot be held against this subject."""


@dataclass(frozen=True, slots=True)
class Breach:
    """The record of a rule that was seen broken, whichever rule the trial was about."""

    rule: str
    message: str


class Environment:
    """The probes and the findings of one trial."""

    def __init__(
        self, limits: Limits, activity: Activity | None = None, settle: Callable[[], object] | None = None
    ) -> None:
        self.limits = limits
        self.activity = activity or Activity()
        self.settle = settle and _past_planned(settle)
        self.failures: list[str] = []
        self.kept: list[object] = []  # what must outlive the trial's own references
        self.breaches: list[Breach] = []
        self.stuck = False  # given up on: a party that still signals is to be stopped
        self.rested = True
        self.sent_at = 0.0  # when the trial last sent its subject an element
        self.events = 0  # signals that came and calls that were made in this trial
        self.patience = Patience(limits.timeout)
        """How long the trial may stand still before it is given up."""
        self._elements = 0
        self._seconds = 0.0
        self._running: list[OtherThread[Any]] = []
        self._probes: weakref.WeakSet[TrialProbe] = weakref.WeakSet()
        self._waiting = 0
        self._lingering = 0  # signals that the trial itself stays inside of

    def probe(
        self,
        *,
        on_subscribe: Callable[[TrialProbe], object] | None = None,
        on_next: Callable[[TrialProbe, Any], object] | None = None,
        on_end: Callable[[TrialProbe], object] | None = None,
    ) -> TrialProbe:
        """Make a recording subscriber of this trial, whose hooks run inside its signals."""
        probe = TrialProbe(self, on_subscribe=on_subscribe, on_next=on_next, on_end=on_end)
        self._probes.add(probe)
        return probe

    def pulse(self) -> None:
        """Take that something happened in this trial, and tell everyone who waits."""
        self.events += 1
        if self.events < _SIGNALS * max(self.limits.elements, _ENOUGH):
            self.stay_alive(2 if self._waiting else 1)
        self.activity.pulse()

    def element_took(self, seconds: float) -> None:
        """Take how long an element took to come."""
        self._elements += 1
        self._seconds += seconds
        self.activity.element_took(seconds)
        self.activity.trial_took(self._seconds / self._elements)

    @property
    def quiet(self) -> float:
        """Return for how many seconds nothing has to happen before nothing more is to be expected."""
        return self.activity.quiet(self.limits.quiet, self.limits.timeout)

    def most(self, wanted: int) -> int:
        """Return how many of the elements wanted a trial may wait for: by the limits, and by what a timeout is."""
        pace, timeout = self.activity.pace, self.limits.timeout
        in_time = wanted if pace * wanted <= timeout else int(timeout / pace)
        return min(wanted, max(_FEWEST, min(self.limits.elements, in_time)))

    def fail(self, message: str) -> None:
        """Note, from any thread, that the trial failed."""
        self.failures.append(message)
        self.pulse()

    def breach(self, rule: str, message: str) -> None:
        """Note, from any thread, that `rule` was broken; its own trial fails for it, not this one."""
        self.breaches.append(Breach(rule, message))

    def check(self, holds: bool, message: str) -> None:
        """Fail the trial unless `holds`, or if something failed on another thread."""
        self.raise_failure()
        if not holds:
            raise AssertionError(message)

    def raise_failure(self) -> None:
        """Raise the first failure noted so far, if any."""
        if self.failures:
            raise AssertionError(self.failures[0])

    def wait_until(self, holds: Callable[[], bool], message: str) -> None:
        """Wait until `holds()`; fail the trial with `message` when patience runs out."""
        if not self.comes(holds):
            raise AssertionError(message)

    def comes(self, holds: Callable[[], bool], *, due: bool = True) -> bool:
        """Wait until `holds()` and tell whether it came to hold, within the timeout after the last signal.

        What is not `due` may stay away without telling anything about the subject.
        """
        self.raise_failure()
        if holds():
            return True
        self.stay_alive(2)
        self._waiting += 1
        try:
            came = self._wait(lambda: bool(self.failures) or holds())
        finally:
            self._waiting -= 1
        self.activity.misses += due and not came
        self.stay_alive()
        self.raise_failure()
        return came

    def _wait(self, holds: Callable[[], bool]) -> bool:
        timeout, activity = self.limits.timeout, self.activity
        if self.settle is not None:  # once it has run dry, only a thread of the trial's own can change anything
            self.settle()
            activity.wait_until(lambda: holds() or all(running.done for running in self._running), timeout)
            self.settle()
            return holds()
        if activity.misses >= _MISSES:  # it has failed already: do not wait for a subject that does nothing at all
            timeout = max(self.quiet, timeout / 10)
        most = self.events + _SIGNALS * max(self.limits.elements, _ENOUGH)
        return activity.wait_until(
            holds,
            timeout,
            lambda: time.monotonic_ns() if self._lingering else min(self.events, most),  # who is held cannot go on
        )

    def lingers(self, holds: Callable[[], bool], *, times: int = 1) -> bool:
        """Give something `quiet` seconds, so many times, to happen, from inside a signal too; tell whether it did."""
        changed = self.activity.changed
        with changed:
            self._lingering += 1
        try:
            return self.activity.wait_until(holds, self.limits.quiet * times)
        finally:
            with changed:
                self._lingering -= 1

    def rest(self) -> bool:
        """Let everything that is going to happen happen; tell whether it ever came to an end."""
        self.stay_alive(2)
        rest([self])
        self.stay_alive()
        return self.rested

    def collect(self) -> None:
        """Collect what nothing refers to; the time that takes is not the subject's."""
        gc.collect()
        self.stay_alive()

    def elsewhere(self, call: Callable[[], R]) -> OtherThread[R]:
        """Start `call` on a new thread."""
        running = OtherThread(self, call)
        self._running.append(running)
        return running

    def returns(self, call: Callable[[], R], what: str) -> R:
        """Run `call` on a new thread and fail the trial when it does not return in time, or raises."""
        running = self.elsewhere(call)
        self.wait_until(lambda: running.done, f"{what} did not return within {self.limits.timeout:g} s")
        if running.error is not None:
            raise AssertionError(f"{what} raised {shown(running.error)}")
        return running.result

    def close(self) -> None:
        """Cancel what still runs, so that the subject can let go of its threads."""
        for probe in list(self._probes):
            probe.abandon()

    def stay_alive(self, timeouts: int = 1) -> None:
        """Grant the trial that many timeouts from now."""
        self.patience.renew(timeouts * self.limits.timeout)

    def give_up(self) -> tuple[str, str] | None:
        """Have the subject stopped at its next signal; return the call it is stuck in, after its rule, if known."""
        self.stuck = True
        return next((stuck for probe in list(self._probes) if (stuck := probe.stuck_in())), None)


def _past_planned(settle: Callable[[], object]) -> Callable[[], object]:
    """Return what runs the scheduler dry though a task lets out what a trial raised inside a signal (rule 2.13)."""

    def settle_past_planned() -> None:
        while True:
            with suppress(PlannedFailure):
                settle()
                return

    return settle_past_planned


def rest(environments: Iterable[Environment]) -> None:
    """Wait, once for all of them, until nothing has happened for a while; note in each whether that came in time."""
    waiting = list(environments)
    first = waiting[0]
    for environment in waiting:
        environment.rested = True
    if first.settle is not None:
        first.settle()
        return
    deadline = time.monotonic() + max(first.limits.timeout, 2 * first.quiet)
    while waiting:
        seen = [environment.events for environment in waiting]
        first.activity.wait_until(lambda: False, first.quiet)
        waiting = [
            environment for environment, events in zip(waiting, seen, strict=True) if environment.events > events
        ]
        if time.monotonic() > deadline:
            break
    for environment in waiting:
        environment.rested = False


class OtherThread(Generic[R]):
    """A daemon thread that runs one call and keeps what came of it."""

    result: R

    def __init__(self, environment: Environment, call: Callable[[], R]) -> None:
        self.done = False
        self.error: Exception | None = None
        self._environment = environment
        self._call = call
        self._thread = threading.Thread(target=self._run, name="penstock-tck-elsewhere", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except Exception as error:
            self.error = error
        except Runaway:
            pass  # noted by the probe that raised it
        finally:
            del self._call  # what it refers to must be free to go (rule 3.13)
            self.done = True
            self._environment.pulse()

    @property
    def thread(self) -> int | None:
        """Return the id of the thread that runs the call."""
        return self._thread.ident
