"""Pump: rows are made as they are asked for, and the end never overtakes them."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.engine.grounds.outlet import Outlet
from penstock.spark.egress.pump import CHUNK, Pump
from tests.spark.asker import Asker

WAIT = 60
Decode = Callable[[pa.RecordBatch], Iterator[int]]


def batch(start: int, stop: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(range(start, stop), pa.int64())})


def numbers(given: pa.RecordBatch) -> Iterator[int]:
    return iter(given.column(0).to_pylist())


class Bench:
    """A pump between a list of batches and a subscriber that asks when told."""

    def __init__(self, batches: list[pa.RecordBatch], decode: Decode = numbers) -> None:
        self.asker = Asker()
        self.outlet: Outlet[Any] = Outlet(self.asker)
        self.batches = deque(batches)
        self.pump = Pump(self.outlet, lambda: self.batches.popleft() if self.batches else None, decode)
        self.outlet.on_request = lambda _: self.pump.run()
        self.outlet.open()


def test_no_more_rows_are_made_than_are_asked_for() -> None:
    made: list[int] = []

    def decode(given: pa.RecordBatch) -> Iterator[int]:
        for number in numbers(given):
            made.append(number)
            yield number

    bench = Bench([batch(0, 1000), batch(1000, 2000)], decode)
    assert made == []
    for asked in (1, 2, 7):
        bench.asker.ask(asked)
        assert len(made) <= len(bench.asker.rows) + 1  # the one by which the end is known
    assert len(bench.batches) == 1
    bench.asker.ask(2 * CHUNK)
    assert bench.asker.rows == list(range(10 + 2 * CHUNK))
    assert len(made) <= len(bench.asker.rows) + 1


@pytest.mark.parametrize("asked", [20, 30])
def test_the_end_waits_for_the_rows_of_a_batch_that_was_taken(asked: int) -> None:
    def decode(given: pa.RecordBatch) -> Iterator[int]:
        if not bench.batches:
            bench.pump.end()  # the writer has its answer and the job is over, while the rows are still being made
        return numbers(given)

    bench = Bench([batch(0, 10), batch(10, 20)], decode)
    bench.asker.ask(5)
    bench.asker.subscription.request(asked - 5)
    assert bench.asker.rows == list(range(20))
    assert bench.asker.ends == ["complete"]


def test_an_end_without_rows_needs_no_demand() -> None:
    bench = Bench([])
    bench.pump.end()
    assert bench.asker.ends == ["complete"]


def test_an_error_comes_after_the_rows_that_were_taken() -> None:
    bench = Bench([batch(0, 10)])
    bench.asker.ask(4)
    error = OSError("gone")
    bench.pump.end(error)
    assert bench.asker.ends == []
    bench.asker.subscription.request(100)
    assert bench.asker.rows == list(range(10))
    assert bench.asker.ends == [error]


def test_a_row_that_cannot_be_made_fails_the_stream() -> None:
    def decode(given: pa.RecordBatch) -> Iterator[int]:
        raise ValueError("no such row")

    bench = Bench([batch(0, 10)], decode)
    bench.asker.subscription.request(1)
    (error,) = bench.asker.ends
    assert (type(error), str(error)) == (ValueError, "no such row")


def test_a_batch_without_rows_is_passed_over() -> None:
    bench = Bench([batch(0, 0), batch(0, 3), batch(3, 3)])
    bench.asker.ask(3)
    assert bench.asker.rows == [0, 1, 2]
    bench.pump.end()
    assert bench.asker.ends == ["complete"]


def test_many_threads_may_run_it_and_nothing_is_lost_or_repeated() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        bench = Bench([batch(n, n + 50) for n in range(0, 5000, 50)])
        threads = [
            threading.Thread(target=lambda: [bench.asker.subscription.request(10) for _ in range(100)])
            for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        bench.pump.end()
        assert bench.asker.until_end() == "complete"
    finally:
        sys.setswitchinterval(before)
    assert bench.asker.rows == list(range(5000))
