"""ddl: what is read without Spark is what Spark's own parser reads, and what it refuses is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.sql import types as spark_types

from penstock.spark import SchemaError, Spark
from penstock.spark.wire.ddl import struct_of

GOOD = (
    *(f"a {kind}" for kind in ("boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long")),
    *(f"a {kind}" for kind in ("float", "real", "double", "date", "binary", "void", "variant", "interval", "string")),
    *(f"a {kind}" for kind in ("timestamp", "TIMESTAMP_LTZ", "timestamp_ntz", "decimal", "dec", "numeric")),
    *(f"a {kind}" for kind in ("decimal(5)", "decimal(38,38)", "decimal( 10 , 2 )", "char(5)", "character(5)")),
    *(f"a interval {span}" for span in ("year", "month", "year to month", "day", "hour to second", "day to minute")),
    *(f"a interval {span}" for span in ("second", "minute to second", "day to second not null")),
    "a varchar(7), b string COLLATE UNICODE, c array<string collate utf8_lcase>",
    "a array<int>, b map<string,array<struct<x:int>>>, c struct<>, d ARRAY < INT >, e array<array<string>>",
    "a struct<x int, `y z`: string not null comment 'hm'> NOT NULL COMMENT 'its', b date",
    "a struct<b array<struct<c map<string,decimal(3,1)>>>> not null, d date",
    r"a int comment 'it\'s', b int comment 'a\nb\t\\', c int comment 'a\u0041b\101', d int comment r'a\nb'",
    r"b int comment 'a\%b\_c\qd', c int comment 'x\U0001F600', d int comment 'a\0b'",
    "a int comment \"say 'hi'\", b int comment 'a \"b\"', c int comment ''",
    "`a``b` int, `ä` int, _a int, 1a int, 2nd int, 9x9 int",
    "select int, not int, comment int, array int, struct int, map int, interval interval, int int, null int",
    "from int, table string, end int, date date, timestamp timestamp, key string, true int",
    "a: int, b string, c :long",
    "a:int,b:string",
    "struct<a int, b: int>",
    "struct <a:int>",
    "a int, A int",
    "a int -- hm",
    "a /* x */ int",
    "",
)
BAD = (
    "a", "int", "array<int>", "map<int,int>", "decimal(5,2)", "interval day", "a int,", ",a int", "a int,,b int",
    "a int b int", "a blub", "a string(5)", "a char", "a varchar", "a decimal(39)", "a decimal(5,6)", "a decimal(5,)",
    "a decimal()", "a decimal(5,-1)", "a decimal(5L)", "a interval month to year", "a interval day to day",
    "a interval year to day", "a interval week", "a array", "a array<>", "a array<int,int>", "a array<int not null>",
    "a map<string>", "a struct", "a struct<x>", "a int null", "a int not", "a int comment x",
    "a int comment 'a' not null", "a int default 5", "ä int", "a-b int", "a.b int", "1 int", "2L int", "1e5 int",
    "2d int", "a$ int", '"a" int', "'a' int", "struct<a:int>,b int", "a int /* x", "a int)", "(a int)", "a int>",
    "a array<int>>", "array<int> a", "a timestamp with time zone", "a int comment 'x",
)  # fmt: skip
NEWER = (
    "a time, b time(0), c time(6) without time zone, d geometry(4326), e geometry(any), f geography(4326)",
    "a int comment 'it''s', b int comment 'a' 'b'",
)
"""What 4.0 does not know."""


def test_what_spark_reads_is_read_alike(spark: Spark) -> None:
    for text in (*GOOD, *(NEWER if hasattr(spark_types, "TimeType") else ())):
        theirs = spark_types.DataType.fromDDL(text)
        ours = struct_of(text)
        assert ours == theirs, text
        assert ours.jsonValue() == theirs.jsonValue(), text


def test_what_spark_refuses_is_refused(spark: Spark) -> None:
    for text in BAD:
        try:
            theirs: object = spark_types.DataType.fromDDL(text)
        except Exception:
            theirs = None
        assert not isinstance(theirs, spark_types.StructType), text
        with pytest.raises(SchemaError):
            struct_of(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("n nonsense", "expected a type of Spark's, found 'nonsense'"),
        ("n int m", "expected ',' or the end, found 'm'"),
        ("n decimal(50)", "expected a whole number up to 38, found '50'"),
        ("n array<int", "expected '>', found its end"),
        ("n-m int", "'-' has no meaning there"),
        ("n interval day to year", "expected a unit smaller than 'day', found 'year'"),
        ("a " + "array<" * 200 + "int", "types must be nested at most 100 deep"),
        (f"n decimal({'9' * 5000})", f"expected a whole number up to 38, found '{'9' * 5000}'"),
    ],
)
def test_a_refusal_says_where(text: str, wrong: str) -> None:
    with pytest.raises(SchemaError) as refused:
        struct_of(text)
    assert str(refused.value) == f"schema: must be DDL like 'name string, age int', got {text!r}: {wrong}"


def test_a_pipeline_is_explained_without_spark() -> None:
    text = (
        "from penstock import Sink, Stream; from penstock.spark import frame; from pyspark import SparkContext;"
        "print((Stream.just('x') | frame(lambda df: df, schema='value string') | Sink.to_list()).explain());"
        "assert SparkContext._gateway is None"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert "frame(" in done.stdout
