"""arrow_types: every PySpark gives the same Arrow types, and gets them back."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from penstock.spark.versions import arrow_types
from penstock.spark.versions.arrow_types import TIME, arrow_schema, spark_struct, spark_type

MOMENT, PLAIN = spark.TimestampType(), spark.TimestampNTZType()
STRUCT = spark.StructType(
    [
        spark.StructField("at", MOMENT, False),
        spark.StructField("there", PLAIN),
        spark.StructField("all", spark.ArrayType(MOMENT, False)),
        spark.StructField("by", spark.MapType(spark.StringType(), spark.ArrayType(MOMENT), False)),
        spark.StructField("of", spark.StructType([spark.StructField("last", MOMENT, False)])),
        spark.StructField("price", spark.DecimalType(9, 2)),
        spark.StructField("took", spark.DayTimeIntervalType()),
        spark.StructField("day", spark.DateType()),
        spark.StructField("data", spark.BinaryType()),
    ]
)


@pytest.fixture(params=["installed", "without a zone"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Go the way of the installed PySpark, and that of one whose functions take no time zone."""
    if request.param == "without a zone" and arrow_types._TAKES_ZONE:
        newest = partial(arrow_types._to_arrow, timezone="UTC")
        monkeypatch.setattr(arrow_types, "_TAKES_ZONE", False)
        monkeypatch.setattr(arrow_types, "_to_arrow", newest)
    return str(request.param)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_moments_have_the_zone_wherever_they_are(path: str, zone: str) -> None:
    moment = pa.timestamp("us", tz=zone)
    made = arrow_schema(STRUCT, zone)
    assert made.field("at").type == moment
    assert made.field("there").type == pa.timestamp("us")
    assert made.field("all").type == pa.list_(pa.field("element", moment, False))
    assert made.field("by").type == pa.map_(
        pa.string(), pa.field("value", pa.list_(pa.field("element", moment)), nullable=False)
    )
    assert made.field("of").type == pa.struct([pa.field("last", moment, False)])


def test_types_come_back_as_they_were(path: str) -> None:
    assert spark_struct(arrow_schema(STRUCT, "UTC")) == STRUCT
    assert spark_type(pa.large_list(pa.int32())) == spark.ArrayType(spark.IntegerType())


def test_texts_are_large_if_it_is_said(path: str) -> None:
    struct = spark.StructType([spark.StructField("text", spark.StringType())])
    assert arrow_schema(struct, large=True).field(0).type == pa.large_string()
    assert arrow_schema(struct).field(0).type == pa.string()


def test_there_is_a_time_of_day_from_the_version_that_has_it() -> None:
    assert (TIME is not None) == hasattr(spark, "TimeType")
