"""report_html: a report as a notebook shows it: the verdict, and a table of the rules with what was seen."""

from __future__ import annotations

from collections import Counter
from html import escape

from penstock.tck.contract import asked
from penstock.tck.outcome import Outcome, Report, Status
from penstock.tck.report import left_running, shown_id

_COLOURS = {Status.PASSED: "#1f6a62", Status.FAILED: "#b3261e", Status.NOT_APPLICABLE: "#6a747d"}
_CELL = 'style="text-align:left;padding:2px 10px;vertical-align:top"'


def to_html(report: Report) -> str:
    """Return the report as HTML: what failed first, then what passed and what does not apply, folded away.

    >>> "was not run: no &lt;factory&gt;" in to_html(Report("nothing", (), not_run="no <factory>"))
    True
    """
    counts = Counter(outcome.status for outcome in report.outcomes)
    if report.not_run:
        verdict, colour = f"was not run: {report.not_run}", _COLOURS[Status.FAILED]
    else:
        verdict = ", ".join(f"{counts[status]} {status.value}" for status in Status)
        colour = _COLOURS[Status.PASSED if report.ok else Status.FAILED]
    out = [f'<div class="penstock-report"><p><b>{escape(report.subject)}</b>']
    out.append(f'<span style="color:{colour};font-weight:bold">{escape(verdict)}</span></p>')
    if report.failed:
        out.append(_table(report, report.failed))
    rest = [outcome for outcome in report.outcomes if outcome.status is not Status.FAILED]
    if rest:
        name = f"{len(rest)} {'others' if report.failed else 'tests'}"
        out.append(f"<details><summary>{name}</summary>{_table(report, rest)}</details>")
    if report.left_running:
        out.append(f"<p>{escape(left_running(report))}</p>")
    return "\n".join([*out, "</div>"])


def _table(report: Report, outcomes: tuple[Outcome, ...] | list[Outcome]) -> str:
    head = "".join(f"<th {_CELL}>{name}</th>" for name in ("rule", "test", "outcome", "seen"))
    rows = []
    for outcome in outcomes:
        seen = escape(outcome.detail)
        if outcome.status is Status.FAILED:
            seen = "<br>".join(map(escape, (outcome.detail, outcome.hint, asked(outcome.rule).sentence)))
        told = f'<span style="color:{_COLOURS[outcome.status]}">{outcome.status.value}</span>'
        cells = (escape(shown_id(outcome, report.dialect)), escape(outcome.test), told, seen)
        rows.append("<tr>" + "".join(f"<td {_CELL}>{cell}</td>" for cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


__all__ = ["to_html"]
