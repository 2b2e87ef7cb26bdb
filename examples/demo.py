"""demo: a year of departures and of weather as live feeds through Spark, to files and to two subscribers here.

The 336,776 departures from New York in 2013 are a feed of this process, and the weather is another. Spark takes them in
as it has room, makes windows of an hour, joins the two, and reports each hour at each airport; on the executors the
planes of long delays are looked up at a service, many at a time. The reports are written as Parquet, and the same rows
go to a board in this process that needs a millisecond for each, and, the worst of them, to a list. Nothing before the
board runs ahead of it by more than is said. In the middle the run is broken off and started again from its checkpoint;
in the end the figures are those of a plain loop. Run it with `make demo`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chart
from flights import (
    HOURS_LATE,
    MOMENT,
    Departure,
    Report,
    Weather,
    delays,
    departures,
    feed,
    observed,
    plain,
    planes,
    weather,
    worst,
)
from pyarrow import parquet
from registry import Registry

from penstock import Pipeline, Progress, RunCancelledError, Sink, branch
from penstock.page import observe_page
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
class Meter:
    """Watch what a feed is asked for and gives, and how long it stands still because it is not asked."""

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

    def restart(self) -> None:
        """Forget what was asked and not given."""
        self.asked = self.given
        self.last = time.monotonic()


@dataclass
class Board:
    """Take reports one at a time, and not in a hurry; those of a micro-batch that was broken off come again."""

    pause: float
    reports: dict[tuple[str, dt.datetime], Report] = field(default_factory=dict)
    again: int = 0
    limit: int = 0
    """How many reports there may be before the run is broken off; 0 is no limit."""
    full: Callable[[], None] = lambda: None

    def show(self, report: Report) -> None:
        time.sleep(self.pause)
        self.again += self.reports.setdefault((report.origin, report.hour), report) is not report
        if len(self.reports) == self.limit:
            self.limit = 0
            self.full()


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


@dataclass
class Lookout:
    """Note demand and lag while runs last, on one time line."""

    began: float = field(default_factory=time.monotonic)
    moments: list[chart.Moment] = field(default_factory=list)
    asked: int = 0

    def see(self, report: Progress) -> None:
        asked = report.rows_in + (report.demand or 0)
        before, self.asked = self.asked, max(asked, self.asked)
        lag = report.rows_in if report.lag is None else report.lag  # before the first micro-batch all are behind
        self.moments.append(chart.Moment(time.monotonic() - self.began, max(0, asked - before), lag))


def main(
    out: Path = OUT, days: int = 365, pause: float = 0.001, spark: Spark | None = None, *, page: bool = False
) -> bool:
    """Run it, on a live page if that is wanted, and tell whether all figures are those of a plain loop."""
    with observe_page() if page else nullcontext():
        return demonstrated(out, days, pause, spark)


def demonstrated(out: Path, days: int, pause: float, spark: Spark | None) -> bool:
    """Run it, and tell whether all figures are those of a plain loop."""
    began = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    table, expected, files = departures(days), plain(departures(days)), out / "reports"
    meter, board, late, lookout = Meter(), Board(pause), set[Report](), Lookout()
    with Registry(planes()) as registry:
        pipeline = (
            feed(table).tap(meter.give, on_request=meter.request)
            | entry(Departure, capacity=CAPACITY, latency=LATENCY)
            | delays(registry.address, observed(weather(days)) | entry(Weather))
            | also(to_parquet(files))
            | branch(Sink.for_each(board.show), worst | Sink.for_each(late.add))
        )
        print(f"What runs where, {pipeline.explain()}\n", flush=True)
        with Spark(app="penstock demo", conf=BRIEF) if spark is None else nullcontext(spark) as running:
            board.limit = len(expected) // 2
            broken_off = not lived(pipeline, running, out / "checkpoint", board, lookout)
            if broken_off:
                print(f"Broken off after {len(board.reports):,} reports, and started again.\n", flush=True)
                meter.restart()
                lived(pipeline, running, out / "checkpoint", board, lookout)
    reports = list(board.reports.values())
    (out / "delays.svg").write_text(chart.picture(reports, lookout.moments))
    print(f"\n{chart.bars(reports)}\n\n{figures(meter, registry, board, late, files)}")
    agrees = agreement(expected, board, late, files)
    print(f"\nFiles: {shown(files)}, and a picture: {shown(out / 'delays.svg')}")
    print(f"{time.monotonic() - began:.0f} seconds in all, the start of Spark included.")
    return agrees


def lived(pipeline: Pipeline[Any], spark: Spark, checkpoint: Path, board: Board, lookout: Lookout) -> bool:
    """Run from the checkpoint until the end, or until the board breaks it off; tell whether it came to the end."""
    run = pipeline.run(spark, checkpoint)
    board.full = run.cancel
    lookout.asked = 0
    seen = Context().run((run.progress_every(0.5) | Sink.for_each(lookout.see)).run)  # which no page shows
    try:
        display(run)
        run.wait()
        seen.wait()
    except RunCancelledError:
        return False
    except KeyboardInterrupt:
        for query in spark.session.streams.active:
            query.stop()  # returns when it has; Spark is not to be closed under it
        raise
    return True


def figures(meter: Meter, registry: Registry, board: Board, late: set[Report], files: Path) -> str:
    """Say what was seen of demand, and of the restart."""
    alone = registry.questions * registry.seconds
    return (
        f"{meter.given:,} departures went in, those that Spark had not committed at the restart twice. The feed may be"
        f" {CAPACITY:,} ahead of Spark; for {meter.still:.0f} of the {meter.last - meter.first:.0f} seconds it was not"
        " asked, and stood still.\n"
        f"{registry.questions:,} planes were looked up, {registry.most_at_once} at a time at most;"
        f" one after the other the answers alone would have taken {alone:.0f} seconds.\n"
        f"{len(board.reports):,} reports came out, {board.pause * 1000:g} ms each, {board.again:,} of them again after"
        f" the restart; {len(late):,} have a plane that left {HOURS_LATE // 60} hours late or more. They were written"
        f" as {len(list(files.glob('batch=*')))} micro-batches."
    )


def agreement(expected: set[Report], board: Board, late: set[Report], files: Path) -> bool:
    """Compare with a plain loop over the same data, and say so."""
    worst = {report for report in expected if (report.worst or 0) >= HOURS_LATE}
    same = [set(board.reports.values()) == expected, written(files) == expected, late == worst]
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
    parser.add_argument(
        "--page",
        action=argparse.BooleanOptionalAction,
        default=sys.stderr.isatty(),
        help="serve a live page of it (default: on a terminal)",
    )
    arguments = parser.parse_args()
    try:
        sys.exit(0 if main(arguments.out, arguments.days, page=arguments.page) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
