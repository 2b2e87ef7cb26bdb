"""report_formats: a report for programs to read, as JSON and as JUnit XML."""

from __future__ import annotations

import json
from collections import Counter
from xml.etree import ElementTree as ET

from penstock.tck.contract import asked
from penstock.tck.outcome import Outcome, Report, Status
from penstock.tck.report import left_running, shown_id


def to_json(report: Report) -> str:
    """Return the report as JSON: the verdict, how many of each outcome there are, and the outcomes in order.

    >>> to_json(Report("nothing", (), not_run="the factory raised OSError()")).splitlines()[:3]
    ['{', '  "subject": "nothing",', '  "dialect": "jvm",']
    """
    counts = Counter(outcome.status for outcome in report.outcomes)
    return json.dumps(
        {
            "subject": report.subject,
            "dialect": report.dialect,
            "ok": report.ok,
            "not_run": report.not_run or None,
            "left_running": list(report.left_running),
            "counts": {status.value: counts[status] for status in Status},
            "outcomes": [_outcome(report, outcome) for outcome in report.outcomes],
        },
        indent=2,
    )


def _outcome(report: Report, outcome: Outcome) -> dict[str, str]:
    return {
        "rule": outcome.rule,
        "id": shown_id(outcome, report.dialect),
        "test": outcome.test,
        "status": outcome.status.value,
        "detail": outcome.detail,
        "hint": outcome.hint,
        "sentence": asked(outcome.rule).sentence,
    }


def to_junit(report: Report) -> str:
    """Return the report as JUnit XML: one test case for each test of a rule, skipped where it does not apply.

    >>> to_junit(Report("nothing", ()))
    '<testsuite name="nothing" tests="0" failures="0" errors="0" skipped="0" />'
    """
    counts = Counter(outcome.status for outcome in report.outcomes)
    suite = ET.Element(
        "testsuite",
        name=_legal(report.subject),
        tests=str(len(report.outcomes) + bool(report.not_run)),
        failures=str(counts[Status.FAILED]),
        errors="1" if report.not_run else "0",
        skipped=str(counts[Status.NOT_APPLICABLE]),
    )
    for outcome in report.outcomes:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=_legal(report.subject),
            name=f"{shown_id(outcome, report.dialect)} {outcome.test}",
        )
        if outcome.status is Status.FAILED:
            failure = ET.SubElement(case, "failure", message=_legal(outcome.detail))
            failure.text = _legal(f"{outcome.hint}\n{asked(outcome.rule).sentence}")
        elif outcome.status is Status.NOT_APPLICABLE:
            ET.SubElement(case, "skipped", message=_legal(outcome.detail))
    if report.not_run:
        case = ET.SubElement(suite, "testcase", classname=_legal(report.subject), name="verification")
        ET.SubElement(case, "error", message=_legal(report.not_run))
    if report.left_running:
        ET.SubElement(suite, "system-out").text = _legal(left_running(report))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode")


def _legal(text: str) -> str:
    """Return the text with what XML cannot carry shown as Python shows it."""
    return "".join(sign if sign in "\t\n" or sign.isprintable() else repr(sign)[1:-1] for sign in text)
