"""query_ends: a query over live streams ends with them.

Since 4.2 Spark does so by the trigger `availableNow`. Before, that trigger ends a query of a Python source after what
was there at its start; there the query runs without it, and is stopped from here once its streams have ended and Spark
has done all that it had to do with their rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.spark.versions import stream_readers
from penstock.spark.versions.checkpoint_files import quick_checkpoint
from penstock.spark.versions.shuffles import own_shuffles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

UNTIL_END = {"availableNow": True}
"""The trigger of a query that ends with its streams."""
PREFIX = "penstock_"
"""What the names of our sources begin with."""


class ShortTriggerError(PenstockError):
    """The error that a query would end before the stream that it reads."""


def streaming_sources(frame: DataFrame) -> list[str]:
    """Return the streaming sources of a DataFrame in Spark's words; those of ours begin with `PREFIX`."""
    java: Any = frame._jdf
    leaves = java.queryExecution().analyzed().collectLeaves()
    found = [leaves.apply(index) for index in range(leaves.size())]
    return [str(leaf.toString()) for leaf in found if str(leaf.nodeName()).startswith("Streaming")]


def doors_of(frame: DataFrame) -> list[str]:
    """Return the doors of the gate that a DataFrame reads."""
    names = [name for name in streaming_sources(frame) if name.startswith(PREFIX)]
    return [name.removeprefix(PREFIX).split(maxsplit=1)[0].rstrip("[]") for name in names]


def check_trigger(session: Any, door: str) -> None:
    """Refuse a query that reads a door by a trigger which would end it before the stream ends."""
    if stream_readers.SAYS_START:
        return
    for query in session.streams.active:
        java = query._jsq.streamingQuery()
        short = str(java.trigger().toString()).startswith("AvailableNow")
        if short and f"{PREFIX}{door}" in str(java.analyzedPlan().toString()):
            raise ShortTriggerError(
                f"frame: PySpark {session.version} ends a query with trigger(availableNow=True) after the rows that"
                " had come by its start; use spark.stream(df) or a pipeline, which end with the stream, or leave the"
                " trigger out and stop the query, or install PySpark 4.2 or newer"
            )


def all_read(session: Any, door: str, other: str) -> bool:
    """Tell whether every query that reads a door of the gate reads another source, too, whose name begins so."""
    plans = [str(query._jsq.streamingQuery().analyzedPlan().toString()) for query in session.streams.active]
    reading = [plan for plan in plans if f"{PREFIX}{door}" in plan]
    return bool(reading) and all(other in plan for plan in reading)


def start(
    writer: Any, trigger: Mapping[str, Any], frame: DataFrame, ended: Callable[[list[str]], bool]
) -> StreamingQuery:
    """Start the query of a DataFrame; `ended` tells whether the streams behind some doors have come to their end."""
    if trigger != UNTIL_END or stream_readers.SAYS_START:
        with own_shuffles(frame), quick_checkpoint(frame.sparkSession, writer):
            return (writer.trigger(**trigger) if trigger else writer).start()  # type: ignore[no-any-return]
    with own_shuffles(frame), quick_checkpoint(frame.sparkSession, writer):
        query: StreamingQuery = writer.start()
    end_with_streams(query, frame, ended)
    return query


def end_with_streams(query: StreamingQuery, frame: DataFrame, ended: Callable[[list[str]], bool]) -> None:
    """Stop a query, from a thread, when the streams that its DataFrame reads have ended and all is done."""
    over = partial(ended, doors_of(frame))
    threading.Thread(target=_end, args=(query, over), name="penstock-query-end", daemon=True).start()


def _end(query: Any, ended: Callable[[], bool]) -> None:
    """Stop a query when its streams have ended and a whole round has found nothing more to do."""
    try:
        while query.isActive:
            query.processAllAvailable()
            if ended():
                query.processAllAvailable()  # what follows from the end, like the last windows
                if ended():
                    query.stop()
                    return
    except Exception:  # noqa: BLE001  the query has failed or was stopped, which its owner hears from it
        return


__all__ = [
    "PREFIX", "UNTIL_END", "ShortTriggerError", "all_read", "check_trigger", "doors_of", "end_with_streams",
    "start", "streaming_sources",
]  # fmt: skip
