"""arrow_partitions: the partitions of a DataFrame as record batches that Spark has made inside the JVM.

`mapInArrow` would give a function the same batches, but it first makes a struct of each row, which costs the JVM as
much again as the batches themselves. PySpark has no method for this way, so it goes through the JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import RDD
from pyspark.serializers import NoOpSerializer

from penstock.spark.versions.arrow_types import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame


def arrow_partitions(frame: DataFrame) -> tuple[RDD[bytes], pa.Schema]:
    """Return the partitions as serialized record batches, and their schema."""
    session = frame.sparkSession
    java: Any = frame.select("*")._jdf  # a new plan, which knows what is held in memory by now
    jvm: Any = session.sparkContext._jvm
    # As DataFrame.rdd does, so that tasks see the settings of the session.
    batches = jvm.org.apache.spark.sql.execution.SQLExecutionRDD(
        java.toArrowBatchRdd(), java.sparkSession().sessionState().conf()
    )
    return RDD(batches.toJavaRDD(), session.sparkContext, NoOpSerializer()), schema_on_the_way(frame)


def schema_on_the_way(frame: DataFrame) -> pa.Schema:
    """Return the schema of the record batches of a DataFrame, whose moments are in the session's time zone."""
    conf = frame.sparkSession.conf
    large = conf.get("spark.sql.execution.arrow.useLargeVarTypes") == "true"
    return arrow_schema(frame.schema, str(conf.get("spark.sql.session.timeZone")), large=large)
