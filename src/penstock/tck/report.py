"""report: what a verification found, rule by rule, for people to read."""

from __future__ import annotations

from collections import Counter

from penstock.spec.properties.every import Property
from penstock.spec.rules.every import Dialect
from penstock.tck.contract import DIALECTS, asked
from penstock.tck.outcome import Outcome, Report, Status

_SHOWN = 5  # names of threads


def render(report: Report) -> str:
    """Return the matrix: one line for each test, and below it why it failed or does not apply."""
    dialect = DIALECTS.get(report.dialect)
    ids = [shown_id(outcome, report.dialect) for outcome in report.outcomes]
    width = max(map(len, ids), default=0)
    text = "properties of the pull-stream protocol" if dialect is None else f"{dialect.value} text"
    if report.not_run:
        return f"{report.subject} by the {text}\n\n{summary(report)}"
    lines = [f"{report.subject} by the {text}", ""]
    for shown, outcome in zip(ids, report.outcomes, strict=True):
        lines.append(f"{shown:<{width}}  {outcome.status.value:<14}  {outcome.test}")
        lines.extend(f"{'':<{width}}  {note}" for note in _notes(outcome))
    if report.left_running:
        lines += ["", left_running(report)]
    return "\n".join([*lines, "", summary(report)])


def summary(report: Report) -> str:
    """Return one line that counts the outcomes and names the rules that failed, or says why it was not run."""
    if report.not_run:
        return f"not run: {report.not_run}"
    counts = Counter(outcome.status for outcome in report.outcomes)
    counted = ", ".join(f"{counts[status]} {status.value}" for status in Status)
    failed = dict.fromkeys(shown_id(outcome, report.dialect) for outcome in report.failed)
    return f"{counted}; broken: {', '.join(failed)}" if failed else counted


def left_running(report: Report) -> str:
    """Return one line that names the threads that the subject did not end."""
    names = report.left_running
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    many = f"{len(names)} threads that began" if len(names) > 1 else "1 thread that began"
    return (
        f"left running: {many} meanwhile and did not end ({shown}); a pool for all may, one for each subscription leaks"
    )


def shown_id(outcome: Outcome, name: str) -> str:
    """Return the rule's id in the dialect, with the JVM text's beside it where the two differ, or the property's."""
    dialect = DIALECTS.get(name)
    found = asked(outcome.rule)
    if isinstance(found, Property) or dialect is None:
        return outcome.rule
    own, jvm = found.id_in(dialect), found.id_in(Dialect.JVM)
    if own is None or own == jvm:
        return outcome.rule if own is None else own
    return f"{own} (JVM {jvm})" if jvm else f"{own} ({dialect.value} only)"


def _notes(outcome: Outcome) -> list[str]:
    if outcome.status is Status.FAILED:
        found = asked(outcome.rule)
        kind = "property" if isinstance(found, Property) else "rule"
        return [f"  seen: {outcome.detail}", f"  look: {outcome.hint}", f"  {kind}: {found.sentence}"]
    if outcome.status is Status.NOT_APPLICABLE:
        return [f"  why: {outcome.detail}"]
    return []
