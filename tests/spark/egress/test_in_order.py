"""in_order: batches of the partition whose turn it is, few held, none lost or repeated when a task is run again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

from penstock.spark import Spark
from penstock.spark.egress.delivery import BatchSender
from penstock.spark.egress.in_order import BEGINNING, GRACE, OrderedDoor, batches_in_order
from penstock.spark.wire.gate import Gate

SCHEMA = pa.schema([("n", pa.int64())])
WAIT = 60.0


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(numbers, pa.int64())], schema=SCHEMA)


def numbers(found: pa.RecordBatch | None) -> list[int] | None:
    return None if found is None else found.column(0).to_pylist()


def started(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_partitions_come_one_after_the_other_and_one_batch_of_each_waits() -> None:
    door = OrderedDoor(held=0)
    with Gate() as gate:
        address = gate.admit(door)

        def write(partition: int) -> None:
            with address.connect() as caller:
                sender = BatchSender(caller, partition, attempt=partition)
                sender.open(SCHEMA)
                for n in range(3 if partition != 1 else 0):
                    sender.send(batch(10 * partition + n))
                sender.finish()

        tasks = [started(lambda part=part: write(part)) for part in (2, 1, 0)]  # type: ignore[misc]
        found = []
        while len(found) < 6:
            one = door.take()
            if one is not None:
                found.append(numbers(one))
        for task in tasks:
            task.join(WAIT)
        assert not any(task.is_alive() for task in tasks)
    assert found == [[0], [1], [2], [20], [21], [22]]
    assert door.most_held <= 2


def test_what_is_held_holds_no_task_up_and_comes_in_order_after_the_job() -> None:
    door = OrderedDoor(held=4)
    for number in (1, 0):
        state, _ = door.begin(number, number)
        for n in range(2):
            door.offer(state, number, batch(10 * number + n))  # returns, although none is taken
        door.end(state, number, finished=True)
    door.ended(None)
    assert [numbers(door.take(0.0)) for _ in range(5)] == [[0], [1], [10], [11], None]


def test_a_task_that_is_run_again_after_its_end_repeats_what_was_not_taken() -> None:
    door = OrderedDoor(held=4)
    state, _ = door.begin(0, 1)
    for n in range(3):
        door.offer(state, 1, batch(n))
    door.end(state, 1, finished=True)
    assert numbers(door.take(0.0)) == [0]
    assert door.begin(0, 2) == (state, 1)
    assert door.take(0.0) is None
    door.offer(state, 2, batch(1, 2))
    door.end(state, 2, finished=True)
    assert numbers(door.take(0.0)) == [1, 2]


def test_after_a_failure_nothing_more_is_taken() -> None:
    door = OrderedDoor(held=4)
    state, _ = door.begin(0, 1)
    door.offer(state, 1, batch(1))
    door.ended(OSError("a task failed"))
    assert door.take(0.0) is None


def test_a_task_that_is_run_again_leaves_out_what_was_taken() -> None:
    door = OrderedDoor(held=0)
    state, skip = door.begin(0, 5)
    assert skip == 0
    offering = started(lambda: door.offer(state, 5, batch(1, 2)))
    assert numbers(door.take(WAIT)) == [1, 2]
    offering.join(WAIT)
    refused: list[Exception] = []

    def offer_again() -> None:
        try:
            door.offer(state, 5, batch(3))
        except flight.FlightError as error:
            refused.append(error)

    waiting = started(offer_again)
    while not state.offers:
        threading.Event().wait(0.01)
    assert door.begin(0, 6) == (state, 2)  # what waited was not counted, and is never taken
    waiting.join(WAIT)
    assert "attempt 5 was replaced by attempt 6" in str(refused[0])
    door.end(state, 5, finished=True)
    assert not state.finished  # an old attempt's end is not the partition's
    assert door.take(0.0) is None


def test_a_partition_without_a_task_holds_the_others_up_only_for_a_moment() -> None:
    at = [0.0]
    door = OrderedDoor(lambda: at[0], held=0)
    state, _ = door.begin(0, 1)
    door.end(state, 1, finished=False)  # it has failed, and waits for a core
    other, _ = door.begin(1, 2)
    started(lambda: door.offer(other, 2, batch(7)))
    while not other.offers:
        threading.Event().wait(0.01)
    assert door.take(0.0) is None
    at[0] = GRACE
    assert numbers(door.take(0.0)) == [7]


def test_a_task_that_is_slow_to_begin_is_not_overtaken() -> None:
    at = [0.0]
    door = OrderedDoor(lambda: at[0], held=2)
    other, _ = door.begin(1, 2)
    door.offer(other, 2, batch(10, 11))
    assert door.take(0.0) is None
    at[0] = 10 * BEGINNING
    assert door.take(0.0) is None  # nothing stands still on a core that it might need
    started(lambda: door.offer(other, 2, batch(12)))
    while len(other.offers) < 2:
        threading.Event().wait(0.01)
    assert door.take(0.0) is None
    at[0] += BEGINNING - GRACE
    assert door.take(0.0) is None
    state, _ = door.begin(0, 1)
    assert door.take(0.0) is None
    started(lambda: door.offer(state, 1, batch(0)))
    assert numbers(door.take(WAIT)) == [0]
    door.end(state, 1, finished=True)
    assert numbers(door.take(WAIT)) == [10, 11]


def test_a_task_that_does_not_begin_holds_the_others_up_not_for_ever() -> None:
    at = [0.0]
    door = OrderedDoor(lambda: at[0], held=0)
    other, _ = door.begin(1, 2)
    started(lambda: door.offer(other, 2, batch(7)))
    while not other.offers:
        threading.Event().wait(0.01)
    assert door.take(0.0) is None
    at[0] = BEGINNING
    assert numbers(door.take(0.0)) == [7]


def test_whatever_waits_is_refused_at_the_end() -> None:
    door = OrderedDoor(held=0)
    state, _ = door.begin(0, 1)
    refused: list[Exception] = []

    def offer() -> None:
        try:
            door.offer(state, 1, batch(1))
        except flight.FlightError as error:
            refused.append(error)

    waiting = started(offer)
    while not state.offers:
        threading.Event().wait(0.01)
    door.close()
    waiting.join(WAIT)
    assert "the stream has ended" in str(refused[0])
    with pytest.raises(flight.FlightCancelledError, match="the stream has ended"):
        door.begin(1, 2)


def test_a_dataframe_comes_in_order_and_a_few_batches_at_a_time(spark: Spark) -> None:
    df = spark.session.range(0, 5000, 1, 4)
    found = list(batches_in_order(spark.gate, df, lambda: False))
    assert [n for one in found for n in one.column(0).to_pylist()] == list(range(5000))
    assert max(one.num_rows for one in found) == 100  # spark.sql.execution.arrow.maxRecordsPerBatch here
    doors = len(spark.gate.admitted())
    some = batches_in_order(spark.gate, df, lambda: False)
    assert numbers(next(some)) == list(range(100))
    some.close()
    assert len(spark.gate.admitted()) == doors


def test_a_micro_batch_is_not_held_whole(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    doors: list[OrderedDoor] = []
    plain = OrderedDoor.__init__

    def noted(door: OrderedDoor, *arguments: Any) -> None:
        plain(door, *arguments)
        doors.append(door)

    monkeypatch.setattr(OrderedDoor, "__init__", noted)
    monkeypatch.setattr("penstock.spark.egress.in_order.HELD", 300)
    rate = spark.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 20_000).option("numPartitions", 4)
    rows = list(spark.stream(rate.load().select("value"), rows="tuple").take(20_000))
    assert rows == [(n,) for part in range(4) for n in range(part, 20_000, 4)]  # as that source cuts them
    assert doors[0].most_held <= 300 + 2 * 100  # of 20,000; two tasks at a time have a batch more
    doors.clear()
    rate = spark.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 50).option("numPartitions", 1)
    assert list(spark.stream(rate.load().select("value"), rows="tuple").take(150)) == [(n,) for n in range(150)]
    assert len(doors) == 1  # those that follow a small one come whole
