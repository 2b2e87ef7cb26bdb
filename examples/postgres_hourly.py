"""postgres_hourly: sales per hour and city are kept up to date in PostgreSQL, from its own changes, through Spark.

    python examples/postgres_hourly.py CONNINFO [kills]      # such as 'host=127.0.0.1 dbname=shop user=owner'

The orders of a table come as changes from its log. Spark joins them with the cities of the customers and sums them up
per hour and city, with its state in a checkpoint; each new sum is written over the one before, by its key. The program
is killed with SIGKILL at random moments, and started again. The server keeps its log until Spark has committed what was
made of it, and a sum that is written twice is the same, so at the end the table is what a query over all orders gives.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from exactly_once import group_lives

from penstock import Pipeline
from penstock.connectors.postgres import Change, changes, drop_slot, query, upsert
from penstock.spark import Spark, entry, frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ORDERS = 4_000
CONF = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
"""Two partitions of state are enough for some hundred sums; a checkpoint keeps the number."""
SLOT = "penstock_hourly"
EXPECTED = (
    "select date_trunc('hour', at), city, sum(cents)::bigint, count(*) from orders join customers"
    " on customer = customers.id group by 1, 2 order by 1, 2"
)
FOUND = "select hour, city, cents, orders from hourly order by 1, 2"


@dataclass(frozen=True)
class Order:
    id: int
    customer: int
    cents: int
    at: datetime


def order_of(change: Change) -> Order:
    return Order(**(change.row or {}))


def pipeline(conninfo: str) -> Pipeline[int]:
    """Return the whole: changes of the server, sums in Spark, rows of the server."""
    cities = [tuple(row) for row in query(conninfo, "select id, city from customers")]

    def summed(orders: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f  # noqa: PLC0415  only a program that runs it needs Spark

        known = orders.sparkSession.createDataFrame(cities, "customer long, city string")
        hours = orders.withWatermark("at", "7 days").join(known, "customer").groupBy(f.window("at", "1 hour"), "city")
        sums = hours.agg(f.sum("cents").alias("cents"), f.count("id").alias("orders"))
        return sums.select(f.col("window.start").alias("hour"), "city", "cents", "orders")

    orders = changes(conninfo, slot=SLOT, publication="penstock_orders").map(order_of)
    return (
        orders
        | entry(Order, capacity=500, latency=0.2)
        | frame(summed, mode="update")
        | upsert(conninfo, "hourly", key=("hour", "city"), seconds=0.2)
    )


def prepare(conninfo: str) -> None:
    """Make the tables, and the publication that the changes come from."""
    with psycopg.connect(conninfo, autocommit=True) as server:
        server.execute("create table customers (id int primary key, city text)")
        server.execute("insert into customers select n, 'city ' || n % 7 from generate_series(0, 99) n")
        server.execute("create table orders (id int primary key, customer int, cents int, at timestamptz)")
        server.execute(
            "create table hourly (hour timestamptz, city text, cents bigint, orders bigint, primary key (hour, city))"
        )
        server.execute("create publication penstock_orders for table orders")
        server.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [SLOT])


def sell(conninfo: str, first: int, last: int) -> None:
    """Insert orders, a hundred in each transaction."""
    with psycopg.connect(conninfo, autocommit=True) as server:
        for start in range(first, last, 100):
            server.execute(
                "insert into orders select n, n %% 100, n * 7 %% 1000, timestamptz '2026-01-01' + n * interval '1 min'"
                " from generate_series(%s::int, %s::int) n",
                [start, min(start + 100, last) - 1],
            )


def is_equal(conninfo: str) -> bool:
    """Tell whether the table is what a query over all orders gives."""
    with psycopg.connect(conninfo) as server:
        return server.execute(EXPECTED).fetchall() == server.execute(FOUND).fetchall()


def live(conninfo: str, checkpoint: Path, spark: Spark) -> None:
    """Keep the table up to date until all orders are in it."""
    run = pipeline(conninfo).run(spark, checkpoint)
    print("running", flush=True)
    while not run.done and not is_equal(conninfo):
        time.sleep(0.2)
    run.stop()
    run.wait()


def kill_one(conninfo: str, checkpoint: Path, seconds: float) -> None:
    """Start this program, and kill it, with the JVM that it has started, a while after it runs."""
    command = [sys.executable, __file__, conninfo, "--life", str(checkpoint)]
    with (checkpoint.parent / "errors").open("ab") as errors:
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
    assert driver.stdout is not None
    with driver.stdout:
        driver.stdout.readline()
    try:
        driver.wait(seconds)
    except subprocess.TimeoutExpired:
        driver.send_signal(signal.SIGKILL)
    driver.wait()
    while group_lives(driver.pid):
        time.sleep(0.05)  # the JVM ends when it misses its driver; it has the checkpoint until then


def main(conninfo: str, kills: int = 5, spark: Spark | None = None, folder: Path | None = None) -> bool:
    """Sell, with a kill after each part of the orders, and compare at the end."""
    checkpoint = (folder or Path(tempfile.mkdtemp())) / "checkpoint"
    prepare(conninfo)
    for number in range(kills):
        sell(conninfo, number * ORDERS // kills, (number + 1) * ORDERS // kills)
        kill_one(conninfo, checkpoint, random.uniform(0, 6))
    if not kills:
        sell(conninfo, 0, ORDERS)
    if spark is None:
        with Spark(conf=CONF) as own:
            live(conninfo, checkpoint, own)
    else:
        live(conninfo, checkpoint, spark)
    equal = is_equal(conninfo)
    drop_slot(conninfo, SLOT)
    print("the table of hours is equal to a query over all orders" if equal else "the tables differ")
    return equal


if __name__ == "__main__":
    if sys.argv[2:3] == ["--life"]:
        with Spark(conf=CONF) as found:
            live(sys.argv[1], Path(sys.argv[3]), found)
    else:
        sys.exit(0 if main(sys.argv[1], *map(int, sys.argv[2:3])) else 1)
