"""active_sessions: the session whose settings Spark goes by, which is known for each thread.

A thread that PySpark has not seen has none. What it analyses goes by Spark's defaults, and a function of the user's
that asks for the active session finds none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def be_active(session: SparkSession) -> None:
    """Make a session the active one of this thread, as it is of the thread that has made it."""
    java: Any = session
    java._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(java._jsparkSession)


__all__ = ["be_active"]
