"""event_time: run a Flow over the rows of each key by their own times, in the order of these.

A row is held until the watermark has passed its time, so that none can come any more that belongs before it; then it is
let through, with the clock of the Flow standing at its time. What steps wait for comes in its place between the rows.
So the answer depends on the rows and their times, not on when they came: it is the same in a batch, on a stream,
however that is cut, and in this process. At the end the time goes on until nothing is held any more. What comes for a
time that the watermark has passed is late, and dropped.
"""

from __future__ import annotations

import datetime as dt
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, count, groupby
from operator import itemgetter
from typing import Any

from penstock.bridges.shared.columns import short, values_of
from penstock.engine.runs.chain import Chain
from penstock.engine.words.signals import Failed, Next
from penstock.flow import Flow
from penstock.spark.stages.executing import comparable, keys_in
from penstock.spark.stages.piecewise import ChainInPieces, WallClock
from penstock.spark.stages.refusals import StageError, check_times
from penstock.spark.stages.scopes import Scoped
from penstock.spark.wire.failure import report
from penstock.spark.wire.packing import RecordBatches, packed
from penstock.spark.wire.schema import Form, Schema
from penstock.stream import Stream

Timed = tuple[float, Any, Any]
"""A row with its time, and its rank among those of that time."""


class KeyByTime:
    """The rows of one key that wait for their time, and the Flow that they go through."""

    def __init__(self, flow: Flow[Any, Any]) -> None:
        clock = WallClock()
        self.pieces = ChainInPieces(flow._chain, clock)
        clock.run = self.run = self.pieces.run
        self.clear()

    def clear(self) -> None:
        """Be as a key is before its first row."""
        self.held: list[Timed] = []
        self.begun = False

    def add(self, rows: Iterable[Timed]) -> None:
        """Hold rows, in their order."""
        self.held.extend(rows)
        self.held.sort(key=itemgetter(0, 1))

    @property
    def due(self) -> float | None:
        """Return when there is something to be done; None if it need not be looked at."""
        first = self.held[0][0] if self.held else None
        due = self.run.due if self.begun and not self.run.ended else None
        return min((at for at in (first, due) if at is not None), default=None)

    def advance(self, watermark: float) -> Iterator[Any]:
        """Let through what is older than the watermark, and do what is due by then."""
        ready = [row for row in self.held if row[0] < watermark]
        del self.held[: len(ready)]
        yield from self._through(ready)
        if self.begun:
            yield from self.pieces.rung(watermark)

    def finish(self) -> Iterator[Any]:
        """Let everything through, wait for what is held, and end."""
        ready, self.held = self.held, []
        yield from self._through(ready)
        if self.begun:
            yield from self.pieces.settled()
            if not self.run.ended:
                yield from self.pieces.finished()

    def _through(self, rows: list[Timed]) -> Iterator[Any]:
        run = self.run
        for at, together in groupby(rows, itemgetter(0)):
            if not self.begun:
                run.now = at
                run.begin()
                self.begun = True
            yield from self.pieces.rung(at)
            if run.ended:
                return
            run.now = max(run.now, at)
            yield from self.pieces.fed(() if run.lingers and run.closed else [row[2] for row in together])


def seconds_in(batch: Any, place: int, name: str) -> list[float]:
    """Return the times of the rows of a record batch, as seconds since 1970."""
    column = batch.column(place)
    if column.null_count:
        raise StageError(
            f"keyed_by: time {name!r} must not be null; leave such rows out, or give them a time, before it"
        )
    unit = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    return [value / unit for value in column.cast("int64").to_pylist()]


def timed_function(
    flow: Flow[Any, Any], source: Schema, target: Schema, rows: Form | None, places: tuple[int, ...], time: int
) -> Callable[[RecordBatches], RecordBatches]:
    """Return a function for mapInArrow that runs a Flow by the times of the rows, over rows sorted by key and time."""
    reader = source.reader(rows)
    name = source.names[time]

    def run(batches: RecordBatches) -> RecordBatches:
        key = KeyByTime(flow)
        try:
            yield from packed(_each_key(batches, reader, places, time, name, key), target)
        except Exception as error:
            report(error)  # Spark itself may take long to tell
            raise

    return run


