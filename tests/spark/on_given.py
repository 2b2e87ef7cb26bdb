"""on_given: a program whose session is started by PySpark alone, on whatever Python is on PATH; it prints JSON."""

from __future__ import annotations

import itertools
import json
import sys
import threading
from typing import Any

from pyspark.sql import SparkSession

from penstock import Sink, Stream, flow
from penstock.spark import Spark, entry, keyed_by
from tests.spark.processes import QUICK_JVM, waited_for


def where(batches: Any) -> Any:
    import pyarrow as pa

    import penstock

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [f"{sys.executable} {penstock.__file__}"]})


def add(total: int, row: Any) -> tuple[int, tuple[int]]:
    return total + row.n, (total + row.n,)


def refused(fn: Any) -> str:
    """Return how something is refused."""
    try:
        return f"not refused: {fn()!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def locked(session: SparkSession, spark: Spark) -> str:
    """Keep states in a session that lets nothing be set."""

    def fixed(*_: object) -> None:
        raise PermissionError("cannot modify the value of a config")

    session.conf.set = fixed  # type: ignore[method-assign]
    sums = keyed_by(flow(lambda rows: rows.stateful_map(add, int)), "n")
    live = spark.frame(Stream.range(3), "n long")
    return refused(lambda: live.transform(spark.stage(sums, "n long")))


def stopped_under(session: SparkSession, spark: Spark) -> str:
    """Stop a session in the middle of a run."""
    came = threading.Event()
    numbers = Stream.from_iterable(itertools.count())
    run = (numbers | entry("n long", capacity=10) | Sink.for_each(lambda _: came.set())).run(spark)
    came.wait()
    session.stop()
    return refused(run.wait)


def main() -> None:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.extraJavaOptions", QUICK_JVM).getOrCreate()
    with Spark(session=session) as spark:
        live = spark.frame(Stream.range(100), "n long")
        found = {
            "files": [row.file for row in session.range(1).mapInArrow(where, "file string").collect()],
            "live": waited_for(lambda: sum(row.n for row in spark.stream(live.where("n > 97")))),
            "batch": sum(row.id for row in spark.stream(session.range(10))),
            "locked": locked(session, spark),
        }
    found["still there"] = session.range(5).count()
    found["stopped"] = stopped_under(session, Spark(session=session))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
