"""stream: a streaming DataFrame whose parts are Streams that the executors open, each from its own position."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.engine.weaving.blame import function_name
from penstock.engine.words.arguments import function_given
from penstock.spark.partitions.batch import check_pickles, parts_given
from penstock.spark.partitions.data_source import source_for
from penstock.spark.partitions.door import PartsDoor
from penstock.spark.partitions.planning import PartSettings
from penstock.spark.partitions.positions import PartName, key_of
from penstock.spark.session.connect import PARTS
from penstock.spark.session.held import HeldSession
from penstock.spark.session.java import SparkSetupError
from penstock.spark.versions import stream_readers
from penstock.spark.versions.registrations import forgotten, live_frame
from penstock.spark.wire.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CAPACITY = 100_000
LATENCY = 1.0


@dataclass(frozen=True, slots=True)
class Always:
    """A function that gives one value, whatever it is asked; its class is known wherever penstock is."""

    value: Any

    def __call__(self, *_: object) -> Any:
        return self.value


def partitioned_stream(
    spark: HeldSession,
    parts: Iterable[PartName] | Callable[[], Iterable[PartName]],
    open: Callable[[Any, int], Any],  # noqa: A002  the word for it
    schema: Schema,
    *,
    latest: Callable[[Any], int] | None = None,
    start: int | Callable[[Any], int] = 0,
    commit: Callable[[Any, int], object] | None = None,
    live: bool = True,
    capacity: int = CAPACITY,
    latency: float = LATENCY,
) -> DataFrame:
    """Make a streaming DataFrame of what `open(part, row)` gives for each part, called on the executors."""
    if not stream_readers.SAYS_START:
        raise SparkSetupError("partitioned: streaming=True needs PySpark 4.2 or newer; use spark.frame, or upgrade it")
    function_given("partitioned", "open", open)
    for name, fn in (("latest", latest), ("commit", commit)):
        if fn is not None:
            function_given("partitioned", name, fn)
    if latest is not None and not live:
        raise TypeError("partitioned: latest is for live parts; leave out one of latest and live=False")
    if not callable(start) and (type(start) is not int or start < 0):
        raise ValueError(f"partitioned: start must be a whole number >= 0 or a function from a part, got {start!r}")
    if type(capacity) is not int or capacity < 1:
        raise ValueError(f"partitioned: capacity must be a whole number >= 1, got {capacity!r}")
    if not isinstance(latency, int | float) or not latency > 0:
        raise ValueError(f"partitioned: latency must be > 0 seconds, got {latency!r}")
    if not callable(parts):
        parts = Always(tuple(parts_given(parts)))
        for part in parts():
            key_of(part)  # refuses here what could not be planned there
    given = {"partitions": parts, "open": open, "latest": latest, "start": start, "commit": commit}
    for name, one in given.items():
        check_pickles(one, f"{name} ({function_name(one)})" if callable(one) else name)
    session = spark.session
    tasks = PARTS if spark.is_remote else session.sparkContext.defaultParallelism
    begin = start if callable(start) else Always(start)
    settings = PartSettings(parts, begin, latest, live, capacity, float(latency), tasks)
    door = PartsDoor()
    address = spark.gate.admit(door)
    found = live_frame(session, source_for(address, settings, open, schema, commit))
    spark.gate.look()
    spark.gate.leave_when(forgotten(found), partial(door.retire, partial(spark.gate.dismiss, address)))
    return found


__all__ = ["CAPACITY", "LATENCY", "partitioned_stream"]
