"""columns: turn a column of Python values into an Arrow array and back, refusing what Arrow would bend to fit.

Arrow itself takes 1.5 for a whole number, a number for a moment and bytes for text, and changes them on the way. So the
types that occur in a column are looked at first; where they are the plain ones, that look is all it costs.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import math
import numbers
import reprlib
from array import array as numbers_array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock.errors import PenstockError

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 100

_NONE = type(None)
_WHOLE = {int}
_INT64 = pa.int64()


class SchemaError(PenstockError):
    """The error of an unusable schema, or of a row that does not fit one: `row`, `field`, `expected` and `value`."""

    def __init__(
        self,
        message: str,
        *,
        row: int | None = None,
        field: str | None = None,
        expected: str = "",
        value: object = None,
    ) -> None:
        super().__init__(message)
        self.row = row
        self.field = field
        self.expected = expected
        self.value = value

    def __reduce__(self) -> tuple[Callable[..., SchemaError], tuple[str, int | None, str | None, str, str]]:
        # The value need not be picklable to be reported; its text is.
        return (_rebuilt, (str(self), self.row, self.field, self.expected, short(self.value)))


def _rebuilt(message: str, row: int | None, field: str | None, expected: str, value: str) -> SchemaError:
    return SchemaError(message, row=row, field=field, expected=expected, value=value)


class Misfit(Exception):
    """The error of a value that does not fit a nested field, before the row is known."""

    def __init__(self, path: str, expected: str, value: object) -> None:
        super().__init__(path, expected, value)
        self.path = path
        self.expected = expected
        self.value = value


def short(value: object) -> str:
    """Return a repr of bounded length."""
    return _short.repr(value)


def kinds_of(values: Sequence[Any]) -> set[type]:
    """Return the types that occur; where it is one, as mostly, in half the time of a set."""
    if not values:
        return set()
    kinds = list(map(type, values))
    return {kinds[0]} if kinds.count(kinds[0]) == len(kinds) else set(kinds)


def _whole(kind: type) -> bool:
    return issubclass(kind, numbers.Integral) and not issubclass(kind, bool)


def _real(kind: type) -> bool:
    return issubclass(kind, numbers.Real) and not issubclass(kind, bool)


def _several(kind: type) -> bool:
    return not issubclass(kind, str | bytes | bytearray | Mapping) and issubclass(kind, Iterable)


def _accepts(kind: pa.DataType) -> tuple[frozenset[type], Callable[[type], bool]] | None:
    """Return the types that are surely right for an Arrow type, and how to decide about others."""
    t = pa.types
    if t.is_integer(kind):
        return frozenset({int, _NONE}), _whole
    if t.is_floating(kind):
        return frozenset({float, int, _NONE}), _real
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return frozenset({str, _NONE}), lambda given: issubclass(given, str)
    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind):
        return frozenset({bytes, _NONE}), lambda given: issubclass(given, bytes | bytearray | memoryview)
    if t.is_date(kind):
        date, moment = dt.date, dt.datetime
        return frozenset({date, _NONE}), lambda given: issubclass(given, date) and not issubclass(given, moment)
    if t.is_timestamp(kind):
        return frozenset({dt.datetime, _NONE}), lambda given: issubclass(given, dt.datetime)
    if t.is_duration(kind):
        return frozenset({dt.timedelta, _NONE}), lambda given: issubclass(given, dt.timedelta)
    if t.is_time(kind):
        return frozenset({dt.time, _NONE}), lambda given: issubclass(given, dt.time)
    if t.is_decimal(kind):
        return frozenset({decimal.Decimal, int, _NONE}), _whole
    if _is_list(kind):
        return frozenset({list, tuple, _NONE}), _several
    if t.is_map(kind):
        return frozenset({dict, _NONE}), lambda given: issubclass(given, Mapping)
    return None  # booleans and nulls: Arrow is strict about them itself


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)  # type: ignore[no-any-return]


def _expected(kind: pa.DataType, nullable: bool) -> str:
    return str(kind) if nullable else f"{kind} and not None"


def _zone_misfits(kind: pa.DataType, values: Sequence[Any], path: str) -> None:
    for value in values:
        if value is None or (value.tzinfo is None) == (kind.tz is None):
            continue
        cure = (
            "a datetime with a time zone (or declare the field without one)"
            if kind.tz is not None
            else "a datetime without a time zone (or declare the field with one)"
        )
        raise Misfit(path, cure, value)


_NAMES = ("_fields", "__fields__")
"""Where named tuples and rows of PySpark have the names of their fields."""


def _fields_of(kind: pa.StructType, value: Any, path: str) -> Mapping[str, Any]:
    """Return one struct value as a mapping with exactly the struct's fields."""
    if value is None:
        return {}
    names = [field.name for field in kind]
    if isinstance(value, Mapping):
        found = value
    elif dataclasses.is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    elif isinstance(value, tuple) and len(value) == len(names):
        own: Sequence[str] = next((said for name in _NAMES if (said := getattr(value, name, None))), names)
        found = dict(zip(own, value, strict=True))
    else:
        raise Misfit(path, str(kind), value)
    for name in (*names, *found):
        if name not in found or name not in names:
            raise Misfit(f"{path}.{name}", "given" if name in names else "in the schema", value)
    return found


