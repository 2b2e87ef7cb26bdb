"""draining: stop a query of Spark, at once or between two micro-batches."""

from __future__ import annotations

import threading
from typing import Any

from pyspark import SparkContext

from penstock.engine.words.dropped import drop
from penstock.spark.session.borrowed import SparkClosedError
from penstock.spark.session.jvm.end import OUT_OF_MEMORY, exit_code_of_jvm, jvm_ends

_GRACE = 1.0
"""Seconds between the stop of a query and the cancel of its jobs: one that Spark has not begun to stop would fail."""
_LOOK = 0.05  # seconds between two looks at a query; Spark does not tell by itself that a micro-batch has ended


def stop_now(query: Any) -> None:
    """Stop a query at once, with the jobs that it runs.

    Spark interrupts the query once and waits for it. A job that begins just then does not hear of it, and Spark waits
    as long as the job takes; so jobs are cancelled until the query has ended.
    """
    ended = threading.Event()
    threading.Thread(target=_cancel_jobs, args=(query, ended), name="penstock-query-jobs", daemon=True).start()
    try:
        query.stop()
    finally:
        ended.set()


def _cancel_jobs(query: Any, ended: threading.Event) -> None:
    context = SparkContext._active_spark_context
    while context is not None and not ended.wait(_GRACE):
        try:
            context.cancelJobGroup(str(query.runId))
        except Exception as error:  # noqa: BLE001  this thread has no caller, so it is only logged
            if not ended.is_set() and not _is_stopped(context):
                drop("stream: the jobs of a query could not be cancelled", error)
            return


def _is_stopped(context: Any) -> bool:
    """Tell whether a session has ended, and all of its jobs with it."""
    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:  # noqa: BLE001  its JVM has gone
        return True


def cause_of(context: Any, error: Exception) -> Exception:
    """Return an error as it is, or, where Spark has failed because its session has ended, the one that says so."""
    of_spark = type(error).__module__.startswith(("pyspark.", "py4j.")) or isinstance(error, ConnectionError)
    return SparkClosedError(_how_ended(context)) if of_spark and _is_stopped(context) else error


def _how_ended(context: Any) -> str:
    """Say what has ended a session, and what can be done about that."""
    if context._jsc is None or not jvm_ends(context):
        return (
            "spark: the session was stopped by its own stop() while a run or a stream still needed it; stop those"
            " first, and make a new Spark()"
        )
    code = exit_code_of_jvm()
    if code == OUT_OF_MEMORY:
        return (
            "spark: the JVM of the session has ended for want of memory; make a new Spark() with more, such as"
            " conf={'spark.driver.memory': '4g'}, or let its tasks have less at once"
        )
    said = "" if code is None else f" with exit code {code}"
    return (
        f"spark: the JVM of the session has ended{said} while a run or a stream still needed it; what it has printed"
        " may say why; make a new Spark()"
    )


def stop_after_batch(query: Any) -> None:
    """Stop a query once the micro-batch that runs now is committed; at once if none runs.

    The next one may begin before Spark hears of it. It then ends as by any stop: uncommitted, to be run again from the
    checkpoint.
    """
    before = _last(query)
    pause = threading.Event()
    while query.isActive and query.status["isTriggerActive"] and _last(query) <= before:
        pause.wait(_LOOK)
    stop_now(query)


def _last(query: Any) -> int:
    report = query.lastProgress
    return -1 if report is None else int(report.batchId)


__all__ = ["cause_of", "stop_after_batch", "stop_now"]
