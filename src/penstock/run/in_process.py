"""in_process: the controls of a run of this process."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from penstock.engine.places.event_loops import blocking
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.watching.observe import observed
from penstock.plan import Plan
from penstock.run.carrying.committing import Committing
from penstock.run.carrying.hidden import made_first, refuse_what_is_hidden
from penstock.run.explained import explained
from penstock.run.progress import Progress
from penstock.run.result import ResultSubscriber, Settle
from penstock.run.valves.stopping import valved
from penstock.run.valves.valve import Valve
from penstock.stream import Stream


class InProcess:
    """The controls of a chain that runs in this process; `parts` are what it was composed of."""

    def __init__(self, chain: Chain, parts: tuple[Any, ...] = (), checkpoint: str | Path | None = None) -> None:
        self.chain = chain
        self._parts = parts
        self._valve = Valve()
        self._chain = valved(chain, self._valve)
        self._committing: Committing | None = None
        if checkpoint is not None or Committing.needed(chain):
            self._committing = Committing(self._chain, checkpoint)
            self._chain = self._committing.chain
        self._name = str(chain)
        self._end: ResultSubscriber | None = None
        self._over = False

    def start(self, settle: Settle, /) -> None:
        """Run it, on the thread that calls."""
        end = self._end = ResultSubscriber(self._name, settle)
        if self._over:
            end.cancel()
        refuse_what_is_hidden()
        with blocking():
            if self._committing is None:
                self._look_behind_the_first()
            if self._committing is not None:
                self._committing.on_failure(partial(self._commit_failed, settle))
            chain = observed(self._chain)
            if self._committing is not None and chain is self._chain:
                chain = self._committing.straight or chain
            connect(chain, end)

    def _look_behind_the_first(self) -> None:
        """Tell the source of a stream that is made when it is subscribed, as one that was there before."""
        self._chain = made_first(self._chain)
        if Committing.needed(self._chain):
            self._committing = Committing(self._chain)
            self._chain = self._committing.chain
            if self._over:
                self._committing.cancel()

    def _commit_failed(self, settle: Settle, error: Exception) -> None:
        settle(None, error)
        self.cancel()

    def stop(self) -> None:
        """End the source."""
        self._valve.close()

    def cancel(self) -> None:
        """Cancel the subscription."""
        self._over = True
        if self._committing is not None:
            self._committing.cancel()
        if self._end is not None:
            self._end.cancel()

    def progress(self) -> Progress:
        """Return what the valve has counted."""
        return Progress(rows_in=self._valve.rows)

    def explain(self) -> Plan:
        """Return the parts of the chain."""
        return explained((), self._parts or (Stream(self.chain),), "in this process")

    def close(self) -> None:
        """Let go of the sources that are told what is done, behind the last thing that they are told."""
        if self._committing is not None:
            self._committing.close()


__all__ = ["InProcess"]
