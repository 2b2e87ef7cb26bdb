"""ends_here: the sinks of this process at the end of a pipeline on Spark, and the event loop that awaits it."""

from __future__ import annotations

import asyncio
import queue
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from penstock import Completed, Sink, Stream, branch
from penstock.spark import Spark, frame

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not know the tests


def same(df: Any) -> Any:
    return df


def n_of(row: Any) -> int:
    return int(row.n)


def test_every_end_takes_what_comes_back_and_asynchronous_parts_run_on_the_loop_that_awaits(
    spark: Spark, tmp_path: Path
) -> None:
    seen: set[int] = set()
    waiting: queue.Queue[Any] = queue.Queue()
    batches: list[int] = []

    async def main() -> Any:
        given: asyncio.Queue[int] = asyncio.Queue()
        taken: asyncio.Queue[Any] = asyncio.Queue()

        async def live() -> AsyncIterator[tuple[int]]:
            while (n := await given.get()) < 5:
                seen.add(threading.get_ident())
                yield (n,)

        async def noted(row: Any) -> None:
            seen.add(threading.get_ident())
            await asyncio.sleep(0)

        for n in range(6):
            given.put_nowait(n)
        ends = branch(
            Sink.of(lambda rows: rows.map(n_of).to_set()),
            Sink.of(lambda rows: rows.map(n_of).reduce(max)),
            Sink.to_dict(n_of, n_of),
            Sink.fold(lambda total, row: total + n_of(row), 0),
            Sink.for_each(noted, concurrency=2),
            Sink.foreach_batch(lambda batch: batches.append(len(batch)), 2),
            Sink.of(lambda rows: rows.first(lambda row: n_of(row) == 3).map(n_of)),
            Sink.of(lambda rows: rows.last().map(n_of).to_list()),
            Sink.to_queue(waiting),
            Sink.to_queue(taken),
        )
        found = await (Stream.from_async_iterable(live()) | frame(same, schema="n long") | ends).run(spark)
        assert sorted(n_of(row) for row in waiting.queue if not isinstance(row, Completed)) == [0, 1, 2, 3, 4]
        assert taken.qsize() == 6
        return found

    everything, most, by_n, total, worked, batched, third, last, put, put_here = asyncio.run(main())
    assert (everything, most, by_n, total) == ({0, 1, 2, 3, 4}, 4, {n: n for n in range(5)}, 10)
    assert (worked, batched, third, put, put_here) == (5, 5, 3, 5, 5)
    assert len(last) == 1
    assert sum(batches) == 5
    assert seen == {threading.get_ident()}

    lines = Stream.range(3).map(lambda n: (n,)) | frame(same, schema="n long")
    path = tmp_path / "lines"
    assert (lines | Sink.of(lambda rows: rows.count())).run(spark).wait() == 3
    written = Stream.range(3).map(lambda n: (n,)) | frame(same, schema="n long")
    assert (written.map(lambda row: str(n_of(row))) | Sink.to_file(path)).run(spark).wait() == 3
    assert sorted(path.read_text().splitlines()) == ["0", "1", "2"]
