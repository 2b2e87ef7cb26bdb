"""checkpoint_files: let Spark write a checkpoint without starting other programs, where it is a local folder.

Spark's default for such folders starts `chmod` and `readlink` for each of its two files of a micro-batch, many times,
which takes longer than the micro-batch itself. The other way that Spark has starts `chmod` alone. Both ways write a
checksum beside a file, and rename first the file and then the checksum, by the same call. On a file system that does
not replace what is there, as HDFS, they differ, so there the default stays.

A query takes its settings from its session when it starts, so this one is set only for that long. What the user has
chosen stays, and so does everything in a session that lets no one look inside or set anything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

SETTING = "spark.sql.streaming.checkpointFileManagerClass"
_PACKAGE = "org.apache.spark.sql.execution.streaming"
_NAMES = tuple(f"{_PACKAGE}{inner}.FileSystemBasedCheckpointFileManager" for inner in (".checkpointing", ""))
"""The other way, since 4.1 and before."""
_turn = threading.Lock()
"""Held while a query starts: one whose checkpoint is elsewhere must not find what was set for another."""
PATIENCE = 10.0
"""Seconds to wait for another query to start; after that this one starts with what there is."""


@contextmanager
def quick_checkpoint(session: Any, writer: Any) -> Iterator[None]:
    """Choose how the query that is started in the block writes its checkpoint."""
    mine = _turn.acquire(timeout=PATIENCE)
    chosen = mine and _choose(session, writer)
    try:
        yield
    finally:
        if chosen:
            with suppress(Exception):  # the session may have been stopped meanwhile
                session.conf.unset(SETTING)
        if mine:
            _turn.release()


def _choose(session: Any, writer: Any) -> bool:
    """Set the other way, if nothing speaks against it; tell whether it was set."""
    try:
        context = session.sparkContext
        conf = context._jsc.hadoopConfiguration()
        if session.conf.get(SETTING, "") or conf.get(SETTING):
            return False
        if not stays_here(conf, writer, str(session.conf.get("spark.sql.streaming.checkpointLocation", ""))):
            return False
        session.conf.set(SETTING, _manager(context))
    except Exception:  # noqa: BLE001  then everything stays as it is
        return False
    return True


def stays_here(conf: Any, writer: Any, root: str = "") -> bool:
    """Tell whether the checkpoint of a query is on the file system of a machine; `root` is where Spark puts any."""
    java = writer._jwrite
    field = java.getClass().getDeclaredField("extraOptions")
    field.setAccessible(True)
    given = field.get(java).get("checkpointLocation")
    place = str(given.get()) if given.isDefined() else root
    scheme, colon, _ = place.partition(":")
    return (scheme if colon and "/" not in scheme else str(conf.get("fs.defaultFS", "")).partition(":")[0]) == "file"


def _manager(context: Any) -> str:
    for name in _NAMES:
        with suppress(Exception):  # it is not in this version
            context._jvm.java.lang.Class.forName(name)
            return name
    raise LookupError("checkpoint: this Spark has no other way")


__all__ = ["SETTING", "quick_checkpoint", "stays_here"]
