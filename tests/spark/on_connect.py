"""on_connect: a client of Spark Connect that does all it can and prints what came of it, as JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from penstock import Sink, Stream, flow
from penstock.spark import Spark, keyed_by, spark_source
from tests.spark.processes import waited_for


@flow
def odd(rows: Stream[Any]) -> Stream[tuple[int]]:
    return rows.filter(lambda row: row.id % 2).map(lambda row: (row.id,))


def add(total: int, row: Any) -> tuple[int, tuple[int, int]]:
    return total + row.n, (row.n % 3, total + row.n)


@flow
def running(rows: Stream[Any]) -> Stream[tuple[int, int]]:
    return rows.stateful_map(add, int)


def refused(fn: Callable[[], Any]) -> str:
    """Return how something is refused."""
    try:
        return f"not refused: {fn()!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def written(spark: Spark, df: Any) -> list[Any]:
    """Return the rows of a streaming DataFrame, by way of files."""
    with tempfile.TemporaryDirectory() as room:
        writer = df.writeStream.format("parquet").option("path", f"{room}/rows")
        writer.option("checkpointLocation", f"{room}/state").trigger(availableNow=True).start().awaitTermination()
        return sorted(list(row) for row in spark.session.read.parquet(f"{room}/rows").collect())


def left_running(spark: Spark) -> list[str]:
    """Return what the server still does once it has heard of the cancels."""
    for thread in threading.enumerate():
        if thread.name == "penstock-cancel":
            thread.join()
    return spark.session.interruptAll()


def all_of_it(spark: Spark) -> dict[str, Any]:
    numbers = spark.session.range(0, 1000, 1, 4)
    live = spark.frame(Stream.range(30), "n long")
    by_three = live.selectExpr("n", "n % 3 AS third")
    kept = by_three.transform(spark.stage(keyed_by(running, "third", order_by="n"), "third long, total long"))
    failing = spark.frame(Stream.just((1,)).concat(Stream.error(LookupError("the feed broke"))), "n long")
    return {
        "repr": repr(spark),
        "stage": sorted(row.id for row in spark.stream(numbers.transform(spark.stage(odd, "id long")))),
        "partitioned": sorted(
            row.n for row in spark.stream(spark.partitioned([1, 2], lambda n: [(n,), (10 * n,)], "n long"))
        ),
        "taken": len(list(spark.stream(numbers).take(3))),
        "left running": left_running(spark),
        "arrow": sum(batch.num_rows for batch in spark.stream(numbers, rows="arrow")),
        "kept": waited_for(lambda: written(spark, kept)),
        "failing": "LookupError: the feed broke" in refused(lambda: waited_for(lambda: written(spark, failing))),
        "no stream": refused(lambda: spark.stream(live)),
        "no option": refused(lambda: spark.stream(numbers, ahead=3)),
        "no flow": refused(lambda: spark.flow(lambda df: df, "n long")),
        "no pipeline": refused(lambda: (spark_source(lambda session: session.range(3)) | Sink.count()).run(spark)),
        "no second": refused(Spark),
    }


def main(remote: str) -> None:
    before = set(threading.enumerate())
    with Spark(remote=remote) as spark:
        found = all_of_it(spark)
    gc.collect()  # PySpark's threads end with the iterators that have them, which may be in cycles
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(60)
    found["threads"] = sorted(thread.name for thread in left if thread.is_alive())
    found["mode"] = os.environ.get("SPARK_CONNECT_MODE_ENABLED")
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
