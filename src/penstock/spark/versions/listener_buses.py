"""listener_buses: take back the listener that a query with states leaves on the bus of Spark's events.

Spark runs a query in a copy of its session. A step with states asks that copy for its manager of queries, which puts a
listener on the bus of the whole application, and Spark leaves it there when the query ends. Events of the query go by
the manager of the session itself, so nothing ever comes to the one of the copy.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any


def forget_listener(context: Any, query: Any) -> None:
    """Take the listener of a query's own session off the bus, if the query has ended and may have had states."""
    with suppress(Exception):  # where a session lets no one look inside, or is closed, it stays
        last = query.lastProgress
        if last is not None and not last.stateOperators:
            return
        copy = query._jsq.streamingQuery().sparkSessionForStream()
        context._jsc.sc().listenerBus().removeListener(copy.streams().listenerBus())


__all__ = ["forget_listener"]
