"""query: what one query that reads a streaming DataFrame has at the gate."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from penstock.operators.resumable import OpenedRun
from penstock.spark.ingest.intake import Intake
from penstock.spark.ingest.letters import Letters
from penstock.spark.ingest.supply import Place, Supply
from penstock.spark.ingest.together import Together


@dataclass(slots=True)
class FrameQuery:
    """One query: its rows, those that did not fit, and what it tells the stream."""

    intake: Intake
    letters: Letters | None
    supply: Supply | None
    told: int
    """The row up to which the stream was told that Spark has committed it."""
    together: Together
    opened: OpenedRun | None = None
    """What is told, where the stream has a connection for each run; it is closed with the query."""
    ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def commit(self, row: int, place: Place | None) -> None:
        """Tell the stream, once, and never less than before."""
        if self.supply is not None and place is not None and row > self.told:
            self.told = row
            self.supply.commit(place, self.opened)

    def close(self) -> None:
        """Let go of the stream, once: with the run, or when the planner goes away."""
        with self._lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        self.intake.close()
        if self.letters is not None:
            self.letters.close()
        if self.opened is not None:
            self.opened.close()

    def wait(self) -> None:
        """Block until the stream is let go of, and raise what its last commit failed with."""
        if self.opened is not None:
            self.opened.wait()


__all__ = ["FrameQuery"]
