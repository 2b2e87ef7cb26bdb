"""ended_jvm: lose the JVM under what runs in it, twice, and go on with another one; what was raised is printed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark import SparkContext

from penstock import Sink, Stream
from penstock.spark import Spark, entry
from penstock.spark.session.jvm.end import OUT_OF_MEMORY
from tests.spark.processes import QUICK_JVM, WAIT


def opened() -> Spark:
    return Spark(master="local[1]", conf={"spark.driver.extraJavaOptions": QUICK_JVM})


def raised_by(call: Callable[[Spark], object]) -> str:
    """Return what leaves the block of a session in which something fails."""
    try:
        with opened() as spark:
            call(spark)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def without_memory(spark: Spark) -> None:
    """End the JVM as Spark does when a task has found no memory, while rows are read."""
    context: Any = spark.session.sparkContext
    end = context._jvm.java.lang.System.exit
    for number, _ in enumerate(spark.stream(spark.session.range(10**9))):
        if not number:
            threading.Thread(target=lambda: unanswered(lambda: end(OUT_OF_MEMORY)), daemon=True).start()


def killed(spark: Spark) -> None:
    """Kill the JVM while a live stream passes through it."""
    gateway: Any = SparkContext._gateway

    def kill(row: Any) -> None:
        if not row.n:
            gateway.proc.kill()

    (Stream.range(10**9) | entry("n long", capacity=1000) | Sink.for_each(kill)).run(spark).wait(WAIT)


def unanswered(call: Callable[[], object]) -> None:
    with suppress(Exception):
        call()


def main() -> None:
    found = [raised_by(without_memory), raised_by(killed)]
    with opened() as spark:
        found.append(str(spark.session.range(3).count()))
    print(json.dumps([*found, sorted(thread.name for thread in threading.enumerate())]))


if __name__ == "__main__":
    main()
