"""environment: what one trial of a rule runs in: its probes, its patience, and where breaches are noted.

A trial never sleeps and never measures: it waits until something holds (`wait_until`), or lets the world come to rest
(`rest`, or a bare `yield` in a trial written as a generator) and then looks. Signals arrive on foreign threads, where
raising would only confuse the subject, so whatever is seen there is noted (`fail`, `breach`) and judged afterwards.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.tck.outcome import Limits
from penstock.tck.patience import Patience
from penstock.tck.probe import Probe, Runaway

R = TypeVar("R")
_MISSES = 3


class NotApplicable(Exception):
    """Say that a trial cannot be held against this subject, and why."""


@dataclass(frozen=True, slots=True)
class Breach:
    """Record that a rule was seen broken, whichever rule the trial was about."""

    rule: str
    message: str


class Activity:
    """Count every signal of every probe of a run, so that waiting needs no polling and rest can be seen."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.count = 0
        self.misses = 0
        self.waiting = 0  # those who wait here: they have a bound of their own, so they do not stand still

    def pulse(self) -> None:
        """Tell everyone who waits that something happened."""
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def wait_until(self, holds: Callable[[], bool], patience: float) -> bool:
        """Wait until `holds()`, looked at after every pulse; tell whether it came to hold."""
        with self.changed:
            self.waiting += 1
            try:
                return Patience(patience).wait(lambda seconds: self.changed.wait_for(holds, seconds))
            finally:
                self.waiting -= 1

    def rest(self, quiet: float, patience: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Wait until nothing has happened for `quiet` seconds; tell whether that, or `until`, came in time."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and not until():
            seen = self.count
            if not self.wait_until(lambda seen=seen: self.count != seen, quiet):  # type: ignore[misc]
                return True
        return until()


class Environment:
    """Hold the probes and the findings of one trial."""

    def __init__(
        self, limits: Limits, activity: Activity | None = None, settle: Callable[[], object] | None = None
    ) -> None:
        self.limits = limits
        self.activity = activity or Activity()
        self.settle = settle
        self.failures: list[str] = []
        self.kept: list[object] = []  # what must outlive the trial's own references
        self.breaches: list[Breach] = []
        self.stuck = False  # given up on: whoever still signals is to be stopped
        self.rested = True
        self.patience = Patience(limits.timeout)
        """How long the trial may stand still before it is given up."""
        self._running: list[Elsewhere[Any]] = []
        self._probes: weakref.WeakSet[Probe] = weakref.WeakSet()

    def probe(
        self,
        *,
        on_subscribe: Callable[[Probe], object] | None = None,
        on_next: Callable[[Probe, Any], object] | None = None,
        on_end: Callable[[Probe], object] | None = None,
    ) -> Probe:
        """Make a recording subscriber of this trial, whose hooks run inside its signals."""
        probe = Probe(self, on_subscribe=on_subscribe, on_next=on_next, on_end=on_end)
        self._probes.add(probe)
        return probe

    def fail(self, message: str) -> None:
        """Note, from any thread, that the trial failed."""
        self.failures.append(message)
        self.activity.pulse()

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

    def comes(self, holds: Callable[[], bool]) -> bool:
        """Wait until `holds()` and tell whether it came to hold within the timeout."""
        self.raise_failure()
        if holds():
            return True
        self.stay_alive(2)
        came = self._wait(lambda: bool(self.failures) or holds())
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
        if activity.misses < _MISSES:
            came = activity.wait_until(holds, timeout)
        else:  # it has failed already: do not wait for a subject that does nothing at all
            activity.rest(max(self.limits.quiet, timeout / 10), timeout, until=holds)
            came = holds()
        activity.misses += not came
        return came

    def lingers(self, holds: Callable[[], bool], *, times: int = 1) -> bool:
        """Give something `quiet` seconds, so many times, to happen, from inside a signal too; tell whether it did."""
        return self.activity.wait_until(holds, self.limits.quiet * times)

    def rest(self) -> bool:
        """Let everything that is going to happen happen; tell whether it ever came to an end."""
        self.stay_alive(2)
        if self.settle is not None:
            self.settle()
        else:
            self.rested = self.activity.rest(self.limits.quiet, self.limits.timeout)
        self.stay_alive()
        return self.rested

    def elsewhere(self, call: Callable[[], R]) -> Elsewhere[R]:
        """Start `call` on a thread of its own."""
        running = Elsewhere(self, call)
        self._running.append(running)
        return running

    def returns(self, call: Callable[[], R], what: str) -> R:
        """Run `call` on a thread of its own and fail the trial when it does not return in time, or raises."""
        running = self.elsewhere(call)
        self.wait_until(lambda: running.done, f"{what} did not return within {self.limits.timeout:g} s")
        if running.error is not None:
            raise AssertionError(f"{what} raised {running.error!r}")
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


class Elsewhere(Generic[R]):
    """Run one call on a daemon thread of its own and keep what came of it."""

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
            self._environment.activity.pulse()

    @property
    def thread(self) -> int | None:
        """Return the id of the thread that runs the call."""
        return self._thread.ident
