"""Restart: a query that is started again from its checkpoint goes on exactly where it was, or says why it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock import Sink, Stream
from penstock.spark import Spark
from penstock.spark.ingest.intake import IngestError
from penstock.spark.wire import failure

WAIT = 300
SCHEMA = "n long"


def run(df: Any, folder: Path, path: str = "out") -> list[int]:
    """Run a query to its end and return the rows that all its lives have written."""
    out = folder / path
    query = (
        df.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .option("path", str(out))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination(WAIT)
        assert not query.isActive
    finally:
        query.stop()
    if path != "out":  # it lacks what the sink knows of the lives before
        return sorted(n for file in out.glob("*.parquet") for n in parquet.read_table(file)["n"].to_pylist())
    return sorted(row.n for row in df.sparkSession.read.schema(SCHEMA).parquet(str(out)).collect())


def fails(work: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:
        work()
    return failure.original(caught.value)


def stopped_at(stop: int) -> Callable[[int], tuple[int]]:
    """Make rows, and fail at one: Spark has committed some and planned others by then."""

    def row(n: int) -> tuple[int]:
        if n == stop:
            raise RuntimeError("this life is over")
        return (n,)

    return row


def numbered(after: int | None, stop: int = 25) -> Iterator[tuple[int, int]]:
    return ((n + 1, n) for n in range(after or 0, stop))


SOURCES: dict[str, Callable[[], Stream[int]]] = {
    "a list": lambda: Stream.from_iterable(list(range(25))),
    "with a step that remembers": lambda: Stream.range(100).take(25),
    "positions and a filter": lambda: Stream.resumable(lambda n: numbered(n, 50)).filter(lambda n: n < 25),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_stream_goes_on_behind_what_spark_has_committed(spark: Spark, tmp_path: Path, source: str) -> None:
    make = SOURCES[source]
    stop = 13
    error = fails(lambda: run(spark.frame(make().map(stopped_at(stop)), SCHEMA, capacity=5, latency=0.1), tmp_path))
    assert str(error) == "this life is over"
    for _ in range(2):
        whole = spark.frame(make().map(lambda n: (n,)), SCHEMA, capacity=5)
        assert run(whole, tmp_path) == list(range(25))


def test_what_is_committed_is_told_after_spark_has_written_it_and_in_order(spark: Spark, tmp_path: Path) -> None:
    log: list[tuple[int, int]] = []

    def commit(position: int) -> None:
        commits = tmp_path / "checkpoint" / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        log.append((position, offset(tmp_path / "checkpoint", last)["row"]))

    def stream() -> Stream[tuple[int]]:
        return Stream.resumable(numbered, commit).map(lambda n: (n,))

    assert run(spark.frame(stream(), SCHEMA, capacity=6, latency=0.1), tmp_path) == list(range(25))
    assert log
    assert all(position == row for position, row in log)  # Spark had committed just that
    told = [position for position, _ in log]
    assert told == sorted(set(told))
    assert told[-1] == 25
    log.clear()
    assert run(spark.frame(stream(), SCHEMA), tmp_path) == list(range(25))
    assert log == [(25, 25)]  # the life before may have ended before it could say so


def test_rows_that_do_not_fit_are_counted_by_the_stream_and_not_by_spark(spark: Spark, tmp_path: Path) -> None:
    letters: list[Any] = []

    def frame(stop: int) -> Any:
        rows = Stream.range(25).map(stopped_at(stop)).map(lambda row: row if row[0] % 3 else ("bad",))
        return spark.frame(
            rows, SCHEMA, capacity=4, latency=0.1, dead_letter=Sink.for_each(lambda one: letters.append(one.row))
        )

    fails(lambda: run(frame(14), tmp_path))
    assert run(frame(99), tmp_path) == [n for n in range(25) if n % 3]
    assert len(letters) >= 9


@pytest.mark.parametrize("told", [False, True])
def test_a_checkpoint_in_the_middle_of_a_record_batch_is_kept(spark: Spark, tmp_path: Path, told: bool) -> None:
    batches = [pa.record_batch({"n": list(range(at, min(at + 7, 25)))}) for at in range(0, 25, 7)]

    def stream() -> Stream[Any]:
        if told:
            return Stream.resumable(lambda after: [(n + 1, batches[n]) for n in range(after or 0, 4)])
        return Stream.from_iterable(batches)

    assert run(spark.frame(stream(), SCHEMA, capacity=5), tmp_path) == list(range(25))
    back_to(tmp_path / "checkpoint", 0)
    assert offset(tmp_path / "checkpoint", 0) == {"row": 5, "at": [None if told else [0, 0], 5]}
    assert run(spark.frame(stream(), SCHEMA), tmp_path, "again") == list(range(5, 25))


def back_to(checkpoint: Path, batch: int) -> None:
    """Let Spark forget what came after a micro-batch."""
    for path in [*(checkpoint / "offsets").iterdir(), *(checkpoint / "commits").iterdir()]:
        if int(path.name.strip(".").removesuffix(".crc")) > batch:
            path.unlink()


def offset(checkpoint: Path, batch: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1])
    return found


def test_a_stream_that_gives_something_else_than_it_had_planned_is_refused(spark: Spark, tmp_path: Path) -> None:
    """The offsets of a micro-batch that was planned and not committed tell where each of its ends was."""
    stream = Stream.resumable(numbered).map(lambda n: (n,))
    assert run(spark.frame(stream, SCHEMA, capacity=10), tmp_path) == list(range(25))
    commits = tmp_path / "checkpoint" / "commits"
    last = max((path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)
    other = Stream.resumable(lambda after: ((n + 2, n) for n in range(after or 0, 50))).map(lambda n: (n,))
    error = fails(lambda: run(spark.frame(other, SCHEMA), tmp_path, "other"))
    assert isinstance(error, IngestError)
    assert re.fullmatch(
        r"frame: row 24 is at \[\[26, 0\], 0\] now, and was at \[\[25, 0\], 0\] when Spark planned it;"
        r" the stream gives something else than before",
        str(error),
    ), str(error)
    assert run(spark.frame(stream, SCHEMA), tmp_path, "again") == list(range(25 - 5, 25))


def test_a_position_that_is_no_json_is_refused(spark: Spark, tmp_path: Path) -> None:
    stream = Stream.resumable(lambda _: [({1}, (1,))])
    error = fails(lambda: run(spark.frame(stream, SCHEMA), tmp_path))
    assert isinstance(error, IngestError)
    assert str(error) == (
        "frame: a position must be a JSON value, got [{1}, 0]: Object of type set is not JSON serializable"
    )


def test_a_stream_that_is_told_of_commits_is_read_by_one_query_at_a_time(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.spark.ingest.frames.BUSY_TRIALS", 2)
    df = spark.frame(Stream.resumable(numbered, lambda _: None).map(lambda n: (n,)), SCHEMA)
    error = fails(lambda: run(df.alias("a").join(df.alias("b"), "n"), tmp_path))
    assert isinstance(error, IngestError)
    assert str(error) == "frame: a stream that is told what is committed can be read by one query at a time"


def test_what_commit_raises_ends_the_query(spark: Spark, tmp_path: Path) -> None:
    def commit(_: int) -> None:
        raise ConnectionError("the broker is away")

    error = fails(lambda: run(spark.frame(Stream.resumable(numbered, commit), SCHEMA), tmp_path))
    assert isinstance(error, ConnectionError)
    assert str(error) == "the broker is away"


def test_a_spool_goes_on_with_a_stream_that_can_be_had_again(spark: Spark, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    for stop in (13, 99):
        df = spark.frame(Stream.range(25).map(stopped_at(stop)), SCHEMA, capacity=5, latency=0.1, spool=spool)
        if stop == 13:
            fails(lambda df=df: run(df, tmp_path))  # type: ignore[misc]
    assert run(df, tmp_path) == list(range(25))


@pytest.mark.parametrize(
    ("stream", "options", "words"),
    [
        (Stream.resumable(numbered), {}, "tells its positions"),
        (Stream.range(3), {"dead_letter": Sink.count()}, "counts the rows of dead_letter, too"),
    ],
)
def test_a_spool_that_could_not_go_on_is_refused(
    spark: Spark, tmp_path: Path, stream: Stream[Any], options: dict[str, Any], words: str
) -> None:
    message = f"frame: spool is not for a stream that {words} and goes on without one; leave it out"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        spark.frame(stream, SCHEMA, spool=tmp_path, **options)


def test_what_a_stream_gives_again_may_be_said(spark: Spark, tmp_path: Path) -> None:
    def rows() -> Stream[tuple[int]]:
        return Stream.from_iterable((n,) for n in range(25))

    first = spark.frame(rows().take(10), SCHEMA, again="same")
    assert run(first, tmp_path) == list(range(10))
    assert run(spark.frame(rows(), SCHEMA, again="same"), tmp_path) == list(range(25))
    with pytest.raises(ValueError, match=r"^frame: again must be 'same' or 'later', got 'new'$"):
        spark.frame(rows(), SCHEMA, again="new")
