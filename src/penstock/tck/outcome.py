"""outcome: what a verification found, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How one test of one rule ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The record of one test of one rule: `detail` says what was seen, or why it does not apply.

    `rule` is the id in the JVM text, or that of a property of the pull-stream protocol; `hint` says what to look at
    when the test fails.
    """

    rule: str
    test: str
    status: Status
    detail: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of one verification of one subject, in one dialect, or as a module of pull-stream ("pull").

    `not_run` says in a sentence why there are none: the factory raised, or made something else. `left_running` names
    the threads that the subject began and did not end: it may keep a few for all, but not one for each subscription.
    Printing a report shows the whole matrix.
    """

    subject: str
    outcomes: tuple[Outcome, ...]
    dialect: str = "jvm"
    not_run: str = ""
    left_running: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Return the outcomes that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.status is Status.FAILED)

    @property
    def ok(self) -> bool:
        """Tell whether it was run and nothing failed."""
        return not self.failed and not self.not_run

    def outcome(self, test: str) -> Outcome:
        """Return the outcome of the test named `test`."""
        for outcome in self.outcomes:
            if outcome.test == test:
                return outcome
        raise KeyError(test)

    def __str__(self) -> str:
        from penstock.tck.report import render  # noqa: PLC0415  which shows what is defined here

        return render(self)

    def _repr_html_(self) -> str:
        from penstock.tck.report_html import to_html  # noqa: PLC0415  which shows what is defined here

        return to_html(self)


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a verification: elements per test, patience for what must come, quiet for what must not."""

    elements: int = 1100  # more than 1024, where many a buffer ends
    timeout: float = 2.0
    quiet: float = 0.05
    depth: int = 1
