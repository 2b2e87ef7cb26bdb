"""on_cluster: the driver of a standalone cluster, which is asked line by line and answers in JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from penstock import Sink, Stream, flow
from penstock.spark import SinkPart, Spark, executor_sink, keyed_by, spark_source
from penstock.spark.wire import failure
from tests.spark.asker import Asker
from tests.spark.chains import chained
from tests.spark.cluster import kill_worker_of
from tests.spark.killed_graph import Life
from tests.spark.processes import QUICK_JVM

WAIT = 120
BATCH = 100
"""Rows of an Arrow batch."""
NUMBERS = "n long"


async def doubled(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


@flow
def item_stages(rows: Stream[Any]) -> Stream[int]:
    numbers = rows.map(lambda row: row[0]).filter(lambda n: n % 3 != 0)
    return numbers.flat_map(lambda n: range(n % 5)).map_async(doubled, concurrency=8)


@flow
def running_sum(rows: Stream[Any]) -> Stream[tuple[int, int]]:
    return rows.scan(lambda total, row: (row.k, total[1] + row.n), (0, 0))


def where(_: int) -> list[str]:
    import penstock

    return [penstock.__file__]


# The same answers.


def item(spark: Spark) -> list[int]:
    frame = spark.session.range(0, 1000, 1, 8)
    return [row.n for row in frame.transform(spark.stage(item_stages, NUMBERS)).collect()]


def keyed(spark: Spark) -> list[tuple[int, int]]:
    frame = spark.session.range(0, 1000, 1, 8).selectExpr("id % 7 as k", "id as n")
    step = spark.stage(keyed_by(running_sum, "k", order_by="n"), "k long, n long")
    return sorted(map(tuple, frame.transform(step).collect()))


def files(spark: Spark) -> list[str]:
    return [row.file for row in spark.partitioned(range(8), where, "file string").collect()]


def chains(spark: Spark, chains: list[tuple[list[str], list[int], int]]) -> list[list[int]]:
    """Run many chains as one job, and return what each gave, sorted."""
    whole: DataFrame | None = None
    for number, (names, data, parts) in enumerate(chains):
        frame = spark.session.createDataFrame([(n,) for n in data], NUMBERS).repartition(parts)
        made = frame.transform(spark.stage(chained(names), NUMBERS, rows="tuple"))
        named = made.selectExpr(f"{number} as chain", "n")
        whole = named if whole is None else whole.union(named)
    assert whole is not None
    found: list[list[int]] = [[] for _ in chains]
    for row in whole.collect():
        found[row.chain].append(row.n)
    return [sorted(each) for each in found]


# Tasks that fail and executors that are killed.


def told(rows: list[int]) -> dict[str, int]:
    """Return what shows whether rows were lost or came twice."""
    return {
        "count": len(rows),
        "sum": sum(rows),
        "distinct": len(set(rows)),
        "first": min(rows),
        "last": max(rows),
    }


def wide(spark: Spark, rows: int, parts: int) -> DataFrame:
    """Return rows wide enough for a few batches to fill every buffer on the way."""
    return spark.session.range(0, rows, 1, parts).selectExpr("id as n", "repeat('x', 300) as text")


def failing(partition: int, batch: int, attempts: int, report: bool) -> Callable[[Any], Iterator[Any]]:
    """Return a step whose attempts at one partition fail at one batch, so many times."""

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        task = TaskContext.get()
        assert task is not None
        for number, each in enumerate(batches):
            if task.partitionId() == partition and number == batch and task.attemptNumber() < attempts:
                error = OSError("not yet")
                if report:
                    failure.report(error)
                raise error
            yield each

    return step


def retried_egress(spark: Spark, rows: int, parts: int, report: bool) -> dict[str, int]:
    step = failing(1, rows // parts // BATCH // 2, 2, report)
    frame = wide(spark, rows, parts).mapInArrow(step, "n long, text string")
    return told([row.n for row in spark.stream(frame)])


def retried_ingest(spark: Spark, rows: int, folder: str) -> dict[str, int]:
    frame = spark.frame(Stream.range(rows).map(lambda n: (n,)), NUMBERS, capacity=rows)
    return written(spark, frame.mapInArrow(failing(0, 1, 2, report=False), NUMBERS), Path(folder))


def hopeless(spark: Spark, rows: int) -> list[str]:
    """Have a task fail as often as Spark allows, and return what is heard of it."""
    frame = spark.session.range(0, rows, 1, 3).mapInArrow(failing(1, 0, 100, report=True), "id long")
    try:
        list(spark.stream(frame))
    except OSError as error:
        return [type(error).__name__, str(error.message), str(isinstance(error, failure.ExecutorError))]
    return []


def written(spark: Spark, frame: DataFrame, folder: Path) -> dict[str, int]:
    """Run a query to its end, and return what its sink holds."""
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .option("path", str(folder / "out"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = spark.session.read.schema(frame.schema).parquet(str(folder / "out"))
    rows = found.select("n").toArrow().column("n").to_pylist()
    return told(rows)


def holding(row: int, sign: Path) -> Callable[[Any], Iterator[Any]]:
    """Return a step whose first attempt at a row writes down its process and waits to be killed.

    It adds the number of the attempt to each row.
    """

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        task = TaskContext.get()
        assert task is not None
        attempt = task.attemptNumber()
        for each in batches:
            numbers = each.column(0).to_pylist()
            if not attempt and numbers[0] <= row <= numbers[-1]:
                sign.with_suffix(".new").write_text(str(os.getpid()))
                sign.with_suffix(".new").rename(sign)
                threading.Event().wait()
            attempts = pa.array([attempt] * each.num_rows, pa.int64())
            yield each.append_column("attempt", attempts)

    return step


def kill_holder(sign: Path) -> int:
    """Wait for the task that waits, and end its worker, its executor and its Python; return how many processes."""
    pause = threading.Event()
    for _ in range(WAIT * 20):
        if sign.exists():
            return len(kill_worker_of(int(sign.read_text())))
        pause.wait(0.05)
    raise AssertionError("no task has come to the row")


def executors(spark: Spark, count: int) -> int:
    """Wait until there are so many executors."""
    context: Any = spark.session.sparkContext
    pause = threading.Event()
    for _ in range(WAIT * 20):
        found = int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1  # without the driver
        if found == count:
            return found
        pause.wait(0.05)
    raise AssertionError(f"there are not {count} executors")


def killed_egress(spark: Spark, rows: int, parts: int, folder: str) -> dict[str, Any]:
    """End an executor that has delivered a part of its partition, while nobody asks for the rest."""
    sign = Path(folder) / "egress"
    hold = rows // parts + rows // parts // 2  # in the middle of the second partition
    frame = wide(spark, rows, parts).mapInArrow(holding(hold, sign), "n long, text string, attempt long")
    asker = Asker()
    spark.stream(frame, rows="tuple").subscribe(asker)
    # Tasks that are not asked for rows stand still, so they are asked until the one has come to its row.
    while not (sign.exists() and any(rows // parts <= n < 2 * rows // parts for n, _, _ in asker.rows)):
        asker.ask(BATCH)
    killed = kill_holder(sign)
    before = len(asker.rows)
    asker.subscription.request(10 * rows)
    assert asker.until_end() == "complete", asker.ends
    attempts = sorted({attempt for n, _, attempt in asker.rows if rows // parts <= n < 2 * rows // parts})
    return {**told([n for n, _, _ in asker.rows]), "killed": killed, "before": before, "attempts": attempts}


def killed_ingest(spark: Spark, rows: int, folder: str) -> dict[str, Any]:
    """End an executor in the middle of a micro-batch."""
    place = Path(folder)
    asked: list[int] = []
    source = Stream.range(rows).map(lambda n: (n,)).tap(on_request=asked.append)
    frame = spark.frame(source, NUMBERS, capacity=rows // 2)
    held = frame.mapInArrow(holding(rows // 4, place / "ingest"), "n long, attempt long")
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(kill_holder(place / "ingest")))
    killer.start()
    try:
        found = written(spark, held, place)
    finally:
        killer.join()
    again = spark.session.read.parquet(str(place / "out")).where("attempt > 0").count()
    return {**found, "killed": killed[0], "again": again, "asked": sum(asked)}


def killed_parts(spark: Spark, rows: int, parts: int, folder: str) -> dict[str, Any]:
    """End an executor that reads a live part and writes it, with all the parts that are open there."""
    place, sign = Path(folder), Path(folder) / "parts"
    (place / "out").mkdir()

    def opened(part: int, row: int) -> Stream[tuple[int]]:
        return Stream.range(part + parts * row, rows, parts).map(lambda n: (n,))

    def make(part: SinkPart) -> Sink[Any, Any]:
        def held(row: Any) -> int:
            if not part.attempt and row.n == rows // 2 and not sign.exists():
                sign.with_suffix(".new").write_text(str(os.getpid()))
                sign.with_suffix(".new").rename(sign)
                threading.Event().wait()
            return int(row.n)

        def write(numbers: list[int]) -> int:
            fresh = place / "out" / f".{part.epoch}-{part.partition}-{part.attempt}"
            fresh.write_text(json.dumps(numbers))
            fresh.rename(place / "out" / f"{part.epoch}-{part.partition}")
            return part.attempt

        return Sink.of(lambda numbers: numbers.map(held).to_list().map(write))

    attempts: set[int] = set()
    live = spark_source(
        lambda _: spark.partitioned(range(parts), opened, NUMBERS, streaming=True, capacity=rows // parts // 3)
    )
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(kill_holder(sign)))
    killer.start()
    try:
        end = executor_sink(make, done=lambda epoch, results: attempts.update(results))
        count = (live | end).run(spark, checkpoint=place / "checkpoint").wait()
    finally:
        killer.join()
    found = [n for file in (place / "out").glob("[0-9]*") for n in json.loads(file.read_text())]
    return {**told(found), "killed": killed[0], "attempts": max(attempts), "written": count}


def held_at(row: int, sign: Path) -> Callable[[Any], Iterator[Any]]:
    """Return a step whose first attempt at a row writes down its process and waits to be killed."""

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        for each in batches:
            if row in each.column(0).to_pylist():
                with suppress(FileExistsError):  # several tasks come to this row, one of them waits
                    sign.with_suffix(".taken").touch(exist_ok=False)
                    sign.with_suffix(".new").write_text(str(os.getpid()))
                    sign.with_suffix(".new").rename(sign)
                    threading.Event().wait()
            yield each

    return step


def killed_graph(spark: Spark, rows: int, row: int, folder: str) -> dict[str, Any]:
    """End an executor in the middle of a graph of two sources, windows, a join and two sinks."""
    sign, killed = Path(folder) / "graph", list[int]()
    step = held_at(row, sign)
    life = Life(Path(folder), rows, step=lambda df: df.mapInArrow(step, df.schema))
    killer = threading.Thread(target=lambda: killed.append(kill_holder(sign)))
    killer.start()
    try:
        life.run(spark).wait()
    finally:
        killer.join()
    return {**life.told(spark), "killed": killed[0]}


VERBS = (
    item, keyed, files, chains, retried_egress, retried_ingest, hopeless, executors, killed_egress, killed_ingest,
    killed_parts, killed_graph,
)  # fmt: skip


def zipped(folder: Path) -> Path:
    """Pack this module and its neighbours, as a user packs a program of several files."""
    target = folder / "program.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for package in ("tests", "tests/spark"):
            archive.writestr(f"{package}/__init__.py", "")
        for name in ("on_cluster.py", "asker.py", "chains.py", "cluster.py", "processes.py", "killed_graph.py"):
            archive.write(Path(__file__).parent / name, f"tests/spark/{name}")
    return target


def main(master: str, folder: Path) -> None:
    verbs = {verb.__name__: verb for verb in VERBS}
    conf = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": 1,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.executor.extraJavaOptions": QUICK_JVM,
        "spark.sql.execution.arrow.maxRecordsPerBatch": BATCH,
        "spark.sql.shuffle.partitions": 4,
    }
    with Spark(master=master, conf=conf, py_files=[zipped(folder)]) as spark:
        for line in sys.stdin:
            body = json.loads(line)
            try:
                answer = {"told": verbs[body.pop("verb")](spark, **body)}
            except Exception:
                answer = {"raised": traceback.format_exc()}
            print("SAYS", json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
