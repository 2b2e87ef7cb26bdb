"""Parts of a stream that executors open: each row once, whatever ends, fails, restarts, comes, goes or is idle."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import Stream
from penstock.spark import Spark, StageError
from penstock.spark.partitions.positions import PartError
from tests.spark.asker import Asker

DDL = "part string, n long"


def upto(stop: int) -> Any:
    return lambda part, row: Stream.range(row, stop).map(lambda n: (str(part), n))


def rows_of(parts: Any, stop: int, first: int = 0) -> list[tuple[str, int]]:
    return [(part, n) for part in parts for n in range(first, stop)]


def test_each_part_is_read_once_to_its_end_on_executors(spark: Spark) -> None:
    def opened(part: str, row: int) -> Any:
        if part == "arrow":
            whole = pa.record_batch({"part": [part] * 700, "n": range(700), "pid": [os.getpid()] * 700})
            return [whole.slice(at, 300) for at in range(row, 700, 300)]
        return Stream.range(row, 700).map(lambda n: (part, n, os.getpid()))

    df = spark.partitioned(["arrow", "a", "b"], opened, f"{DDL}, pid int", streaming=True, capacity=500)
    found = [tuple(row) for row in spark.stream(df)]
    assert sorted(row[:2] for row in found) == rows_of(["a", "arrow", "b"], 700)
    assert os.getpid() not in {pid for _, _, pid in found}


def test_parts_whose_rows_are_there_end_where_they_end(spark: Spark) -> None:
    opened = upto(1234)
    df = spark.partitioned(["a", "b"], opened, DDL, streaming=True, live=False, capacity=1000)
    assert sorted(tuple(row) for row in spark.stream(df)) == rows_of("ab", 1234)


def test_an_idle_part_holds_up_no_other_and_is_read_when_its_rows_come(spark: Spark, tmp_path: Path) -> None:
    go = str(tmp_path / "go")

    def opened(part: str, row: int) -> Iterator[tuple[str, int]]:
        pause = threading.Event()
        while part == "late" and not os.path.exists(go):  # noqa: PTH110  a generator on an executor
            pause.wait(0.01)
        yield from ((part, n) for n in range(row, 300))

    df = spark.partitioned(["late", "a", "b"], opened, DDL, streaming=True)
    asker = Asker()
    spark.stream(df, rows="tuple").subscribe(asker)
    asker.ask(600)
    assert sorted(asker.rows) == rows_of("ab", 300)
    Path(go).touch()
    asker.subscription.request(1000)
    assert asker.until_end() == "complete"
    assert sorted(asker.rows[600:]) == rows_of(["late"], 300)


def test_a_restart_goes_on_where_each_part_was_and_repeats_what_was_not_committed(spark: Spark, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"

    def run(stop: int, parts: Any) -> list[tuple[str, int]]:
        df = spark.partitioned(parts, upto(stop), DDL, streaming=True)
        return sorted(tuple(row) for row in spark.stream(df, checkpoint=folder))

    assert run(100, ["a", "b"]) == rows_of("ab", 100)
    # As if the driver had died in the last micro-batch with rows: Spark repeats it, and it must be the same one.
    commits = sorted((int(path.name), path) for path in (folder / "commits").iterdir() if path.name.isdigit())
    for number, path in commits[1:]:
        path.unlink()
        (path.parent / f".{path.name}.crc").unlink()
        delivered = number
    for noted in folder.glob("penstock-delivered*"):
        noted.unlink()
    (folder / "penstock-delivered").write_text("0")
    assert delivered == 1
    assert run(150, ["c", "b"]) == sorted(rows_of("ab", 100) + rows_of("b", 150, 100) + rows_of("c", 150))
    assert run(150, ["a", "b", "c"]) == rows_of("a", 150, 100)


def test_the_failure_of_a_part_keeps_its_type_and_names_the_part(spark: Spark) -> None:
    def opened(part: str, row: int) -> Stream[Any]:
        rows = Stream.range(row, 5).map(lambda n: (part, n))
        return rows if part == "good" else Stream.concat(rows, Stream.error(OSError("no such shard")))

    df = spark.partitioned(["good", "bad"], opened, DDL, streaming=True)
    asker = Asker()
    spark.stream(df, rows="tuple").subscribe(asker)
    asker.subscription.request(100)
    error = asker.until_end()
    assert isinstance(error, OSError)
    assert "no such shard" in str(error)
    assert "in part 'bad', rows 5 to 5, opened with " in str(error)
    assert sorted(asker.rows) == sorted(rows_of(["good", "bad"], 5))


def test_parts_come_and_go_and_sources_hear_what_is_committed(spark: Spark, tmp_path: Path) -> None:
    shards, told = tmp_path / "shards", tmp_path / "told"
    shards.mkdir()
    told.mkdir()

    def parts() -> list[str]:
        return sorted(path.name for path in shards.iterdir())

    def latest(part: str) -> int:
        return int((shards / part).read_text())

    def opened(part: str, row: int) -> Iterator[tuple[str, int]]:
        return ((part, n) for n in range(row, 10**9))  # as far as `latest` says

    def commit(part: str, row: int) -> None:
        (told / f"{part}-{row}").touch()

    def show(part: str, rows: int) -> None:
        (tmp_path / "new").write_text(str(rows))
        (tmp_path / "new").rename(shards / part)

    show("a", 20)
    df = spark.partitioned(parts, opened, DDL, streaming=True, latest=latest, start=10, commit=commit)
    asker = Asker()
    spark.stream(df, rows="tuple").subscribe(asker)
    asker.ask(10)
    show("b", 13)
    asker.ask(3)
    (shards / "a").unlink()
    show("b", 15)
    asker.ask(2)
    show("a", 21)
    asker.ask(1)
    asker.subscription.cancel()
    assert asker.rows == [*rows_of("a", 20, 10), *rows_of("b", 15, 10), ("a", 20)]
    assert {"a-20", "b-13"} <= {path.name for path in told.iterdir()}


def test_what_was_there_at_the_start_is_what_is_available_now(spark: Spark) -> None:
    df = spark.partitioned([0, 1], upto(10**9), DDL, streaming=True, latest=lambda part: 50 * (part + 1))
    found = [tuple(row) for row in spark.stream(df, trigger={"availableNow": True})]
    assert sorted(found) == sorted([*rows_of(["0"], 50), *rows_of(["1"], 100)])


def test_a_part_that_gives_fewer_rows_than_there_were_is_an_error(spark: Spark) -> None:
    df = spark.partitioned(["a"], upto(7), DDL, streaming=True, latest=lambda part: 9)
    with pytest.raises(PartError, match=r"part 'a' ended at row 7, and rows up to 9 were planned"):
        spark.stream(df, trigger={"availableNow": True}).count().get()


def test_what_does_not_fit_is_refused(spark: Spark) -> None:
    lock = threading.Lock()
    for error, message, parts, options in (
        (TypeError, "partitions must be a collection of parts, got 'a'", "a", {}),
        (PartError, "a part of a stream must be a text or a whole number, got 1.5", [1.5], {}),
        (TypeError, "latest is for live parts", ["a"], {"latest": len, "live": False}),
        (ValueError, "start must be a whole number >= 0 or a function from a part, got -1", ["a"], {"start": -1}),
        (ValueError, "capacity must be a whole number >= 1, got 0", ["a"], {"capacity": 0}),
        (ValueError, "latency must be > 0 seconds, got 0", ["a"], {"latency": 0}),
        (StageError, "commit .* cannot be sent to the executors", ["a"], {"commit": lambda part, row: lock}),
    ):
        with pytest.raises(error, match=f"^partitioned: {message}"):
            spark.partitioned(parts, upto(1), DDL, streaming=True, **options)
    with pytest.raises(TypeError, match=r"^partitioned: latest is for streaming=True, and this one is a batch$"):
        spark.partitioned(["a"], upto(1), DDL, latest=len)
