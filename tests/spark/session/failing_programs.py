"""failing_programs: fail in an executor, be cancelled, and fail without penstock; what is printed is looked at."""

from __future__ import annotations

import sys

from penstock.spark import Spark
from tests.spark import kinds
from tests.spark.processes import QUICK_JVM


def say(word: str) -> None:
    print(word, file=sys.stderr, flush=True)


def main() -> None:
    with Spark(master="local[1]", conf={"spark.driver.extraJavaOptions": QUICK_JVM}) as spark:
        say("OURS")
        kinds.failing_batch(spark)
        kinds.failing(spark)
        kinds.cancelled(spark)
        say("THEIRS")
        try:
            spark.session.range(1).rdd.map(lambda row: 1 // row.id).collect()
        except Exception:
            say("END")


if __name__ == "__main__":
    main()
