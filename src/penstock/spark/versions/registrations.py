"""registrations: a Python data source is registered for one DataFrame, and forgotten once that has been made.

Spark has no way to take a registration back, and keeps each of them, with all that its class holds, as long as the
session. A DataFrame needs it while it is made, and one that is made of this one not even then. On Spark Connect it is
looked up whenever the DataFrame is used, so there it stays until the session ends.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource


def live_frame(session: SparkSession, source: type[DataSource]) -> DataFrame:
    """Return a streaming DataFrame of a data source that no other DataFrame is made of."""
    session.dataSource.register(source)
    java: Any = getattr(session, "_jsparkSession", None)
    try:
        frame = session.readStream.format(source.name()).load()
        return frame if java is None else frame.select("*")  # collect() of the first would look for the source again
    finally:
        if java is not None:
            with suppress(Exception):  # where a session lets no one look inside, it stays
                _forget(java, source.name())


def _forget(java: Any, name: str) -> None:
    """Take a name out of the table of those that were registered while the session ran."""
    sources = java.sessionState().dataSourceManager()
    for field in sources.getClass().getDeclaredFields():
        if field.getType().getName() == "java.util.concurrent.ConcurrentHashMap":
            field.setAccessible(True)
            field.get(sources).remove(name)


def forgotten(frame: DataFrame) -> Callable[[], bool]:
    """Return what tells whether Spark has forgotten a live DataFrame, all that were made of it, and their queries.

    All of their plans have one object in common, the table that is read. Where a session lets no one look inside, the
    answer is that it has not.
    """
    try:
        java: Any = frame._jdf
        table = java.queryExecution().analyzed().collectLeaves().head().table()
        jvm: Any = frame.sparkSession._jvm
        known = jvm.java.lang.ref.WeakReference(table)
    except Exception:  # noqa: BLE001  then it stays until the session ends
        return lambda: False
    return lambda: _refers_to_nothing(known)


def _refers_to_nothing(known: Any) -> bool:
    try:
        return bool(known.refersTo(None))
    except Exception:  # noqa: BLE001  a session that is closed answers no more, and its gate closes all doors
        return False


__all__ = ["forgotten", "live_frame"]
