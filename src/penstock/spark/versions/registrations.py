"""registrations: a Python data source is registered for one DataFrame, and forgotten once that has been made.

Spark has no way to take a registration back, and keeps each of them, with all that its class holds, as long as the
session. A DataFrame needs it while it is made and not afterwards. On Spark Connect it is looked up whenever the
DataFrame is used, so there it stays until the session ends.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource


def live_frame(session: SparkSession, source: type[DataSource]) -> DataFrame:
    """Return a streaming DataFrame of a data source that no other DataFrame is made of."""
    session.dataSource.register(source)
    try:
        return session.readStream.format(source.name()).load()
    finally:
        java: Any = getattr(session, "_jsparkSession", None)
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


__all__ = ["live_frame"]