def _prepared(
    kind: pa.DataType, nullable: bool, values: Sequence[Any], path: str, seen: set[type] | None = None
) -> Sequence[Any]:
    """Check a column deeply and return it in a form that Arrow takes; `seen` are its types, where they are known."""
    seen = kinds_of(values) if seen is None else seen
    if not nullable and _NONE in seen:
        raise Misfit(path, _expected(kind, nullable), None)
    if seen <= {_NONE}:
        return values
    accepts = _accepts(kind)
    if accepts is not None and not seen <= accepts[0]:
        wrong = {given for given in seen - accepts[0] if not accepts[1](given)}
        if wrong:
            raise Misfit(path, _expected(kind, nullable), next(value for value in values if type(value) in wrong))
    if pa.types.is_timestamp(kind):
        _zone_misfits(kind, values, path)
    elif _is_list(kind):
        lists = [None if value is None else list(value) for value in values]
        inner = list(chain.from_iterable(value for value in lists if value is not None))
        following = iter(_prepared(kind.value_type, kind.value_field.nullable, inner, f"{path}[]"))
        return [None if value is None else [next(following) for _ in value] for value in lists]
    elif pa.types.is_map(kind):
        pairs = [None if value is None else list(value.items()) for value in values]
        flat = list(chain.from_iterable(value for value in pairs if value is not None))
        keys = iter(_prepared(kind.key_type, False, [key for key, _ in flat], f"{path}.key"))
        items = iter(_prepared(kind.item_type, kind.item_field.nullable, [item for _, item in flat], f"{path}.value"))
        return [None if value is None else [(next(keys), next(items)) for _ in value] for value in pairs]
    elif pa.types.is_struct(kind):
        return _structs(kind, values, path)
    return values


def _structs(kind: pa.StructType, values: Sequence[Any], path: str) -> list[Any]:
    given = [_fields_of(kind, value, path) for value in values if value is not None]
    names = [field.name for field in kind]
    columns = [
        _prepared(field.type, field.nullable, [value[field.name] for value in given], f"{path}.{field.name}")
        for field in kind
    ]
    made = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return [None if value is None else next(made) for value in values]


def _array(field: pa.Field, values: Sequence[Any]) -> pa.Array:
    kind = field.type
    seen = kinds_of(values)
    if seen == _WHOLE and kind == _INT64:
        # Python's own array takes whole numbers in two thirds of Arrow's time, and refuses what is too large as well.
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(numbers_array("q", values))], 0)
    array = pa.array(_prepared(kind, field.nullable, values, field.name, seen), kind)
    if pa.types.is_float32(kind) and pc.any(pc.is_inf(array)).as_py():  # pyright: ignore[reportAttributeAccessIssue]  made at run time
        wrong = next((v for v in values if v is not None and abs(v) > _FLOAT32 and not math.isinf(v)), None)
        if wrong is not None:
            raise Misfit(field.name, str(kind), wrong)
    return array


_FLOAT32 = 3.4028235677973366e38  # what is larger becomes infinite

_FEW = 4
"""Values that are looked at one by one rather than halved again."""

_REFUSALS = (Misfit, pa.ArrowException, OverflowError, ValueError, TypeError)


def array_of(field: pa.Field, values: Sequence[Any], first: int) -> pa.Array:
    """Return a column as an Arrow array, or raise SchemaError about the first value that does not fit."""
    try:
        return _array(field, values)
    except _REFUSALS as error:
        fits = _fit_up_to(field, values)
        for index, value in enumerate(values[fits:], fits):
            try:
                _array(field, (value,))
            except _REFUSALS as found:
                raise _blamed(field, first + index, value, found) from found
        raise SchemaError(f"rows from {first}: field {field.name!r}: {error}", row=first, field=field.name) from error


