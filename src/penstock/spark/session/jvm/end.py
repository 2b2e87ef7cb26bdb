"""end: whether the JVM of a session has ended by itself, and what it has ended with."""

from __future__ import annotations

import subprocess
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

OUT_OF_MEMORY = 52
"""The exit code with which Spark ends a JVM that has no memory left."""
_PATIENCE = 10.0
"""Seconds for a JVM that is ending to have ended."""


def jvm_ends(context: Any) -> bool:
    """Tell whether the JVM of a session ends now, or has ended."""
    try:
        return bool(context._jvm.org.apache.spark.util.ShutdownHookManager.inShutdown())
    except Exception:  # noqa: BLE001  it cannot be asked any more
        return True


def exit_code_of_jvm() -> int | None:
    """Return what a JVM that ends has ended with; None if this process has not started it."""
    gateway: Any = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    try:
        return None if process is None else process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return None


def stopped(session: SparkSession) -> None:
    """Stop a session; if its JVM has gone, what PySpark keeps of it in this process is let go of all the same."""
    try:
        session.stop()
    except Exception:
        if not jvm_ends(session.sparkContext):
            raise
        session.sparkContext.stop()  # the rest of what it does, which needs no JVM
        SparkSession._instantiatedSession = None
        SparkSession._activeSession = None


__all__ = ["OUT_OF_MEMORY", "exit_code_of_jvm", "jvm_ends", "stopped"]
