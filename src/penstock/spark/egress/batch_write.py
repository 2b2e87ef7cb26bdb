"""batch_write: write a batch of rows with Spark, then let the same rows go on to a subscriber of this process.

The batch is held, in memory and on disk, from before the write until its rows have gone on, so it is computed once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from pyspark import StorageLevel

from penstock.engine.words.dropped import drop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PATIENCE = 10.0
"""Seconds to wait until Spark has let go of a batch."""
Write: TypeAlias = "Callable[[DataFrame, int], object]"
"""A function from a batch of rows and its number; the same batch comes with the same number again after a failure."""


@contextmanager
def written(frame: DataFrame, write: Write | None, batch: int) -> Iterator[None]:
    """Write a batch and hold it as long as the context lasts; with nothing to write do nothing."""
    if write is None:
        yield
        return
    held_by_others = frame.storageLevel != StorageLevel.NONE
    if not held_by_others:
        frame.persist()
    try:
        write(frame, batch)
        yield
    finally:
        if not held_by_others:
            let_go(frame)


def let_go(frame: DataFrame) -> None:
    """Stop holding a batch.

    It is done on a separate thread. Spark interrupts that of a query which is stopped, and what was let go of by half
    would be held for as long as the session lasts.
    """
    thread = threading.Thread(target=_unpersist, args=(frame,), name="penstock-let-go", daemon=True)
    thread.start()
    thread.join(PATIENCE)


def _unpersist(frame: DataFrame) -> None:
    try:
        frame.unpersist()
    except Exception as error:  # noqa: BLE001  this thread has no caller, so it is only logged
        if frame.sparkSession.sparkContext._jsc is not None:  # else it is gone with the session
            drop("also: a batch could not be let go of", error)


__all__ = ["Write", "let_go", "written"]