def _fit_up_to(field: pa.Field, values: Sequence[Any]) -> int:
    """Return how many values fit before the first that does not, among some of which at least one does not."""
    low, high = 0, len(values)
    while high - low > 1:
        half = (low + high) // 2
        if _fit(field, values, range(low, half)):
            low = half
        else:
            high = half
    return low


def misfits(field: pa.Field, values: Sequence[Any], rows: Sequence[int]) -> dict[int, SchemaError]:
    """Return the places of a column whose values do not fit, each with what is wrong; `rows` has the rows' numbers.

    Values of a type that never fits are found at one look. The others are halved until those that fit are apart.
    """
    try:
        _array(field, values)
    except _REFUSALS:
        pass
    else:
        return {}
    expected = _expected(field.type, field.nullable)
    wrong = _never_fit(field, set(map(type, values)))
    faults: dict[int, Exception] = {
        place: Misfit(field.name, expected, value) for place, value in enumerate(values) if type(value) in wrong
    }
    places = [place for place in range(len(values)) if place not in faults] if faults else range(len(values))
    if not faults or not _fit(field, values, places):
        _halve(field, values, places, faults)
    found = {}
    for place in sorted(faults):
        error = found[place] = _blamed(field, rows[place], values[place], faults[place])
        error.__cause__ = faults[place]
    return found


def _never_fit(field: pa.Field, kinds: set[type]) -> set[type]:
    accepts = _accepts(field.type)
    wrong = {_NONE} & kinds if not field.nullable else set()
    if accepts is None:
        return wrong
    return wrong | {kind for kind in kinds - accepts[0] if not accepts[1](kind)}


def _fit(field: pa.Field, values: Sequence[Any], places: Sequence[int]) -> bool:
    try:
        _array(field, [values[place] for place in places])
    except _REFUSALS:
        return False
    return True


def _halve(field: pa.Field, values: Sequence[Any], places: Sequence[int], faults: dict[int, Exception]) -> None:
    """Find the values that do not fit among some of which at least one does not."""
    if len(places) <= _FEW:
        for place in places:
            try:
                _array(field, (values[place],))
            except _REFUSALS as error:
                faults[place] = error
        return
    half = len(places) // 2
    before, after = places[:half], places[half:]
    if _fit(field, values, before):
        _halve(field, values, after, faults)
    else:
        _halve(field, values, before, faults)
        if not _fit(field, values, after):
            _halve(field, values, after, faults)


def _blamed(field: pa.Field, row: int, value: object, found: Exception) -> SchemaError:
    path, expected = field.name, _expected(field.type, field.nullable)
    if isinstance(found, Misfit):
        path, expected, value = found.path, found.expected, found.value
    message = f"row {row}: field {path!r} must be {expected}, got {short(value)}"
    return SchemaError(message, row=row, field=path, expected=expected, value=value)


def has_map(kind: pa.DataType) -> bool:
    """Tell whether a type is a map or holds one."""
    return pa.types.is_map(kind) or any(has_map(kind.field(place).type) for place in range(kind.num_fields))


_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  what a moment without a zone counts from
_ZERO = frozenset({"UTC", "Etc/UTC", "+00:00"})


def _moments(array: pa.Array) -> list[Any]:
    """Return microseconds since the epoch as datetimes; Arrow itself needs ten times as long for each."""
    since = array.to_numpy(zero_copy_only=False).view("timedelta64[us]").tolist()
    zone = None if array.type.tz is None else pa.lib.string_to_tzinfo(array.type.tz)  # pyright: ignore[reportAttributeAccessIssue]
    if zone is None or array.type.tz in _ZERO:
        epoch = _EPOCH.replace(tzinfo=zone)
        return [None if one is None else epoch + one for one in since]
    epoch = _EPOCH.replace(tzinfo=dt.UTC)
    return [None if one is None else (epoch + one).astimezone(zone) for one in since]


def values_of(array: pa.Array) -> list[Any]:
    """Return a column as Python values; maps are dicts and structs are dicts."""
    kind = array.type
    if pa.types.is_nested(kind):
        # Only where there is a map: to be strict about its keys costs the fast way through everything else.
        return array.to_pylist(maps_as_pydicts="strict") if has_map(kind) else array.to_pylist()  # type: ignore[no-any-return]
    try:
        if pa.types.is_timestamp(kind) and kind.unit == "us":
            return _moments(array)
        if pa.types.is_date32(kind):
            days: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
            if set(map(type, days)) <= {dt.date, _NONE}:
                return days
    except OverflowError:
        pass  # beyond the year 9999: Arrow says so in its own words
    return array.to_pylist()  # type: ignore[no-any-return]
