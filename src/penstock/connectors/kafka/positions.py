"""positions: how far a stream over several partitions has come, as a JSON value.

What is written down is `{"topic": {"partition": offset}}`, the next offset of each partition. A record's position says
this in two parts, `[before, topic, partition, offset]`: what held before a run of records of one partition, and how far
that run is. So a position costs the same however many partitions there are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, overload

from confluent_kafka import Message

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


class RecordPlaces(Sequence[Position]):
    """The positions of messages that were read together, each made when it is asked for."""

    __slots__ = ("_begins", "_messages", "_runs")

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._begins = [0]
        self._runs: list[tuple[Offsets, str, int]] = []

    def add(self, count: int, before: Offsets, topic: str, number: int) -> None:
        """Know that so many more messages are of one partition, and what held before them."""
        self._begins.append(self._begins[-1] + count)
        self._runs.append((before, topic, number))

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Position]:
        given: Any = self._messages  # what was read has an offset
        for (before, topic, number), first, end in zip(self._runs, self._begins, self._begins[1:], strict=False):
            for message in given[first:end]:
                yield [before, topic, number, message.offset() + 1]

    @overload
    def __getitem__(self, at: int) -> Position: ...
    @overload
    def __getitem__(self, at: slice) -> list[Position]: ...
    def __getitem__(self, at: int | slice) -> Position | list[Position]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        message = self._messages[at]
        run = bisect_right(self._begins, at if at >= 0 else at + len(self)) - 1
        before, topic, number = self._runs[run]
        return [before, topic, number, (message.offset() or 0) + 1]


__all__ = ["Offsets", "Place", "Position", "RecordPlaces", "as_offsets", "merged", "offsets_at", "without"]
