"""killed_driver: a driver to be killed while it feeds two queries, of which one has a publisher that can replay."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import Stream
from penstock.spark import Spark
from tests.spark.processes import QUICK_JVM

NUMBERS = "n long"
LIVES = "life long, n long"
ROWS = 1000
"""Rows between the moment of the kill and where the publishers wait for it."""


class Life:
    """Be one of the lives of the driver: the rows that it publishes, and when it says that it may be killed."""

    def __init__(self, folder: Path, number: int, rows: int, moments: tuple[int, int] | None) -> None:
        self._folder = folder
        self._number = number
        self._rows = rows
        self._moments = moments
        self._said = threading.Semaphore(0)
        if moments is not None:
            threading.Thread(target=self._speak, daemon=True).start()

    def _speak(self) -> None:
        """Ask to be killed once both publishers have come to their moments."""
        for _ in range(2):
            self._said.acquire()
        print("now", flush=True)

    def _met(self, publisher: int, row: int) -> None:
        if self._moments is None:
            return
        if row == self._moments[publisher]:
            self._said.release()
        if row == self._moments[publisher] + ROWS:
            threading.Event().wait()  # the kill is on its way, and the next life has its own moment

    def replayed(self, first: int) -> Stream[tuple[int]]:
        """Publish numbers from any row on."""

        def row(n: int) -> tuple[int]:
            self._met(0, n)
            return (n,)

        return Stream.range(first, self._rows).map(row)

    def live(self) -> Iterator[tuple[int, int]]:
        """Publish numbers that nobody can ask for again."""
        for n in range(self._rows if self._moments is not None else ROWS):
            self._met(1, n)
            yield (self._number, n)

    def queries(self, spark: Spark) -> list[Any]:
        """Start both queries."""
        folder = self._folder
        frames = {
            "replayed": spark.frame(self.replayed, NUMBERS, capacity=3000, spool=folder / "replayed" / "spool"),
            "live": spark.frame(
                Stream.from_iterable(self.live()), LIVES, capacity=3000, spool=folder / "live" / "spool"
            ),
        }
        return [
            frame.writeStream.format("parquet")
            .option("path", str(folder / name / "out"))
            .option("checkpointLocation", str(folder / name / "checkpoint"))
            .trigger(availableNow=True)
            .start()
            for name, frame in frames.items()
        ]


def main(folder: Path, number: int, rows: int, moments: tuple[int, int]) -> None:
    conf = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": QUICK_JVM}
    with Spark(master="local[2]", conf=conf) as spark:
        for query in Life(folder, number, rows, moments).queries(spark):
            query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), (int(sys.argv[4]), int(sys.argv[5])))
