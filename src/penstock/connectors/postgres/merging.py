"""merging: what a batch of changes comes down to, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from operator import itemgetter
from typing import Any

from penstock.connectors.postgres.change import Change, Gone

Key = tuple[Any, ...]
Groups = dict[tuple[str, ...], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class MergedRows:
    """What to do, in this order: truncate, give rows other keys, delete, insert or update, update what is there."""

    truncate: bool
    moves: list[tuple[Key, Key]]
    gone: list[Key]
    upserts: Groups
    updates: Groups


@dataclass(slots=True)
class _Pending:
    """What the elements so far come down to; a key is in one of `rows` and `parts` at most."""

    truncate: bool = False
    moves: list[tuple[Key, Key]] = field(default_factory=list)
    gone: dict[Key, None] = field(default_factory=dict)
    rows: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    parts: dict[Key, Mapping[str, Any]] = field(default_factory=dict)

    def put(self, key: Key, row: Mapping[str, Any]) -> None:
        """Have a row inserted, or those columns of it updated."""
        part = self.parts.pop(key, None)
        before = self.rows.get(key) or part
        self.rows[key] = row if before is None else {**before, **row}

    def update(self, key: Key, part: Mapping[str, Any]) -> None:
        """Have those columns of a row updated, which is there but for what comes later."""
        if key in self.rows:
            self.rows[key] = {**self.rows[key], **part}
        else:
            self.parts[key] = {**self.parts.get(key, {}), **part}

    def delete(self, key: Key) -> None:
        """Have a row deleted."""
        self.rows.pop(key, None)
        self.parts.pop(key, None)
        self.gone[key] = None

    def merged(self) -> MergedRows:
        """Return all of it."""
        return MergedRows(self.truncate, self.moves, list(self.gone), _grouped(self.rows), _grouped(self.parts))


def _grouped(rows: dict[Key, Mapping[str, Any]]) -> Groups:
    """Put rows of the same columns together, in whatever order a row has them."""
    groups: Groups = {}
    orders: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in rows.values():
        given = tuple(row)
        names = orders.get(given)
        if names is None:
            names = orders[given] = in_one_order(given)
        groups.setdefault(names, []).append(tuple([row[name] for name in names]))
    return groups


def in_one_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of columns in an order that does not depend on how they came."""
    return tuple(sorted(names, key=str))


def as_mapping(row: Any) -> Mapping[str, Any] | None:
    """Return a mapping, or an object whose fields have names, from columns to values; None for anything else."""
    if isinstance(row, Mapping):
        return row
    named = getattr(row, "_fields", None) or getattr(row, "__fields__", None)  # of a NamedTuple, of a row of Spark's
    if isinstance(row, tuple) and named is not None:
        return dict(zip(named, row, strict=True))
    if is_dataclass(row) and not isinstance(row, type):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    return None


def merged(keys: tuple[str, ...], elements: list[Any]) -> list[MergedRows]:
    """Return what elements come down to, mostly one step.

    A row whose key has changed while a part of it was not sent has to be moved before later elements count, so a step
    ends before it.
    """
    return _alike(keys, elements) or _one_by_one(keys, elements)


def _alike(keys: tuple[str, ...], elements: list[Any]) -> list[MergedRows] | None:
    """Return what rows come down to that have the same columns and different keys, which is faster to find out."""
    rows = _whole(elements)
    if rows is None or len({*map(len, rows)}) > 1:
        return None
    names = in_one_order(rows[0])
    try:
        found = {*map(itemgetter(*keys), rows)}
        values = [*map(itemgetter(*names), rows)] if len(names) > 1 else [tuple(row.values()) for row in rows]
    except (KeyError, TypeError):  # other columns, or a key that is none: the slow way says which
        return None
    return [MergedRows(False, [], [], {names: values}, {})] if len(found) == len(rows) else None


def _whole(elements: list[Any]) -> list[Any] | None:
    """Return the rows of elements that all insert or update a whole row."""
    kinds = {*map(type, elements)}
    if kinds == {dict}:
        return elements
    if kinds != {Change} or any(each.row is None or each.old is not None or each.unsent for each in elements):
        return None
    return [each.row for each in elements]


def _one_by_one(keys: tuple[str, ...], elements: list[Any]) -> list[MergedRows]:
    steps: list[_Pending] = [_Pending()]
    for element in elements:
        now = steps[-1]
        if isinstance(element, Change):
            if element.kind == "truncate":
                steps = [_Pending(truncate=True)]
            elif element.row is None:
                now.delete(_key(keys, element.old, element))
            else:
                new = _key(keys, element.row, element)
                old = new if element.old is None else _key(keys, element.old, element)
                if element.unsent and old != new:
                    steps.append(now := _Pending(moves=[(old, new)]))
                if old != new:
                    now.delete(old)
                (now.update if element.unsent else now.put)(new, element.row)
        elif isinstance(element, Gone):
            now.delete(_key(keys, element.key, element))
        else:
            row = as_mapping(element)
            if row is None:
                kinds = "a mapping, a NamedTuple, a dataclass, a Change or Gone"
                raise TypeError(f"upsert: an element is {kinds}, got {element!r:.200}")
            now.put(_key(keys, row, element), row)
    return [step.merged() for step in steps]


def _key(keys: tuple[str, ...], row: Mapping[str, Any] | None, element: Any) -> Key:
    try:
        assert row is not None
        return tuple([row[name] for name in keys])
    except (AssertionError, KeyError):
        raise ValueError(
            f"upsert: an element has no {', '.join(map(repr, keys))}, by which rows are found, got {element!r:.200};"
            " a table tells the keys of what was deleted if they are its REPLICA IDENTITY"
        ) from None


__all__ = ["MergedRows", "merged"]
