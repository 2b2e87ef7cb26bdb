"""spark: pipelines on Spark, through PySpark; needs `pip install penstock[spark]` and Java 17 or newer."""

try:
    import pyarrow as pa  # type: ignore[import-untyped]  # noqa: F401
    import pyspark  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"penstock.spark needs PySpark and PyArrow, {missing.name} is missing: pip install penstock[spark]"
    ) from missing

from penstock.bridges.shared.columns import SchemaError
from penstock.spark.egress.at_work import StoppedElsewhereError
from penstock.spark.egress.numbering import Numbered
from penstock.spark.facade import Spark
from penstock.spark.partitions.positions import PartError
from penstock.spark.partitions.sinks import SinkPart
from penstock.spark.pipeline.entry import entry
from penstock.spark.pipeline.executor_end import executor_sink
from penstock.spark.pipeline.modes import PlanError
from penstock.spark.pipeline.steps import also, frame, numbered, spark_sink, spark_source
from penstock.spark.preparing import prepare
from penstock.spark.session.borrowed import SparkClosedError
from penstock.spark.session.connect import SparkLimitError
from penstock.spark.session.java import SparkSetupError
from penstock.spark.stages.pairing import both, pair_latest, pair_with_latest, pair_within
from penstock.spark.stages.refusals import StageError
from penstock.spark.stages.scoping import keyed_by, per_partition
from penstock.spark.wire.schema import Schema
from penstock.spark.wire.tls import Tls

__all__ = [
    "Numbered",
    "PartError",
    "PlanError",
    "Schema",
    "SchemaError",
    "SinkPart",
    "Spark",
    "SparkClosedError",
    "SparkLimitError",
    "SparkSetupError",
    "StageError",
    "StoppedElsewhereError",
    "Tls",
    "also",
    "both",
    "entry",
    "executor_sink",
    "frame",
    "keyed_by",
    "numbered",
    "pair_latest",
    "pair_with_latest",
    "pair_within",
    "per_partition",
    "prepare",
    "spark_sink",
    "spark_source",
]
