"""demo: a year of departures as a live feed through Spark, to files and to a subscriber that takes its time.

The 336,776 departures from New York in 2013 are a feed of this process. Spark takes them in as it has room, joins them
with the weather, and makes a report of each hour at each airport; on the executors the planes of long delays are looked
up at a service, many at a time. The reports are written as Parquet, and the same rows go to a subscriber of this
process that needs a millisecond for each. Nothing before it runs ahead of it by more than is said.
Run it with `make demo`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import chart
import pyarrow as pa
from flights import MOMENT, Departure, Report, delays, departures, live, plain, planes
from pyarrow import parquet
from registry import Registry

from penstock import Sink, Stream
from penstock.run.display import display
from penstock.spark import Spark, also, entry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUT = Path(__file__).parent.parent / "build" / "demo"
CAPACITY = 100_000
"""Rows that the feed may be ahead of Spark."""
LATENCY = 10.0
"""Seconds that a micro-batch should take."""
BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A JVM that lives for a minute has no time to win by compiling its code a second time."""


@dataclass
class Feed:
    """Watch what the feed is asked for and gives, and how long it stands still because nobody asks."""

    asked: int = 0
    given: int = 0
    still: float = 0.0
    first: float = 0.0
    last: float = 0.0

    def request(self, n: int) -> None:
        if not self.asked:
            self.first = self.last = time.monotonic()
        if self.asked == self.given:
            self.still += time.monotonic() - self.last
        self.asked += n

    def give(self, _: object) -> None:
        self.given += 1
        self.last = time.monotonic()


@dataclass
class Board:
    """Take reports one at a time, and not in a hurry."""

    pause: float
    reports: list[Report] = field(default_factory=list)

    def show(self, report: Report) -> None:
        time.sleep(self.pause)
        self.reports.append(report)


def to_parquet(folder: Path) -> Callable[[DataFrame, int], None]:
    """Return a function that gives each micro-batch a folder, and writes over it if the micro-batch comes again."""

    def write(df: DataFrame, batch: int) -> None:
        df.write.mode("overwrite").parquet(str(folder / f"batch={batch}"))

    return write


def written(folder: Path) -> set[Report]:
    """Return the reports in the files."""
    table = parquet.read_table(folder, columns=list(Report._fields), coerce_int96_timestamp_unit="us")
    hours = table["hour"].cast(MOMENT)  # in the files moments have no zone, and are meant in this one
    table = table.set_column(table.column_names.index("hour"), "hour", hours)
    return set(map(Report._make, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def main(out: Path = OUT, days: int = 365, pause: float = 0.001, spark: Spark | None = None) -> bool:
    """Run it, and tell whether all figures are those of a plain loop."""
    began = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    table, files = departures(days), out / "reports"
    feed, board = Feed(), Board(pause)
    with Registry(planes()) as registry:
        pipeline = (
            Stream.from_iterable(live(table)).tap(feed.give, on_request=feed.request)
            | entry(Departure, capacity=CAPACITY, latency=LATENCY)
            | delays(registry.address)
            | also(to_parquet(files))
            | Sink.for_each(board.show)
        )
        print(f"What runs where, {pipeline.explain()}\n", flush=True)
        with Spark(app="penstock demo", conf=BRIEF) if spark is None else nullcontext(spark) as running:
            run = pipeline.run(running)
            try:
                display(run)
                run.wait()
            except KeyboardInterrupt:
                for query in running.session.streams.active:
                    query.stop()  # returns when it has; Spark is not to be closed under it
                raise
    (out / "delays.svg").write_text(chart.picture(board.reports))
    print(f"\n{chart.bars(board.reports)}\n\n{figures(feed, registry, board, files)}")
    agrees = agreement(table, board.reports, files)
    print(f"\nFiles: {shown(files)}, and a picture: {shown(out / 'delays.svg')}")
    print(f"{time.monotonic() - began:.0f} seconds in all, the start of Spark included.")
    return agrees


def figures(feed: Feed, registry: Registry, board: Board, files: Path) -> str:
    """Say what was seen of demand."""
    alone = registry.questions * registry.seconds
    return (
        f"{feed.given:,} rows went in, a last word included. The feed may be {CAPACITY:,} ahead of Spark;"
        f" for {feed.still:.0f} of the {feed.last - feed.first:.0f} seconds nobody asked, and it stood still.\n"
        f"{registry.questions:,} planes were looked up, {registry.most_at_once} at a time at most;"
        f" one after the other the answers alone would have taken {alone:.0f} seconds.\n"
        f"{len(board.reports):,} reports came out, {board.pause * 1000:g} ms each, and were written as"
        f" {len(list(files.glob('batch=*')))} micro-batches."
    )


def agreement(table: pa.Table, reports: list[Report], files: Path) -> bool:
    """Compare with a plain loop over the same data, and say so."""
    expected = plain(table)
    same = [len(reports) == len(expected), set(reports) == expected, written(files) == expected]
    if all(same):
        print(f"A plain loop over the same data gives the same {len(expected):,} reports: those shown, those written.")
    else:
        print(f"WRONG: a plain loop gives {len(expected):,} reports, and they are not those that came out: {same}")
    return all(same)


def shown(path: Path) -> str:
    """Return a path as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A year of departures as a live feed through Spark.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the results (default: build/demo)")
    parser.add_argument("--days", type=int, default=365, help="days of the year (default: 365)")
    arguments = parser.parse_args()
    try:
        sys.exit(0 if main(arguments.out, arguments.days) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
