"""tagged: the rows of several DataFrames in one, each with the number of the one that it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from penstock.spark.egress.decoding import Decode, decoder

TAG = "penstock_of"
compute: Any = pc  # its functions are made when it is imported, so type checkers do not know them


def _column(number: int) -> str:
    return f"penstock_{number}"


def tagged(frames: Sequence[DataFrame]) -> DataFrame:
    """Put the rows of several DataFrames into one: a number, and a column for each of them, null but for its rows."""
    parts: list[DataFrame] = []
    for number, each in enumerate(frames):
        rows = [
            (f.struct(*(each[f"`{name}`"] for name in each.columns)) if at == number else f.lit(None))
            .cast(_nullable(other.schema))
            .alias(_column(at))
            for at, other in enumerate(frames)
        ]
        parts.append(each.select(f.lit(number).alias(TAG), *rows))
    whole, *others = parts
    for each in others:
        whole = whole.union(each)
    return whole


def _nullable(kind: DataType) -> DataType:
    """Return a type whose parts may all be null, as they are where the whole is; Arrow insists on it."""
    if isinstance(kind, StructType):
        return StructType([StructField(each.name, _nullable(each.dataType)) for each in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(_nullable(kind.keyType), _nullable(kind.valueType))
    return kind


def untagged(df: DataFrame, number: int) -> DataFrame:
    """Take the rows of one of them out again."""
    return df.where(df[TAG] == number).select(f"{_column(number)}.*")


def pairs(frames: Sequence[DataFrame], forms: Sequence[Any]) -> Decode:
    """Return how record batches of tagged rows become pairs of a number and an element."""
    decoders = [decoder(each, form) for each, form in zip(frames, forms, strict=True)]
    names = [each.columns for each in frames]

    def decode(batch: pa.RecordBatch) -> Iterator[tuple[int, Any]]:
        for number, made in enumerate(decoders):
            own = batch.filter(compute.equal(batch.column(0), number))
            if own.num_rows:
                columns = own.column(number + 1).flatten()
                for element in made(pa.RecordBatch.from_arrays(columns, names=names[number])):
                    yield number, element

    return decode


def of(number: int) -> Callable[[tuple[int, Any]], bool]:
    """Return what tells whether a pair has a number."""
    return lambda pair: pair[0] == number


__all__ = ["of", "pairs", "tagged", "untagged"]
