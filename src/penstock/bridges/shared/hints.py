"""hints: what the hints of a dataclass, a NamedTuple class or a TypedDict say of its fields."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from penstock.bridges.shared.columns import SchemaError


def is_record(given: object) -> typing.TypeGuard[type[Any]]:
    """Return whether something is a dataclass, a NamedTuple class or a TypedDict."""
    return isinstance(given, type) and (
        dataclasses.is_dataclass(given)
        or (issubclass(given, tuple) and hasattr(given, "_fields"))
        or typing.is_typeddict(given)
    )


def name_of(given: object) -> str:
    """Return the name of a class, or the text of another hint."""
    return getattr(given, "__name__", None) or str(given)


def hints_of(record: Any) -> dict[str, Any]:
    """Return the hints of a record's fields, in the order in which its rows are made."""
    return _hints(record)


@lru_cache(maxsize=256)
def _hints(record: Any) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(record, include_extras=True)
    except NameError as error:
        raise SchemaError(f"schema: {name_of(record)}: {error}; its annotations must be found in its module") from error
    if typing.is_typeddict(record):
        return hints
    if not dataclasses.is_dataclass(record):
        return {name: hints.get(name, Any) for name in record._fields}
    return {field.name: hints[field.name] for field in dataclasses.fields(record) if field.init}


def without_none(hint: Any) -> tuple[Any, bool]:
    """Return what a hint says besides None, and whether it allows None."""
    if typing.get_origin(hint) not in {typing.Union, types.UnionType}:
        return hint, False
    rest = [one for one in typing.get_args(hint) if one is not type(None)]
    return (rest[0] if len(rest) == 1 else hint), len(rest) < len(typing.get_args(hint))


@lru_cache(maxsize=1024)
def reviver(hint: Any) -> Callable[[Any], Any] | None:
    """Return how to give a value read from Arrow the type of its hint, or None where it has that already."""
    hint, _ = without_none(hint)
    if typing.get_origin(hint) is typing.Annotated:
        hint, _ = without_none(hint.__origin__)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {list, tuple, set, frozenset}:
        inner = reviver(arguments[0])
        if inner is None:
            return None if origin is list else origin
        return lambda values: origin(None if one is None else inner(one) for one in values)
    if origin is dict:
        inner_value = reviver(arguments[1])
        if inner_value is None:
            return None
        return lambda pairs: {key: None if one is None else inner_value(one) for key, one in pairs.items()}
    if is_record(hint):
        revivers = {name: reviver(inner) for name, inner in hints_of(hint).items()}

        def record(found: dict[str, Any]) -> Any:
            return hint(
                **{
                    name: value if (revive := revivers[name]) is None or value is None else revive(value)
                    for name, value in found.items()
                }
            )

        return record
    return None
