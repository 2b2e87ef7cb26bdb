"""watch: the listener of a page: it knows the runs that are shown, and reads them when told."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import time
from typing import Any

from penstock.engine.watching.observe import Observation
from penstock.engine.weaving.blame import notes_of, text_of
from penstock.errors import RunCancelledError
from penstock.page.history import History
from penstock.page.shown import ShownRun
from penstock.run import Run
from penstock.run.progress import Reports
from penstock.run.watchers import RunPart, current_run

MOST_SHOWN = 8
"""How many runs are shown at a time; of more, those under way and the latest."""


class PageWatch:
    """The runs of a page; it is told of them on their threads, and reads them on the page's."""

    def __init__(self, history: History, calendar: Callable[[], float] = time) -> None:
        self.history = history
        self._calendar = calendar
        self._lock = Lock()
        self._shown: list[ShownRun] = []
        self._told: dict[str, str] = {}
        self._begun = 0

    # What runs and listeners say.

    def add(self, run: Run[Any]) -> None:
        """Show a pipeline that runs."""
        with self._lock:
            if all(each.run is not run for each in self._shown):
                self._new(run)

    def started(self, run: Observation, /) -> None:
        """Show a stream that runs, with the pipeline that it is a part of; reports of progress are left out."""
        if isinstance(run.source, Reports):
            return  # they tell of runs that are shown
        handle = run.part.run if isinstance(run.part, RunPart) else current_run()
        with self._lock:
            found = next((each for each in self._shown if each.takes(run, handle)), None)
            (found or self._new(None)).observations.append(run)

    def progressed(self, run: Observation, /) -> None:
        """Do nothing: runs are read by the page's own clock."""

    def ended(self, run: Observation, /) -> None:
        """Keep the error while it is there."""
        if run.error is not None:
            self._trouble(self._of(run), run.error)

    def _of(self, run: Observation) -> ShownRun | None:
        with self._lock:
            return next((each for each in self._shown if run in each.observations), None)

    def _new(self, run: Run[Any] | None) -> ShownRun:
        """Show one more; under the lock."""
        self._begun += 1
        shown = ShownRun(f"r{self._begun}", run)
        self._shown.append(shown)
        if len(self._shown) > MOST_SHOWN:
            self._shown.remove(next((each for each in self._shown if each.over), self._shown[0]))
        return shown

    # What the page asks for.

    def look(self, now: float) -> None:
        """Read every run, at a moment by a steady clock, and keep what is seen."""
        with self._lock:
            shown = [each for each in self._shown if each.run is not None or each.observations]
        found = []
        for each in shown:
            was_over = each.over
            found.append(each.picture(now))
            if not was_over:
                self._look_for_trouble(each)
        self.history.add(self._calendar(), found)

    def _look_for_trouble(self, shown: ShownRun) -> None:
        for run in tuple(shown.observations):
            error = run.error
            if error is not None:
                self._trouble(shown, error)
        run_failed = None if shown.run is None or not shown.run.done else shown.run.failure
        if run_failed is not None and not isinstance(run_failed, RunCancelledError):
            self._trouble(shown, run_failed)

    def _trouble(self, shown: ShownRun | None, error: BaseException) -> None:
        """Keep an error as text, once in a row."""
        key = "" if shown is None else shown.key
        text = text_of(error)
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        with self._lock:
            if self._told.get(key) == what:
                return
            self._told[key] = what
        self.history.trouble(self._calendar(), key, what, tuple(notes_of(error)))

    def stop(self, key: str) -> bool:
        """Stop a run; tell whether there is such a one."""
        found = self._found(key)
        if found is not None:
            found.stop()
        return found is not None

    def cancel(self, key: str) -> bool:
        """Cancel a run; tell whether there is such a one."""
        found = self._found(key)
        if found is not None:
            found.cancel()
        return found is not None

    def _found(self, key: str) -> ShownRun | None:
        with self._lock:
            return next((each for each in self._shown if each.key == key and each.run is not None), None)
