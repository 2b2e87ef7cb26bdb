"""exactly_once: orders reach a database once each, however often the program that brings them is killed.

    python examples/exactly_once.py [folder] [kills]

The program below is started, killed with SIGKILL at a random moment, and started again, a few times. Spark's checkpoint
remembers which orders it has committed, so the stream goes on behind them. A micro-batch that was on its way to the
database at the kill comes again, whole and with the same number; the database remembers, in the same transaction that
wrote the orders of a micro-batch, its number. So no order is missing and none is there twice.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import Sink, Stream, flow
from penstock.spark import Numbered, Spark, entry, numbered

ORDERS = 3_000


@dataclass(frozen=True)
class Order:
    number: int
    cents: int


@dataclass(frozen=True)
class Entry:
    number: int
    dollars: float


def orders_from(count: int) -> Iterator[Order]:
    """Give the orders after the first `count`, as a table or a log would that is read from a place on."""
    return (Order(number, number * 7 % 1000) for number in range(count, ORDERS))


@flow
def converted(orders: Stream[Order]) -> Stream[Entry]:
    return orders.map(lambda order: Entry(order.number, order.cents / 100))


class Book:
    """A database that has the entries of a micro-batch and its number in one transaction."""

    def __init__(self, path: Path, moment: int | None = None) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("CREATE TABLE IF NOT EXISTS entries (number INTEGER, dollars REAL)")
        self._database.execute("CREATE TABLE IF NOT EXISTS ledger (batch INTEGER PRIMARY KEY)")
        self._moment = moment
        self._known = False

    def write(self, one: Numbered[Entry]) -> None:
        """Write a row; the first of a micro-batch begins a transaction and the last one ends it."""
        do = self._database.execute
        if one.number == 0:
            self._known = do("SELECT 1 FROM ledger WHERE batch = ?", (one.batch,)).fetchone() is not None
            if not self._known:
                do("BEGIN")
        if not self._known:
            do("INSERT INTO entries VALUES (?, ?)", (one.row.number, one.row.dollars))
            if one.last:
                do("INSERT INTO ledger VALUES (?)", (one.batch,))
                do("COMMIT")
        if one.row.number == self._moment:
            print("now", flush=True)  # the kill is on its way

    def close(self) -> None:
        self._database.close()


def live(folder: Path, spark: Spark, moment: int | None = None) -> None:
    """Bring the orders that are not there yet."""
    with closing(Book(folder / "book.sqlite", moment)) as book:
        orders = Stream.resumable(orders_from, counted=True)
        pipeline = orders | entry(capacity=400, latency=0.2) | converted | numbered() | Sink.for_each(book.write)
        pipeline.run(spark, folder / "checkpoint").wait()


def kill_one(folder: Path, moment: int) -> None:
    """Start this program, and kill it when it has written an order."""
    command = [sys.executable, __file__, str(folder), "--life", str(moment)]
    with (folder / "errors").open("ab") as errors:  # what the JVM says when it misses its driver
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
    assert driver.stdout is not None
    with driver.stdout:
        said = driver.stdout.readline()
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    while group_lives(driver.pid):
        time.sleep(0.05)  # the JVM ends when it misses its driver; it has the checkpoint until then
    if said != b"now\n":
        raise RuntimeError("the program ended before it was killed")


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def found(folder: Path) -> tuple[Any, ...]:
    """Count what is in the book: entries, different ones, their sum, and micro-batches."""
    with closing(sqlite3.connect(folder / "book.sqlite")) as book:
        entries = book.execute("SELECT count(*), count(DISTINCT number), sum(number) FROM entries").fetchone()
        return (*entries, *book.execute("SELECT count(*) FROM ledger").fetchone())


def main(folder: Path, kills: int = 3, spark: Spark | None = None) -> bool:
    """Kill it some times, then let it come to its end; say whether each order is there once."""
    for life in range(kills):
        moment = random.randrange(ORDERS * life // (kills + 1), ORDERS * (life + 1) // (kills + 1))
        kill_one(folder, moment)
        there, *_, batches = found(folder)
        print(f"Killed at order {moment:,}: {there:,} orders in {batches} micro-batches are in the book.")
    if spark is None:
        with Spark() as own:
            live(folder, own)
    else:
        live(folder, spark)
    there, different, total, _ = found(folder)
    right = (there, different, total) == (ORDERS, ORDERS, sum(range(ORDERS)))
    print(f"{'Right' if right else 'WRONG'}: {there:,} orders are in the book, {different:,} of them different.")
    return right


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    if "--life" in sys.argv:
        with Spark(conf={"spark.ui.enabled": "false"}) as mine:
            live(place, mine, int(sys.argv[-1]))
    else:
        sys.exit(0 if main(place, int(sys.argv[2]) if len(sys.argv) > 2 else 3) else 1)
