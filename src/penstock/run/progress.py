"""progress: how far a run is, as a value and as a stream of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol

from penstock.engine.grounds.outlet import Outlet
from penstock.engine.places.clocks import Clock
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source


@dataclass(frozen=True, slots=True)
class PlannedProgress:
    """How far one part of a plan is; what cannot be known of it is None."""

    part: int
    """The place of the part in the plan."""
    rows: int
    """Rows that it has given, or for an end that have come to it."""
    demand: int | None = None
    """Rows that it was asked for and has not given."""
    held: int | None = None
    """Rows that it gave and that Spark has not processed."""
    bound: int | None = None
    """How many rows may be held at most."""


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """What Spark says of one of its queries."""

    name: str
    batches: int
    """How many micro-batches there were."""
    batch: int
    """The number of the last micro-batch."""
    batch_seconds: float
    """How long the last micro-batch took."""
    rows: int
    """Rows of the last micro-batch."""
    rows_per_second: float
    """Rows that Spark processes per second, by its own account."""
    state_rows: int | None = None
    """Rows that Spark keeps as state; None if no operator keeps any."""
    watermark: str | None = None
    """The watermark, as Spark writes it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is; what cannot be known of it is None."""

    rows_in: int = 0
    """Rows that came from the source."""
    rows_out: int | None = None
    """Rows that reached the end."""
    rows_per_second: float = 0.0
    """Rows from the source per second, since the report before."""
    demand: int | None = None
    """Rows that the source was asked for and has not given."""
    lag: int | None = None
    """Rows that came in and that Spark has not processed."""
    batch_seconds: float | None = None
    """How long the last micro-batch took."""
    batches: int | None = None
    """How many micro-batches there were."""
    elapsed: float = 0.0
    """Seconds since the run began."""
    done: bool = False
    """Whether this is the last report."""
    state_rows: int | None = None
    """Rows that Spark keeps as states, of all steps that remember something."""
    watermark: str | None = None
    """The event time, in ISO 8601, before which rows are late; of several queries the one that is furthest behind."""
    parts: tuple[PlannedProgress, ...] = ()
    """How far the parts of its plan are, where that is counted."""
    queries: tuple[QueryProgress, ...] = ()
    """What Spark says of each query."""
    links: tuple[tuple[str, str], ...] = ()
    """Where else the run can be looked at: names and addresses."""


class ProgressSource(Protocol):
    """The run whose progress is reported."""

    @property
    def clock(self) -> Clock:
        """Return the clock of the run."""
        ...

    def now(self) -> Progress:
        """Return how far it is."""
        ...

    def on_done(self, fn: Callable[[], None], /) -> None:
        """Call a function when it has ended, at once if it has."""
        ...


class _Reporter:
    """The reporter to one subscriber."""

    def __init__(self, run: ProgressSource, every: float, downstream: Subscriber[Any]) -> None:
        outlet = self._outlet = Outlet(downstream)
        outlet.on_close = self._closed
        self._run = run
        self._every = every
        self._lock = Lock()
        self._over = False
        self._last = Progress()
        self._call_off: Callable[[], None] | None = None

    def open(self) -> None:
        self._outlet.open()
        self._later()
        self._run.on_done(self._done)

    def _later(self) -> None:
        with self._lock:
            if not self._over and not self._outlet.closed:
                self._call_off = self._run.clock.call_later(self._every, self._tick)

    def _report(self) -> Progress:
        found, last = self._run.now(), self._last
        seconds = found.elapsed - last.elapsed
        rate = (found.rows_in - last.rows_in) / seconds if seconds > 0 else last.rows_per_second
        self._last = replace(found, rows_per_second=rate)
        return self._last

    def _tick(self) -> None:
        outlet = self._outlet
        with self._lock:
            if not self._over and outlet.demand > len(outlet.queue):  # reports that are not asked for are left out
                outlet.queue.append(self._report())
        outlet.wake()
        self._later()

    def _done(self) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
            average = self._run.now()
            rate = average.rows_in / average.elapsed if average.elapsed > 0 else 0.0
            self._outlet.queue.append(replace(average, rows_per_second=rate, done=True))
        self._outlet.complete()

    def _closed(self) -> None:
        call_off = self._call_off
        if call_off is not None:
            call_off()


@dataclass(frozen=True, slots=True, eq=False)
class Reports(Source[Progress]):
    """The progress of a run, as a source of reports.

    Emits when the time has come and downstream asks. Backpressures by leaving reports out. Completes with the run,
    after a last report, whose rate is that of the whole run. Cancels nothing but itself.
    """

    run: ProgressSource
    every: float = field(default=1.0)

    def connect(self, downstream: Subscriber[Progress], /) -> None:
        """Begin to report."""
        _Reporter(self.run, self.every, downstream).open()
