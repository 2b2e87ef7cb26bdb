"""arrow_types: Spark's types as Arrow's and back, for which PySpark has private functions that change.

Up to 4.1 they take no time zone, forget which elements may be null, and read a moment without a zone as one with.
`TimeType` is missing in 4.0.
"""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import types as spark
from pyspark.sql.pandas import types as conversion

_to_arrow: Any = conversion.to_arrow_schema
_from_arrow: Any = conversion.from_arrow_type
_TAKES_ZONE = "timezone" in inspect.signature(_to_arrow).parameters

TIME: type[spark.DataType] | None = getattr(spark, "TimeType", None)
"""The type of a time of day, if there is one."""


def arrow_schema(struct: spark.StructType, timezone: str = "UTC", *, large: bool = False) -> pa.Schema:
    """Return the Arrow schema of rows; moments have the time zone, and texts are large ones if it is said."""
    if _TAKES_ZONE:
        return _to_arrow(struct, timezone=timezone, prefers_large_types=large)
    made = _to_arrow(struct, prefers_large_types=large)
    if timezone == "UTC":
        return made
    return pa.schema([field.with_type(_in_zone(field.type, timezone)) for field in made], made.metadata)


def _in_zone(kind: Any, timezone: str) -> Any:
    """Return a type whose moments are told in another time zone."""
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, tz=timezone)
    if pa.types.is_list(kind):
        return pa.list_(_field_in_zone(kind.value_field, timezone))
    if pa.types.is_map(kind):
        return pa.map_(_field_in_zone(kind.key_field, timezone), _field_in_zone(kind.item_field, timezone))
    if pa.types.is_struct(kind):
        return pa.struct([_field_in_zone(kind.field(place), timezone) for place in range(kind.num_fields)])
    return kind


def _field_in_zone(field: Any, timezone: str) -> Any:
    return field.with_type(_in_zone(field.type, timezone))


def spark_type(kind: pa.DataType) -> spark.DataType:
    """Return Spark's type for one of Arrow's."""
    if _TAKES_ZONE:
        return _from_arrow(kind)  # type: ignore[no-any-return]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return spark.ArrayType(spark_type(kind.value_type), kind.value_field.nullable)
    if pa.types.is_map(kind):
        return spark.MapType(spark_type(kind.key_type), spark_type(kind.item_type), kind.item_field.nullable)
    made: spark.DataType = _from_arrow(kind, prefer_timestamp_ntz=True)
    if not isinstance(made, spark.StructType):
        return made
    return spark_struct([kind.field(place) for place in range(kind.num_fields)])


def spark_struct(fields: Any) -> spark.StructType:
    """Return Spark's schema for one of Arrow's, or for some of its fields."""
    if _TAKES_ZONE:
        return conversion.from_arrow_schema(fields if isinstance(fields, pa.Schema) else pa.schema(fields))
    return spark.StructType([spark.StructField(field.name, spark_type(field.type), field.nullable) for field in fields])


__all__ = ["TIME", "arrow_schema", "spark_struct", "spark_type"]
