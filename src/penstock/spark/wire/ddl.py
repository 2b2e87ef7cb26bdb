"""ddl: read a schema that is written as DDL, `name string, sizes array<int> NOT NULL`, without a running Spark.

PySpark sends such a text to the JVM. A pipeline is planned, and explained, before there is one. What is read here is
what Spark's own parser reads: all its types, fields with or without a colon, `NOT NULL` and `COMMENT`, names in
backquotes, and a whole `struct<...>`. A bare `timestamp` is one with a time zone, as it is by Spark's default.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from pyspark.sql import types as spark

from penstock.bridges.shared.columns import SchemaError

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<text>r'[^']*'|r"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<word>\w+)
    |(?P<sign>[<>(),:])""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(r"\d+(?:e\d+)?(?:bd|[lsydf])?", re.IGNORECASE)
"""What is a number to Spark, and so no name: `1`, `2L`, `3e5`."""
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}

_PLAIN: dict[str, Callable[[], spark.DataType]] = {
    "boolean": spark.BooleanType,
    **dict.fromkeys(("tinyint", "byte"), spark.ByteType),
    **dict.fromkeys(("smallint", "short"), spark.ShortType),
    **dict.fromkeys(("int", "integer"), spark.IntegerType),
    **dict.fromkeys(("bigint", "long"), spark.LongType),
    **dict.fromkeys(("float", "real"), spark.FloatType),
    "double": spark.DoubleType,
    "date": spark.DateType,
    "timestamp_ltz": spark.TimestampType,
    "timestamp_ntz": spark.TimestampNTZType,
    "binary": spark.BinaryType,
    "void": spark.NullType,
    "variant": spark.VariantType,
}
_DAYS = ("day", "hour", "minute", "second")
_YEARS = ("year", "month")
_MOST_DIGITS = 38
_FRACTION, _MOST_FRACTION = 6, 9
_MOST_LENGTH = 2**31 - 1
_DEEPEST, _LONGEST = 100, 100


class _Unread(Exception):
    """What is wrong with a text."""


class _Reader:
    """The words of a text, read one after the other."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise _Unread(f"{text[place]!r} has no meaning there")
            if found.lastgroup != "blank":
                self._tokens.append((str(found.lastgroup), found[0]))
            place = found.end()
        self._next = 0
        self._depth = 0

    # One word after the other.

    @property
    def _token(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "")

    def _refuse(self, expected: str) -> NoReturn:
        kind, text = self._token
        raise _Unread(f"expected {expected}, found {'its end' if kind == 'end' else repr(text)}")

    def _has(self, *words: str) -> bool:
        """Take these words if they come next."""
        coming = self._tokens[self._next : self._next + len(words)]
        found = [text.lower() if kind in {"word", "sign"} else None for kind, text in coming] == list(words)
        if found:
            self._next += len(words)
        return found

    def _take(self, word: str) -> None:
        if not self._has(word):
            self._refuse(repr(word))

    def _whole(self, most: int) -> int:
        kind, text = self._token
        if kind != "word" or not text.isdecimal() or len(text) > _LONGEST or int(text) > most:
            self._refuse(f"a whole number up to {most}")
        self._next += 1
        return int(text)

    def _name(self) -> str:
        kind, text = self._token
        if kind == "quoted":
            name = text[1:-1].replace("``", "`")
        elif kind == "word" and not _NUMBER.fullmatch(text):
            name = text
        else:
            self._refuse("a name")
        self._next += 1
        return name

    def _text(self) -> str:
        if self._token[0] != "text":
            self._refuse("a text in quotes")
        parts: list[str] = []
        while self._token[0] == "text":  # those that follow one another are one
            parts.append(_unquoted(self._token[1]))
            self._next += 1
        return "".join(parts)

    # Fields.

    def schema(self) -> spark.StructType:
        """Read a whole text: a struct, or its fields alone."""
        if self._has("struct", "<"):
            self._next = 0
            whole = self._kind()
            assert isinstance(whole, spark.StructType)
            made = whole
        else:
            made = spark.StructType(self._fields() if self._tokens else [])
        if self._token[0] != "end":
            self._refuse("',' or the end")
        return made

    def _fields(self) -> list[spark.StructField]:
        fields = [self._field()]
        while self._has(","):
            fields.append(self._field())
        return fields

    def _field(self) -> spark.StructField:
        name = self._name()
        self._has(":")
        kind = self._kind()
        nullable = not self._has("not", "null")
        metadata: dict[str, Any] | None = None
        if self._has("comment"):
            metadata = {"comment": self._text()}
        return spark.StructField(name, kind, nullable, metadata)

    # Types.

    def _kind(self) -> spark.DataType:
        kind, text = self._token
        if kind != "word":
            self._refuse("a type")
        self._next += 1
        name = text.lower()
        if name in _PLAIN:
            return _PLAIN[name]()
        read = getattr(self, f"_{name}_type", None)
        if read is None:
            self._next -= 1
            self._refuse("a type of Spark's")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unread(f"types must be nested at most {_DEEPEST} deep")
        made: spark.DataType = read()
        self._depth -= 1
        return made

    def _array_type(self) -> spark.DataType:
        self._take("<")
        inner = self._kind()
        self._take(">")
        return spark.ArrayType(inner, True)

    def _map_type(self) -> spark.DataType:
        self._take("<")
        key = self._kind()
        self._take(",")
        value = self._kind()
        self._take(">")
        return spark.MapType(key, value, True)

    def _struct_type(self) -> spark.DataType:
        self._take("<")
        fields = [] if self._token == ("sign", ">") else self._fields()
        self._take(">")
        return spark.StructType(fields)

    def _string_type(self) -> spark.DataType:
        if not self._has("collate"):
            return spark.StringType()
        name = self._name()
        return spark.StringType(name.upper() if name.upper().startswith(("UTF8", "UNICODE")) else name)

    def _timestamp_type(self) -> spark.DataType:
        if self._has("without", "time", "zone"):
            return spark.TimestampNTZType()
        self._has("with", "local", "time", "zone")
        return spark.TimestampType()

    def _decimal_type(self) -> spark.DataType:
        if not self._has("("):
            return spark.DecimalType(10, 0)
        precision = self._whole(_MOST_DIGITS)
        scale = self._whole(precision) if self._has(",") else 0
        self._take(")")
        return spark.DecimalType(precision, scale)

    _dec_type = _numeric_type = _decimal_type

    def _char_type(self) -> spark.DataType:
        return spark.CharType(self._length())

    _character_type = _char_type

    def _varchar_type(self) -> spark.DataType:
        return spark.VarcharType(self._length())

    def _length(self) -> int:
        self._take("(")
        length = self._whole(_MOST_LENGTH)
        self._take(")")
        return length

    def _time_type(self) -> spark.DataType:
        made = getattr(spark, "TimeType", None)
        if made is None:
            raise _Unread("this PySpark has no type 'time'; it came with 4.1")
        precision = _FRACTION
        if self._has("("):
            precision = self._whole(_MOST_FRACTION)
            self._take(")")
        self._has("without", "time", "zone")
        return made(precision)  # type: ignore[no-any-return]

    def _interval_type(self) -> spark.DataType:
        for units, made in ((_DAYS, spark.DayTimeIntervalType), (_YEARS, spark.YearMonthIntervalType)):
            for first, unit in enumerate(units):
                if not self._has(unit):
                    continue
                if not self._has("to"):
                    return made(first, first)
                for last in range(first + 1, len(units)):
                    if self._has(units[last]):
                        return made(first, last)
                self._refuse(f"a unit smaller than {unit!r}")
        return spark.CalendarIntervalType()

    def _geometry_type(self) -> spark.DataType:
        return self._place("GeometryType")

    def _geography_type(self) -> spark.DataType:
        return self._place("GeographyType")

    def _place(self, name: str) -> spark.DataType:
        made = getattr(spark, name, None)
        if made is None:
            raise _Unread(f"this PySpark has no {name}; it came with 4.1")
        self._take("(")
        place: int | str = "ANY" if self._has("any") else self._whole(_MOST_LENGTH)
        self._take(")")
        try:
            return made(place)  # type: ignore[no-any-return]
        except Exception as error:
            raise _Unread(str(error)) from error


def _unquoted(text: str) -> str:
    if text[0] in "rR":
        return text[2:-1]
    quote = text[0]
    inner = text[1:-1].replace(quote * 2, quote)
    return _ESCAPE.sub(lambda found: _character(found[1]), inner)


def _character(escaped: str) -> str:
    if len(escaped) > 1:
        return chr(int(escaped[1:], 16) if escaped[0] in "uU" else int(escaped, 8))
    return _ESCAPED.get(escaped, escaped)


def struct_of(text: str) -> spark.StructType:
    """Read a schema, or refuse the text and say where it is wrong."""
    try:
        return _Reader(text).schema()
    except _Unread as error:
        raise SchemaError(f"schema: must be DDL like 'name string, age int', got {text!r}: {error}") from None


__all__ = ["struct_of"]
