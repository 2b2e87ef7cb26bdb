"""progress: what Spark says about the micro-batches of one query."""

from __future__ import annotations

import math
from threading import Lock
from typing import Any

from penstock.run import Progress, QueryProgress

_NO_TIMES = ("1970-01-01T00:00:00.000", "9999-12-31T23:59:59")
"""The watermarks before the first row and behind the last one."""


class Batches:
    """The sums over the micro-batches of a query, which is known by the name under which its rows are counted.

    Spark keeps only the latest reports, so `look` or `now` must be called now and then.
    """

    def __init__(self, session: Any, name: str) -> None:
        self._session = session
        self._name = name
        self._lock = Lock()
        self._last = -1
        self._rows_in = self._rows_out = self._count = 0
        self._seconds: float | None = None
        self._state_rows: int | None = None
        self._watermark: str | None = None
        self._latest: QueryProgress | None = None
        self.query: Any = None

    def look(self) -> None:
        """Take in what is new."""
        with self._lock:
            if self.query is None:
                self.query = self._found()
            if self.query is not None:
                for report in self.query.recentProgress:
                    self._add(report)

    def now(self) -> Progress:
        """Return the sums, after another look if the query runs."""
        try:
            self.look()
        except Exception:  # noqa: BLE001  a session that is closed has no more news
            self.query = None
        with self._lock:
            if not self._count:
                return Progress()
            return Progress(
                rows_in=self._rows_in,
                rows_out=self._rows_out,
                batches=self._count,
                batch_seconds=self._seconds,
                state_rows=self._state_rows,
                watermark=self._watermark,
                queries=() if self._latest is None else (self._latest,),
            )

    def _found(self) -> Any:
        for query in self._session.streams.active:
            report = query.lastProgress
            if report is not None and self._name in (report.observedMetrics or {}):
                return query
        return None

    def _add(self, report: Any) -> None:
        if report.batchId <= self._last:
            return
        self._note_states(report)
        counted = (report.observedMetrics or {}).get(self._name)
        if not report.numInputRows and counted is None:
            return  # a query without news repeats itself
        self._last = report.batchId
        self._rows_in += report.numInputRows
        self._rows_out += counted["rows"] if counted is not None else 0
        self._count += 1
        seconds = self._seconds = report.durationMs.get("triggerExecution", 0) / 1000
        self._latest = QueryProgress(
            name=f"query {str(report.runId)[:8]}",
            batches=self._count,
            batch=report.batchId,
            batch_seconds=seconds,
            rows=report.numInputRows,
            rows_per_second=_number(report.processedRowsPerSecond),
            state_rows=self._state_rows,
            watermark=self._watermark,
        )

    def _note_states(self, report: Any) -> None:
        """Note what is kept, and up to which time; the times of no rows and of the end are not told."""
        if report.stateOperators:
            self._state_rows = sum(each.numRowsTotal for each in report.stateOperators)
        time = report.eventTime.get("watermark")
        if time is not None and not time.startswith(_NO_TIMES):
            self._watermark = time


def _number(given: Any) -> float:
    """Return a rate of Spark's, which is not a number for a micro-batch that took no time."""
    return float(given) if given is not None and math.isfinite(given) else 0.0