def _each_key(
    batches: RecordBatches,
    reader: Callable[[Any], Iterator[Any]],
    places: tuple[int, ...],
    time: int,
    name: str,
    key: KeyByTime,
) -> Iterator[Any]:
    def named(batch: Any) -> Iterator[Any]:
        return zip(keys_in(batch, places), seconds_in(batch, time, name), reader(batch), strict=True)

    for _, of_key in groupby(chain.from_iterable(map(named, batches)), itemgetter(0)):
        key.clear()
        key.held = [(at, 0, row) for _, at, row in of_key]  # they are sorted
        yield from key.finish()


def times_here(scope: Scoped) -> Chain:
    """Return the chain that runs a Flow by the times of the rows of a stream in this process."""
    check_times(scope.flow._chain)
    # A run has rows of no other: what holds them is made when it begins.
    made = Stream.defer(lambda: Stream(scope.stream).materialize().flat_map(_TimesHere(scope).heard))
    return made._chain


class _TimesHere:
    """The rows of all keys of one run in this process, by their times; the watermark moves with each row."""

    def __init__(self, scope: Scoped) -> None:
        assert scope.time is not None
        self._flow = scope.flow
        self._keys = scope.keys
        self._time = scope.time
        self._order = scope.order_by
        self._behind = scope.watermark
        self._watermark = float("-inf")
        self._known: dict[Any, KeyByTime] = {}
        self._dues: list[tuple[float, int, KeyByTime]] = []
        self._number = count()

    def heard(self, signal: object) -> Iterator[Any]:
        """Return what comes of a signal of upstream."""
        if isinstance(signal, Failed):
            raise signal.error
        if not isinstance(signal, Next):
            for one in self._known.values():
                yield from one.finish()
            return
        row = signal.element
        at = _seconds(_field(row, self._time), self._time)
        if at < self._watermark:
            return
        name = _named(tuple(_instant(_field(row, key)) for key in self._keys))
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = KeyByTime(self._flow)
        known.add([(at, tuple(rank(_instant(_field(row, column))) for column in self._order), row)])
        self._note(known)
        # To the microsecond, as moments are: a row that is late by just that is not to be later by how floats subtract.
        self._watermark = max(self._watermark, round(at - self._behind, 6))
        looked_at = dict[int, KeyByTime]()
        while self._dues and self._dues[0][0] <= self._watermark:
            due = heapq.heappop(self._dues)[2]
            looked_at[id(due)] = due
            yield from due.advance(self._watermark)
        for one in looked_at.values():
            self._note(one)

    def _note(self, known: KeyByTime) -> None:
        """Know when a key is to be looked at; once more than needed does no harm."""
        due = known.due
        if due is not None:
            heapq.heappush(self._dues, (due, next(self._number), known))


def _field(row: Any, name: str) -> Any:
    """Return a column of a row that is an object with attributes, a mapping, or a tuple, whose columns Spark names."""
    try:
        if type(row) is tuple:
            return {f"_{place}": value for place, value in enumerate(row, 1)}[name]
        return row[name] if isinstance(row, Mapping) else getattr(row, name)
    except (AttributeError, KeyError) as error:
        raise StageError(f"keyed_by: column {name!r} must be in each row, got {short(row)}") from error


def _named(key: tuple[Any, ...]) -> Any:
    """Return what a key is found by, also where it holds lists."""
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


def ranks(column: Any) -> Iterator[tuple[bool, bool, Any]]:
    """Return what the values of a column are sorted by, as Spark would."""
    return map(rank, values_of(comparable(column)))


def rank(value: Any) -> tuple[bool, bool, Any]:
    """Return what a value of a column is sorted by, as Spark would."""
    return (value is not None, value != value, value)  # None first and NaN last  # noqa: PLR0124


def _instant(value: Any) -> Any:
    """Return a moment as one that is told from others, also where the clock of its time zone is set back."""
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) and value.tzinfo is not None else value


def _seconds(value: object, name: str) -> float:
    if isinstance(value, dt.datetime):
        return value.timestamp()
    raise StageError(f"keyed_by: time {name!r} must be a datetime, got {value!r}")


__all__ = ["KeyByTime", "Timed", "rank", "ranks", "seconds_in", "timed_function", "times_here"]
