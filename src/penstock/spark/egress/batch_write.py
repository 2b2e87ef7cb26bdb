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
            _let_go(frame)


def _let_go(frame: DataFrame) -> None:
    try:
        frame.unpersist()
    except Exception:  # noqa: BLE001  Spark interrupts this thread's work when its query is stopped, and this with it
        threading.Thread(target=_let_go_again, args=(frame,), name="penstock-let-go", daemon=True).start()


def _let_go_again(frame: DataFrame) -> None:
    try:
        frame.unpersist()
    except Exception as error:  # noqa: BLE001  this thread has no caller, so it is only logged
        if frame.sparkSession.sparkContext._jsc is not None:  # else it is gone with the session
            drop("also: a batch could not be let go of", error)


__all__ = ["Write", "written"]
