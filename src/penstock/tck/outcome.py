"""outcome: what a verification found, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """Say how one test of one rule ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Record one test of one rule: `detail` says what was seen, or why it does not apply.

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
    """Hold every outcome of one verification of one subject, in one dialect, or as a module of pull-stream ("pull")."""

    subject: str
    outcomes: tuple[Outcome, ...]
    dialect: str = "jvm"

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Return the outcomes that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.status is Status.FAILED)

    @property
    def ok(self) -> bool:
        """Tell whether nothing failed."""
        return not self.failed

    def outcome(self, test: str) -> Outcome:
        """Return the outcome of the test named `test`."""
        for outcome in self.outcomes:
            if outcome.test == test:
                return outcome
        raise KeyError(test)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound a verification: elements per test, patience for what must come, quiet for what must not."""

    elements: int = 1100  # more than 1024, where many a buffer ends
    timeout: float = 2.0
    quiet: float = 0.05
    depth: int = 1
