"""python -m tests.spark.shown_sessions MASTER: open each session that the guides only show, use it, and close it."""

from __future__ import annotations

import ast
import sys
from functools import partial

from pyspark.sql import SparkSession

from penstock import Stream
from penstock.spark import Spark
from penstock.spark.session.certificate import made_for
from tests.spark.processes import waited_for
from tests.test_docs import ROOT, shown_blocks

PAGES = ("spark.md", "pipelines.md")
MASTER = "spark://host:7077"
"""What the guides have in the place of a cluster."""


def shown(master: str) -> list[str]:
    """Return the statements that are shown, each once, as they are said to a cluster.

    First come imports, and then the session that is there already, since a process has one session at a time.
    """
    sources = [each for page in PAGES for each in shown_blocks(ROOT / "docs" / "guides" / page)]
    statements = [ast.unparse(each) for source in sources for each in ast.parse(source.replace(MASTER, master)).body]
    return sorted(dict.fromkeys(statements), key=lambda each: (not each.startswith("from"), "existing" not in each))


def passed_through(spark: Spark) -> list[int]:
    """Send rows into a session and take them out again."""
    return [row.n for row in spark.stream(spark.frame(Stream.range(5), "n long"))]


def main(master: str) -> None:
    existing = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    made = made_for(existing, "127.0.0.1")
    names = {"existing": existing, "certificate": made.certificate, "key": made.key, "roots": made.certificate}
    for statement in shown(master):
        exec(statement, names)
        spark = names.pop("spark", None)
        if isinstance(spark, Spark):
            with spark:
                rows = partial(passed_through, spark)
                assert (waited_for(rows) if "existing" in statement else rows()) == [0, 1, 2, 3, 4]
            print(statement, flush=True)
            if "existing" in statement:
                assert existing.range(3).count() == 3  # close() leaves it running
                existing.stop()


if __name__ == "__main__":
    main(sys.argv[1])
