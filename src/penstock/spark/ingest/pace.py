"""pace: how many rows a micro-batch may have, so that it takes about as long as it should.

A micro-batch costs something however few rows it has: planning, tasks, a commit, state. What goes by until its rows
are read is its own; of the rest it is told apart from two micro-batches of different sizes what the rows cost. Where
its own cost takes more than half of the wanted time, fewer rows would only make it run more often; then a micro-batch
may take twice its own cost, so that at least half of the time goes to rows.
"""

from __future__ import annotations

from penstock.engine.places.clocks import Clock

SMALLEST = 100
"""Rows below which a micro-batch is not made smaller, however long it takes."""
STEP = 4
"""The most by which one micro-batch makes the next smaller: it may have been slow for another reason."""
STRIDE = 8
"""The most by which one micro-batch makes the next larger, as far as that is by an estimate of what is its own."""
LEAP = 32
"""The same where even all the time after its rows were read would be theirs."""
APART = 1.25
"""By how much the sizes of two micro-batches must differ to tell anything; so every change is at least that large."""


class Pace:
    """The number of rows that a micro-batch may have, chosen so that it takes about `latency` seconds."""

    def __init__(self, latency: float, start: int, clock: Clock) -> None:
        self._latency = latency
        self._clock = clock
        self.limit = start
        self._began: tuple[float, int] | None = None
        self._before: float | None = None
        """Seconds from the beginning of the micro-batch that runs until its rows were read."""
        self._usual: float | None = None
        """The same, of those before."""
        self._cold = True
        self._last: tuple[int, float] | None = None
        """Rows of the micro-batch before, and seconds from the first that was read."""
        self._other: tuple[int, float] | None = None
        """The latest that was of another size than that."""
        self._own = 0.0

    def began(self, rows: int) -> None:
        """Note that a micro-batch begins."""
        self._began, self._before = (self._clock.now(), rows), None

    def reading(self) -> None:
        """Note that rows of the micro-batch are read; those that are read later change nothing."""
        if self._began is not None and self._before is None:
            self._before = self._clock.now() - self._began[0]

    def ended(self) -> None:
        """Note that Spark is back for more."""
        if self._began is None:
            return
        since, rows = self._began
        self._began = None
        before = self._before or 0.0
        took = self._clock.now() - since - before
        if self._cold:
            # The first one also tells how long Spark takes to warm up: rows may cost less than it says, and not more.
            self._cold = False
            self._grow(rows, took, took, self._latency)
            return
        # One may have been planned slowly for another reason.
        self._usual = before if self._usual is None else min(before, 2 * self._usual)
        later = self._later_cost(rows, took)
        own = self._usual + later
        spent, meant = took - later, max(self._latency, 2 * own) - own
        if spent > meant:
            fewer = min(int(self.limit / APART), int(rows * meant / spent))
            self.limit = max(fewer, self.limit // STEP, min(self.limit, SMALLEST))
        else:
            self._grow(rows, spent, took, meant)

    def _grow(self, rows: int, spent: float, took: float, meant: float) -> None:
        """Allow more rows where as many as were allowed took much less than they may: `spent`, and `took` at most."""
        if rows >= self.limit and APART * spent <= meant:
            estimated = meant / spent if spent else STRIDE
            certain = meant / took if took else LEAP
            self.limit = int(self.limit * max(min(STRIDE, estimated), min(LEAP, certain)))

    def _later_cost(self, rows: int, took: float) -> float:
        """Return the seconds of those that it would have taken without rows; 0 as long as nothing tells."""
        if self._last is not None and _apart(rows, self._last[0]):
            self._other = self._last
        self._last = (rows, took)
        if self._other is not None and _apart(rows, self._other[0]):
            per_row = (took - self._other[1]) / (rows - self._other[0])
            # Where more rows took less time, one of the two was slow for another reason.
            self._own = max(0.0, took - rows * per_row) if per_row > 0 else min(took, self._other[1])
        return min(self._own, took)


def _apart(one: int, two: int) -> bool:
    return max(one, two) >= APART * min(one, two)


__all__ = ["SMALLEST", "Pace"]
