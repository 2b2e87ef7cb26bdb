"""A SystemExit in a function that is called here ends the run with an error wherever that is, and no query stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from penstock import Sink, Stream
from penstock.errors import InterruptionError
from penstock.spark import Spark, also, entry, executor_sink, spark_sink, spark_source

WAIT = 240


def leave(*_: object, **__: object) -> NoReturn:
    raise SystemExit(3)


def live() -> Stream[Any]:
    return Stream.range(6) | entry("n long")


def table() -> Stream[Any]:
    return spark_source(lambda session: session.range(6))


PLACES: dict[str, Callable[[], Any]] = {
    "also": lambda: live() | also(leave) | Sink.count(),
    "also, once": lambda: table() | also(leave) | Sink.count(),
    "a sink": lambda: live() | Sink.for_each(leave),
    "a sink, once": lambda: table() | Sink.for_each(leave),
    "spark_sink": lambda: live() | spark_sink(leave),
    "spark_sink, once": lambda: table() | spark_sink(leave),
    "foreachBatch": lambda: live() | spark_sink(lambda df: df.writeStream.foreachBatch(leave)),
    "executor_sink": lambda: live() | executor_sink(lambda part: Sink.count(), done=leave),
    "dead_letter": lambda: Stream.just(1, "x") | entry("n long", dead_letter=Sink.for_each(leave)) | Sink.count(),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_system_exit_ends_the_run_with_an_error_and_its_query_with_it(spark: Spark, place: str) -> None:
    run = PLACES[place]().run(spark)
    with pytest.raises(InterruptionError, match=r"the stream was interrupted by SystemExit\(3\)"):
        run.wait(WAIT)
    assert not spark.session.streams.active


def test_a_stream_of_a_table_whose_write_leaves_fails(spark: Spark) -> None:
    with pytest.raises(InterruptionError, match=r"^the stream was interrupted by SystemExit\(3\)$"):
        list(spark.stream(spark.session.range(6), also=leave))
