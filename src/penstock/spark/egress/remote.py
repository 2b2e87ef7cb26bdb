"""remote: the rows of a batch DataFrame of Spark Connect as a Stream, read from the server by Connect's own way."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.places.executors import thread
from penstock.engine.words.dropped import drop
from penstock.spark.egress.decoding import decoder
from penstock.spark.session.connect import refuse
from penstock.stream import Stream


def remote_stream(df: DataFrame, rows: Any = None, **others: Any) -> Stream[Any]:
    """Make a Stream of a batch DataFrame's rows, asked from the server as they are asked for here.

    Tasks go on while no rows are asked for: the server keeps what they have made.
    """
    if df.isStreaming:
        raise refuse("a stream of a streaming DataFrame")
    if others:
        raise refuse(f"stream({next(iter(others))}=...)")
    decode = decoder(df, rows)

    def opened() -> Stream[Any]:
        tag = f"penstock-{secrets.token_hex(8)}"

        def cancel() -> None:
            threading.Thread(
                target=_interrupt, args=(df.sparkSession, tag), name="penstock-cancel", daemon=True
            ).start()

        results: Stream[Any] = Stream.from_iterable(_batches(df, tag))
        return results.flat_map(decode).subscribe_on(thread()).tap(on_cancel=cancel)

    return Stream.defer(opened)


def _batches(df: Any, tag: str) -> Iterator[Any]:
    session: Any = df.sparkSession
    session.addTag(tag)  # marks what this thread does, which is only this
    try:
        for found in session.client.to_table_as_iterator(df._plan.to_proto(session.client), df._plan.observations):
            if isinstance(found, pa.Table):
                yield from found.to_batches()
    finally:
        session.removeTag(tag)


def _interrupt(session: SparkSession, tag: str) -> None:
    try:
        session.interruptTag(tag)
    except Exception as error:  # noqa: BLE001  the subscriber has cancelled, so it is only logged
        drop("stream: the server could not be told of the cancel", error)


__all__ = ["remote_stream"]
