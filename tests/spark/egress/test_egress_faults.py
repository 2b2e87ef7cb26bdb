"""Egress when something is in the way: a slow subscriber, one that leaves, an exception in a partition without end."""

from __future__ import annotations

import gc
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Stream, flow
from penstock.spark import Spark
from penstock.spark.wire.failure import ExecutorError, described, rebuilt
from tests.spark.asker import WAIT, Asker
from tests.spark.census import own_threads

MEGABYTE = 1 << 20
WITHOUT_END = 10**13
"""Rows that nothing reads to their end while a test waits."""


def idle(spark: Spark) -> None:
    """Wait until no job runs."""
    tracker = spark.session.sparkContext.statusTracker()
    pause = threading.Event()
    for _ in range(int(WAIT * 20)):
        if not tracker.getActiveJobsIds():
            return
        pause.wait(0.05)
    raise AssertionError("a job still runs")


# Bounds.


def resident() -> int:
    """Return how much memory this process has, in bytes."""
    fields = Path(f"/proc/{os.getpid()}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def on_the_heap(spark: Spark) -> int:
    """Return how much memory the JVM's objects need, in bytes."""
    java: Any = spark.session.sparkContext._jvm
    java.System.gc()
    used: int = java.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    return used


def test_ten_rows_at_a_time_need_no_memory_for_the_ten_million_that_wait(spark: Spark, tmp_path: Path) -> None:
    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        # How far a task has come is told by the size of a file.
        with (tmp_path / str(os.getpid())).open("ab", buffering=0) as file:
            for batch in batches:
                file.write(b"." * batch.num_rows)
                yield batch

    wide = spark.session.range(0, 10_000_000, 1, 2).selectExpr("id", "repeat('x', 10000) AS text")
    df = wide.mapInArrow(counted, "id long, text string")
    list(spark.stream(df).take(10))  # what the first use brings in is not what is measured
    idle(spark)
    for file in tmp_path.iterdir():
        file.unlink()
    gc.collect()
    before, heap_before = resident(), on_the_heap(spark)
    asker = Asker()
    spark.stream(df).subscribe(asker)
    grown: list[int] = []
    pace = threading.Event()
    for _ in range(30):
        asker.ask(10)
        asker.rows.clear()
        pace.wait(0.1)  # a hundred rows per second: time for the tasks to run ahead, if they could
        grown.append(resident() - before)
    heap = on_the_heap(spark) - heap_before
    asker.subscription.cancel()
    idle(spark)
    assert max(grown) < 30 * MEGABYTE
    assert heap < 30 * MEGABYTE
    # 300 rows were delivered. Of the others a task has read what fits between it and here, and not the ten million.
    read = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert 300 <= read < 300 + 20 * 100


# Leaving.


def test_nothing_comes_after_a_cancel_and_the_job_is_gone(spark: Spark) -> None:
    def leave(_: Any) -> None:
        if len(asker.rows) == 10:
            asker.subscription.cancel()

    asker = Asker(leave)
    spark.stream(spark.session.range(0, WITHOUT_END, 1, 4)).subscribe(asker)
    asker.subscription.request(10**9)
    asker.until(lambda: len(asker.rows) >= 10)
    idle(spark)
    assert len(asker.rows) == 10
    assert asker.ends == []


def at_rest(spark: Spark) -> int:
    """Wait until no job and no thread of ours runs; return how many doors the gate has."""
    idle(spark)
    while left := own_threads():
        left[0].join(WAIT)  # one may start another before it ends
        assert not left[0].is_alive(), left
    return len(spark.gate.admitted())


def test_nothing_is_left_of_many_streams(spark: Spark) -> None:
    doors = at_rest(spark)
    early = Asker()
    spark.stream(spark.session.range(0, 1000, 1, 1)).subscribe(early)
    early.subscription.cancel()  # before anything has begun
    for _ in range(3):
        asker = Asker()
        spark.stream(spark.session.range(0, 1000, 1, 1)).subscribe(asker)
        asker.ask(1)
        asker.subscription.cancel()
    assert len(list(spark.stream(spark.session.range(0, 1000, 1, 2)))) == 1000
    assert at_rest(spark) == doors


def test_streams_that_are_left_give_their_memory_back(spark: Spark) -> None:
    context: Any = spark.session.sparkContext
    allocator = context._jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator()
    numbers = spark.session.range(0, WITHOUT_END, 1, 2)
    at_rest(spark)
    before = allocator.getAllocatedMemory()
    for _ in range(10):  # each of them costs Spark two Python workers
        assert len(list(spark.stream(numbers).take(3))) == 3
    at_rest(spark)
    assert allocator.getAllocatedMemory() <= before


def test_a_task_that_is_busy_with_something_else_is_interrupted(spark: Spark, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def stuck(batches: Iterator[Any]) -> Iterator[Any]:
        begun.touch()
        threading.Event().wait()
        yield from batches

    doors = at_rest(spark)
    asker = Asker()
    spark.stream(spark.session.range(0, 10, 1, 1).mapInArrow(stuck, "id long")).subscribe(asker)
    asker.subscription.request(1)
    pause = threading.Event()
    for _ in range(int(WAIT * 20)):
        if begun.exists():
            break
        pause.wait(0.05)
    asker.subscription.cancel()
    assert at_rest(spark) == doors
    tracker = spark.session.sparkContext.statusTracker()
    assert not [one for one in map(tracker.getStageInfo, tracker.getActiveStageIds()) if one and one.numActiveTasks]
    assert (asker.rows, asker.ends) == ([], [])


# Exceptions: the partition has rows for weeks, so that whatever waits for its end never comes to one.


def broken(row: Any) -> int:
    if row.id == 1000:
        raise LookupError("row 1000 is bad")
    return int(row.id)


def broken_batches(batches: Iterator[Any]) -> Iterator[Any]:
    for number, batch in enumerate(batches):
        if number == 3:
            raise LookupError("row 1000 is bad")
        yield batch


@pytest.mark.parametrize("own", [False, True], ids=["in a stage", "in a function of the user's own"])
def test_an_exception_arrives_from_a_partition_that_is_far_from_drained(spark: Spark, own: bool) -> None:
    numbers = spark.session.range(0, WITHOUT_END, 1, 2)
    stage = spark.stage(flow(lambda rows: rows.map(broken)), "n long")
    df = numbers.mapInArrow(broken_batches, "id long") if own else numbers.transform(stage)
    with pytest.raises(LookupError) as caught:
        spark.stream(df).count().get()
    assert isinstance(caught.value, ExecutorError)
    assert caught.value.message.splitlines()[0] == "row 1000 is bad"
    function = "broken_batches" if own else "broken"
    line = rf'File "{re.escape(__file__)}", line \d+, in {function}\n    raise LookupError\("row 1000 is bad"\)\n'
    assert re.search(line, caught.value.remote_traceback), caught.value.remote_traceback
    idle(spark)


def test_an_exception_in_a_streaming_query_arrives_ahead_of_its_micro_batch(spark: Spark) -> None:
    """The rows after the bad one are more than the test would wait for: each takes a second."""

    def slow_after_the_bad(row: Any) -> int:
        if row.n == 10:
            raise LookupError("row 10 is bad")
        if row.n > 10:
            threading.Event().wait(1)
        return int(row.n)

    numbers = spark.frame(Stream.range(100_000).map(lambda n: (n,)), "n long", partitions=1)
    stage = spark.stage(flow(lambda rows: rows.map(slow_after_the_bad)), "n long")
    with pytest.raises(LookupError) as caught:
        spark.stream(numbers.transform(stage)).count().get()
    assert caught.value.message == "row 10 is bad"
    idle(spark)


class Particular(Exception):
    """An exception with a constructor of its own."""

    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


def test_an_exception_of_the_users_own_keeps_its_type_and_says_where_the_rest_is() -> None:
    error = rebuilt(described(Particular(code=7)))
    assert isinstance(error, Particular)
    assert error.message == "code 7"
    missing = (
        f"{__name__}.Particular: attribute 'code' stayed in the executor; the type, the message and the traceback came"
    )
    with pytest.raises(AttributeError, match=f"^{re.escape(missing)}$"):
        _ = error.code
