"""draining: stop a query of Spark between two micro-batches."""

from __future__ import annotations

import threading
from typing import Any

_LOOK = 0.05  # seconds between two looks at a query; Spark does not tell by itself that a micro-batch has ended


def stop_after_batch(query: Any) -> None:
    """Stop a query once the micro-batch that runs now is committed; at once if none runs.

    The next one may begin before Spark hears of it. It then ends as by any stop: uncommitted, to be run again from the
    checkpoint.
    """
    before = _last(query)
    pause = threading.Event()
    while query.isActive and query.status["isTriggerActive"] and _last(query) <= before:
        pause.wait(_LOOK)
    query.stop()


def _last(query: Any) -> int:
    report = query.lastProgress
    return -1 if report is None else int(report.batchId)


__all__ = ["stop_after_batch"]
