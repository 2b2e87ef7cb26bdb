"""door: where the readers of a partitioned stream tell how far their parts are, and its planner hears of it.

It has no rows, only positions. Each query that reads the DataFrame is a separate run, which ends when the process that
plans it goes away; a reader that tells something after that is told that it is over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.spark.wire.gate import DoorCall, GateError, Message, whole

MOST_REPORTS = 5000
"""Reports in one answer."""
GATHER = 0.01
"""Seconds that a report waits for others."""


class _Reports:
    """What was told of the parts of one run and was not heard yet."""

    def __init__(self) -> None:
        self.by_part: dict[str, Message] = {}


def _merged(old: Message | None, new: Message) -> Message:
    """Keep the farther of two reports; one of a task also says how long its rows took."""
    if old is None:
        return new
    far = new if new["row"] >= old["row"] else old
    paced = new if "rows" in new else old
    return {**far, **{name: paced[name] for name in ("rows", "seconds") if name in paced}}


class PartsDoor:
    """The door of one partitioned stream."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._runs: dict[str, _Reports] = {}
        self._closed = False
        self._idle: Callable[[], None] | None = None

    def retire(self, idle: Callable[[], None]) -> None:
        """Call `idle` once no query reads here any more; none will begin."""
        with self._changed:
            self._idle = idle
            now = not self._runs
        if now:
            idle()

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        """Hear a reader, or answer a planner."""
        run = str(body.get("run"))
        if verb == "begin":
            with self._changed:
                self._runs.setdefault(run, _Reports())
            return {}
        if verb == "tell":
            return {"heard": self._tell(run, body)}
        if verb == "hear":
            return {"reports": self._hear(run, float(body.get("seconds", 0.0)))}
        if verb == "lease":
            return self._lease(call, run)
        raise GateError(f"partitioned: unknown verb {verb!r}")

    def _tell(self, run: str, body: Message) -> bool:
        part = str(body.get("part"))
        report = {"part": part, "row": whole(body, "row"), "ended": bool(body.get("ended"))}
        report["failed"] = bool(body.get("failed"))
        if "rows" in body:
            report |= {"rows": whole(body, "rows"), "seconds": float(body["seconds"])}
        with self._changed:
            if self._closed or run not in self._runs:
                return False
            by_part = self._runs[run].by_part
            by_part[part] = _merged(by_part.get(part), report)
            self._changed.notify_all()
        return True

    def _hear(self, run: str, seconds: float) -> list[Message]:
        with self._changed:
            reports = self._runs.setdefault(run, _Reports()).by_part
            if not reports and seconds:
                self._changed.wait_for(lambda: reports or self._closed, seconds)
                if reports:
                    self._changed.wait(GATHER)
            if self._closed:
                raise GateError("partitioned: the Spark session was closed")
            return [reports.pop(key) for key in list(reports)[:MOST_REPORTS]]

    def _lease(self, call: DoorCall, run: str) -> Message:
        """Stay until the planner goes away, then forget its run."""
        with self._changed:
            while not self._closed and not call.gone():
                self._changed.wait(0.1)
            self._runs.pop(run, None)
            idle = None if self._runs else self._idle
        if idle is not None:
            idle()
        return {}

    def get(self, body: Message, /) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Refuse: the rows are on the executors."""
        raise GateError("partitioned: there is nothing to read here")

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        """Refuse: the rows stay on the executors."""
        raise GateError("partitioned: nothing is to be written here")

    def close(self) -> None:
        """End all runs."""
        with self._changed:
            self._closed = True
            self._runs.clear()
            self._changed.notify_all()


__all__ = ["PartsDoor"]
