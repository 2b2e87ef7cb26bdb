"""html: a run as a notebook shows it: its figures in a small panel, and its plan as a drawing below."""

from __future__ import annotations

from dataclasses import replace
from html import escape

from penstock.engine.weaving.blame import text_of
from penstock.plan import Plan
from penstock.run.display import cells
from penstock.run.progress import Progress

_NAMES = {"in": "rows in", "out": "rows out", "batch": "batch time"}
_FIGURE = 'style="display:inline-block;margin-right:18px"'
_PANEL = (
    "display:inline-block;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;padding:8px 14px;"
    "margin-bottom:8px;border:1px solid {};border-radius:6px;color:#14202a;background:#fbfaf7"
)


def shown(report: Progress, failure: Exception | None, plan: Plan, *, follows: bool = False) -> str:
    """Return a run as HTML, which later HTML `follows` or not; the text of a user's error is shown as text."""
    if report.elapsed > 0:  # on average: there is no report before this one
        report = replace(report, rows_per_second=report.rows_in / report.elapsed)
    found = cells(report)
    time = found.pop("time")
    if failure is not None:
        first = (str(failure).strip().splitlines() or [""])[0]
        state = f"failed after {time}: {type(failure).__name__}: {first}"
    else:
        later = "" if follows else "; show it again for later figures"
        state = f"ended after {time}" if report.done else f"running for {time}{later}"
    figures = "".join(
        f"<span {_FIGURE}>{escape(_NAMES.get(name, name))} <b>{escape(found[name])}</b></span>" for name in found
    )
    border = "#2f7d74" if failure is None else "#b3261e"
    panel = f'<div style="{_PANEL.format(border)}"><div><b>penstock</b> {escape(state)}</div><div>{figures}</div></div>'
    return f'<div class="penstock-run">{panel}<div>{plan._repr_html_()}</div></div>'


def refused(pipeline: object, error: Exception) -> str:
    """Return a pipeline that cannot be planned as HTML: what it is, and why."""
    return f"<pre>{escape(repr(pipeline))}\n{escape(f'{type(error).__name__}: {text_of(error)}')}</pre>"


__all__ = ["refused", "shown"]
