"""python -m benchmarks.soak: run one live pipeline for thousands of micro-batches and see whether anything grows."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import this_machine
from benchmarks.page import SOAK, write_part
from benchmarks.soak.report import PICTURE, grown, markdown, picture, table
from benchmarks.soak.samples import Lookout, Sample
from penstock import Sink, Stream, flow
from penstock.run import Run
from penstock.spark import Spark, entry

BATCHES = 10_000
ROWS = 100
"""Rows of a micro-batch: no more are asked for before Spark has committed the ones before."""
LOOKS = 200
MOST = 50
"""Micro-batches between two looks at most; Spark keeps the reports of the latest hundred."""
STALLED = 600.0


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    """Do something in the executors."""
    return numbers.map(lambda n: n * 2)


class Expected:
    """A sink's function that finds each row that is lost, doubled or changed."""

    def __init__(self) -> None:
        self.next = 0

    def __call__(self, row: int) -> None:
        """Take one row."""
        if row != self.next:
            raise ValueError(f"soak: row must be {self.next}, got {row}")
        self.next += 2


def soak(spark: Spark, batches: int, kept: Path | None) -> list[Sample]:
    """Run the pipeline until it has done so many micro-batches, and return what was seen."""
    expected = Expected()
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="penstock-soak-") as folder:
        look = Lookout(spark.session.sparkContext._jvm, Path(folder))
        numbers = Stream.range(10**12)  # the same again after a restart, so the checkpoint needs no spool
        pipeline = numbers | entry("n long", capacity=ROWS) | doubled | Sink.for_each(expected)
        began = time.monotonic()
        run = pipeline.run(spark, folder)
        try:
            reports = Reports(spark.session)
            while reports.last < batches:
                took = reports.next(run, min(batches, reports.last + max(1, min(MOST, batches // LOOKS))))
                samples.append(look.sample(reports.last, time.monotonic() - began, took))
                print(f"{reports.last:>6} {samples[-1].seconds:>8.1f} s  {took * 1000:4.0f} ms", flush=True)
                if kept is not None:
                    kept.write_text(json.dumps([asdict(one) for one in samples]), encoding="utf-8")
            run.stop()
            rows = run.wait(STALLED)
        finally:
            run.cancel()
        if rows * 2 != expected.next:
            raise ValueError(f"soak: the sink must have had {rows} rows, got {expected.next // 2}")
        print(f"{rows:,} rows, each once and in order")
    return samples


class Reports:
    """What Spark reports of the micro-batches of the one query of a session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._query: Any = None
        self.last = 0

    def next(self, run: Run[Any], until: int) -> float:
        """Wait until so many micro-batches are done; return the median of their times in seconds."""
        given_up = time.monotonic() + STALLED
        times: dict[int, float] = {}
        while self.last < until:
            if run.done:
                run.wait(0)
            if time.monotonic() > given_up:
                raise TimeoutError(f"soak: no micro-batch has ended for {STALLED:.0f} seconds")
            time.sleep(1.0)  # seldom: what looks at a query takes time from what feeds it
            if self._query is None:
                self._query = next(iter(self._session.streams.active), None)
            for report in self._query.recentProgress if self._query is not None else ():
                if report.batchId >= self.last and report.numInputRows:
                    times[report.batchId] = report.durationMs["triggerExecution"] / 1000
            self.last = max(self.last, *(number + 1 for number in times), 0)
        return statistics.median(times.values())


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--batches", type=int, default=BATCHES, metavar="N", help=f"micro-batches ({BATCHES:,})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every sample in a file, as it is taken")
    parser.add_argument("--read", type=Path, metavar="FILE", help="take the samples from such a file; runs nothing")
    parser.add_argument("--write", action="store_true", help="update the soak's part of docs/performance.md")
    chosen = parser.parse_args(arguments)
    if chosen.batches < 1:
        parser.error(f"--batches must be >= 1, got {chosen.batches}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and say whether anything has grown."""
    chosen = options(arguments)
    machine = this_machine(("penstock", "pyspark", "pyarrow"))
    if chosen.read is not None:
        samples = [Sample(**one) for one in json.loads(chosen.read.read_text(encoding="utf-8"))]
    else:
        print(machine.sentence(), flush=True)
        with Spark(app="penstock soak") as spark:
            samples = soak(spark, chosen.batches, chosen.json)
    print(f"\n{table(samples)}")
    if chosen.write:
        write_part(SOAK, markdown(samples, machine), {PICTURE: picture(samples)})
    more = grown(samples)
    for name in more:
        print(f"{name} has grown")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
