"""trial: one test of one rule as data, and the run of many of them.

A trial is a function of a context (whatever a verification needs). It passes by returning, fails by an AssertionError,
and bows out by NotApplicable. One that needs to see that nothing more happens is written as a generator and yields:
all trials of a run are brought to their next yield, the world is let come to rest once for all of them, and they go
on. So a whole run waits a handful of times, however many trials want quiet.

Every step runs on a watched thread: a subject that never returns fails the trial instead of hanging the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Generic, TypeVar

from penstock.spec.shown import shown
from penstock.tck.activity import Activity
from penstock.tck.contract import DIALECTS, PULL, asked, belongs, place
from penstock.tck.environment import Environment, NotApplicable, rest
from penstock.tck.outcome import Limits, Outcome, Status
from penstock.tck.planned import NotRun
from penstock.tck.probe import Runaway

C = TypeVar("C")
Steps = Generator[None, None, None]
Body = Callable[[C], "Steps | None"]


@dataclass(frozen=True, slots=True)
class Trial(Generic[C]):
    """A test, the rule it shows, the dialects it belongs to, and what it does."""

    rule: str
    name: str
    body: Body[C]
    dialects: frozenset[str] = frozenset((*DIALECTS, PULL))


@dataclass(frozen=True, slots=True)
class Trials(Generic[C]):
    """A register of trials as they are defined, under the name `<side>.<function>`."""

    side: str
    members: list[Trial[C]] = field(default_factory=list)

    def add(self, rule: str, *, dialects: Iterable[str] = (*DIALECTS, PULL)) -> Callable[[Body[C]], Body[C]]:
        """Return the decorator that registers a function as a trial of `rule`."""

        def register(body: Body[C]) -> Body[C]:
            self.members.append(Trial(rule, f"{self.side}.{body.__name__}", body, frozenset(dialects)))
            return body

        return register

    def of(self, dialect: str) -> list[Trial[C]]:
        """Return the trials of what `dialect` asks for, in the order of the text."""
        spoken = [trial for trial in self.members if dialect in trial.dialects]
        return sorted((trial for trial in spoken if belongs(trial.rule, dialect)), key=lambda trial: place(trial.rule))


class _Run(Generic[C]):
    """The way of one trial from start to outcome."""

    def __init__(self, trial: Trial[C], environment: Environment, open_context: Callable[[Environment], C]) -> None:
        self.trial = trial
        self.environment = environment
        self.finding: Outcome | None = None
        self.refused: NotRun | None = None
        self._open = open_context
        self._steps: Steps | None = None
        self._begun = False

    def step(self) -> None:
        """Bring the trial to its next yield, or to its end."""
        try:
            if not self._begun:
                self._begun = True
                self._steps = self.trial.body(self._open(self.environment))
            if self._steps is not None and next(self._steps, self) is None:
                return
            self.environment.raise_failure()
            self.conclude(Status.PASSED)
        except NotRun as reason:
            self.refused = reason
            self.conclude(Status.NOT_APPLICABLE, str(reason))
        except NotApplicable as reason:
            self.conclude(Status.NOT_APPLICABLE, str(reason))
        except AssertionError as failure:
            self.conclude(Status.FAILED, str(failure))
        except Runaway:  # the probe that raised it noted the rule that was broken
            for broken in self.environment.breaches[-1:]:
                self.conclude(Status.NOT_APPLICABLE, f"the subject had to be stopped (rule {broken.rule})")
        except Exception as error:
            self.conclude(Status.FAILED, f"the trial could not be held: {shown(error)}")

    def conclude(self, status: Status, detail: str = "") -> None:
        """Settle what the trial found, once."""
        if self.finding is None:
            self.finding = Outcome(self.trial.rule, self.trial.name, status, detail)
        self._steps = None

    def give_up(self) -> None:
        """Conclude a trial whose subject stands still; if another rule forbids that, it is the one broken."""
        call = self.environment.give_up()
        if call is None:
            self.conclude(Status.FAILED, f"the subject did not return within {self.environment.limits.timeout:g} s")
        elif call[0] == self.trial.rule:
            self.conclude(Status.FAILED, call[1])
        else:
            self.environment.breach(*call)
            self.conclude(Status.NOT_APPLICABLE, f"{call[1]} (rule {call[0]})")


class _Watched:
    """A runner of steps on one thread that is watched, and on another once that one is stuck."""

    def __init__(self) -> None:
        self._start()

    def returns(self, environment: Environment, step: Callable[[], object]) -> bool:
        """Run `step`; tell whether it returned rather than stand still for the timeout."""
        done = threading.Event()

        def turn(seconds: float) -> bool:
            if environment.activity.waiting:
                environment.stay_alive()
            return done.wait(seconds)

        environment.stay_alive()
        self._steps.put((step, done))
        if environment.patience.wait(turn):
            return True
        self._steps.put(None)  # it ends once it is free again
        self._start()
        return False

    def close(self) -> None:
        """Let the thread end."""
        self._steps.put(None)
        self._thread.join()

    def _start(self) -> None:
        self._steps: SimpleQueue[tuple[Callable[[], object], threading.Event] | None] = SimpleQueue()
        self._thread = threading.Thread(target=_serve, args=(self._steps,), name="penstock-tck", daemon=True)
        self._thread.start()


def _serve(steps: SimpleQueue[tuple[Callable[[], object], threading.Event] | None]) -> None:
    while (given := steps.get()) is not None:
        step, done = given
        try:
            step()
        finally:
            del step, given  # what they refer to must be free to go (rule 3.13)
            done.set()


def run_trials(
    trials: Iterable[Trial[C]],
    open_context: Callable[[Environment], C],
    limits: Limits,
    settle: Callable[[], object] | None = None,
) -> tuple[Outcome, ...]:
    """Hold every trial and return the outcomes in order; a breach seen in passing fails the first trial of its rule.

    A factory that does not make what is to be verified ends the run with NotRun.
    """
    activity = Activity()
    runs = [_Run(trial, Environment(limits, activity, settle), open_context) for trial in trials]
    watched = _Watched()
    pending = runs
    while pending:
        for run in pending:
            if not watched.returns(run.environment, run.step):
                run.give_up()
            if run.finding is not None:
                watched.returns(run.environment, run.environment.close)
            if run.refused is not None:
                _stop(runs, watched)
                raise run.refused
        pending = [run for run in pending if run.finding is None]
        if pending:
            _rest(pending, watched)
    watched.close()
    return _with_breaches(runs)


def _stop(runs: list[_Run[C]], watched: _Watched) -> None:
    """Let the subjects go of what all the trials began."""
    for run in runs:
        watched.returns(run.environment, run.environment.close)
    watched.close()


def _rest(pending: list[_Run[C]], watched: _Watched) -> None:
    """Let the world come to rest, once for all the trials that wait for it."""
    first = pending[0].environment
    returned = watched.returns(first, lambda: rest([run.environment for run in pending]))
    for run in pending if not returned else ():
        run.give_up()


def _with_breaches(runs: list[_Run[C]]) -> tuple[Outcome, ...]:
    """Return the findings, each rule that was broken in passing failed under its own name."""
    findings = [run.finding for run in runs if run.finding is not None]
    for run in runs:
        for breach in run.environment.breaches:
            mine = [place for place, finding in enumerate(findings) if finding.rule == breach.rule]
            if any(_failed(findings[place]) for place in mine):
                continue
            detail = f"{breach.message} (seen in {run.trial.name})"
            if mine:
                findings[mine[0]] = replace(findings[mine[0]], status=Status.FAILED, detail=detail)
            else:
                findings.append(Outcome(breach.rule, run.trial.name, Status.FAILED, detail))
    return tuple(replace(found, hint=asked(found.rule).hint) if _failed(found) else found for found in findings)


def _failed(outcome: Outcome) -> bool:
    return outcome.status is Status.FAILED
