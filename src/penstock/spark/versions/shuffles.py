"""shuffles: a query with one watermark in several of its parts shuffles the rows of each part by itself.

Where two parts of a plan shuffle the same rows, Spark lets the second take those of the first. It does not find the
watermark of the second then, so that windows there never close, and all their rows are lost without a word; that is so
up to 4.3. Ends of a pipeline that are served by one query have such parts, and so has a union of windows with what is
made of them.

A query takes its settings from its session when it starts, so this one is set only for that long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SETTING = "spark.sql.exchange.reuse"
_turn = threading.Lock()
"""Held while such a query starts: another one must not set the session back meanwhile."""


class SharedShuffleError(PenstockError):
    """The error that Spark would lose rows of a query, and that the session does not let it be told otherwise."""


@contextmanager
def own_shuffles(frame: DataFrame) -> Iterator[None]:
    """Let the query of a DataFrame that is started in the block shuffle the rows of each part by itself."""
    java: Any = frame._jdf
    if str(java.queryExecution().analyzed().toString()).count("EventTimeWatermark") < 2:
        yield
        return
    conf = frame.sparkSession.conf
    with _turn:
        before = str(conf.get(SETTING, "true"))
        if before != "false":
            _set(conf, "false")
        try:
            yield
        finally:
            if before != "false":
                with suppress(Exception):  # the session may have been stopped meanwhile
                    conf.set(SETTING, before)


def _set(conf: Any, value: str) -> None:
    try:
        conf.set(SETTING, value)
    except Exception as error:
        raise SharedShuffleError(
            f"run: this session does not let {SETTING} be set, and with it Spark loses rows of windows that several"
            " parts of a query use; set it to false where the session is started"
        ) from error


__all__ = ["SETTING", "SharedShuffleError", "own_shuffles"]
