"""positions: how far a stream over several partitions has come, as a JSON value.

What is written down is `{"topic": {"partition": offset}}`, the next offset of each partition. A record's position says
this in two parts, `[before, topic, partition, offset]`: what held before a run of records of one partition, and how far
that run is. So a position costs the same however many partitions there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Place = tuple[str, int]
"""A partition: its topic and its number."""
Offsets = dict[str, dict[str, int]]
Position = Any
"""Offsets, or a list `[before, topic, partition, offset]`."""


def offsets_at(position: Position) -> dict[Place, int]:
    """Return the next offset of each partition at a position, and refuse what is none."""
    return dict(_entries(position))


def _entries(position: Position) -> Iterator[tuple[Place, int]]:
    match position:
        case [dict() as before, str(topic), int(number), int(offset)]:
            yield from _entries(before)
            yield (topic, number), offset
        case dict():
            for topic, numbers in position.items():
                if not isinstance(topic, str) or not isinstance(numbers, dict):
                    raise _no_position(position)
                for number, offset in numbers.items():
                    if not str(number).isdecimal() or type(offset) is not int or offset < 0:
                        raise _no_position(position)
                    yield (topic, int(number)), offset
        case _:
            raise _no_position(position)


def _no_position(position: object) -> ValueError:
    return ValueError(f'kafka: a position is {{"topic": {{"partition": offset}}}}, got {position!r:.100}')


def merged(before: Offsets, topic: str, number: int, offset: int) -> Offsets:
    """Return the offsets with one of them changed; those before stay as they are."""
    return {**before, topic: {**before.get(topic, {}), str(number): offset}}


def without(before: Offsets, places: set[Place]) -> Offsets:
    """Return the offsets without those of some partitions."""
    return {
        topic: {number: offset for number, offset in numbers.items() if (topic, int(number)) not in places}
        for topic, numbers in before.items()
    }


def as_offsets(places: dict[Place, int]) -> Offsets:
    """Return offsets by partition in the form in which they are written down."""
    made: Offsets = {}
    for (topic, number), offset in places.items():
        made.setdefault(topic, {})[str(number)] = offset
    return made


__all__ = ["Offsets", "Place", "Position", "as_offsets", "merged", "offsets_at", "without"]
