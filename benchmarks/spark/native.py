"""native: a pipeline of Spark's own steps beside the same steps written in PySpark."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.workload import HAND, PENSTOCK, Bound, Contender, Target, Workload
from penstock.spark import Spark, frame, spark_sink, spark_source

BUCKETS = 100
SPARKS_OWN = Bound(kept=True, why="Spark's own plan, with nothing of ours in it")


def _read(session: SparkSession, size: int) -> DataFrame:
    return session.range(0, size, 1, session.sparkContext.defaultParallelism)


def _keyed(df: DataFrame) -> DataFrame:
    return df.selectExpr("id", f"hash(id) % {BUCKETS} AS bucket").where("id % 3 != 0")


def _summed(df: DataFrame) -> DataFrame:
    return df.groupBy("bucket").agg(f.sum("id").alias("total"), f.count("*").alias("rows"))


def _written(df: DataFrame) -> tuple[int, int]:
    found: Any = df.agg(f.sum("total"), f.sum("rows")).first()
    return int(found[0]), int(found[1])


def workload(spark: Spark) -> Workload:
    """Read, select and filter, aggregate, and give the sums of what is left."""

    def by_hand(size: int) -> object:
        return _written(_summed(_keyed(_read(spark.session, size))))

    def penstock(size: int) -> object:
        source = spark_source(lambda session: _read(session, size))
        return (source | frame(_keyed) | frame(_summed) | spark_sink(_written)).run(spark).wait()

    return Workload(
        name="native_steps",
        title="spark_source, two frame steps, spark_sink",
        size=100_000_000,
        quick_size=3_000_000,
        expected=lambda size: (sum(range(size)) - sum(range(0, size, 3)), size - len(range(0, size, 3))),
        contenders=(Contender(HAND, by_hand, SPARKS_OWN), Contender(PENSTOCK, penstock, SPARKS_OWN)),
        targets=(Target(at_most=1.05),),
    )
