"""recorder: a listener that adds up what it sees, to be looked at or printed."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Any

from penstock.engine.watching.observe import Observation, Reading
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.resident import by_name

_Key = tuple[str, tuple[int, ...], str]
_SUMS = ("delivered", "buffered", "errors", "seconds", "waited")


class Recorder:
    """The sums over the runs of each stream, step by step; print it to read it as a table."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: list[Observation] = []
        self._over: dict[_Key, Reading] = {}
        self.runs = 0
        """How many runs have begun."""
        self.failures: list[BaseException] = []
        """The errors that ended runs, in the order in which they came."""

    def started(self, run: Observation, /) -> None:
        """Take a run in."""
        with self._lock:
            self.runs += 1
            self._running.append(run)

    def progressed(self, run: Observation, /) -> None:
        """Do nothing: runs are read when the user looks at the numbers.

        Args:
            run: The run that goes on.
        """

    def ended(self, run: Observation, /) -> None:
        """Keep the numbers of a run and let it go."""
        with self._lock:
            if run in self._running:
                self._running.remove(run)
            _add(self._over, run)
            if run.error is not None:
                self.failures.append(run.error.with_traceback(None))  # its frames would keep the run alive

    def readings(self) -> dict[str, tuple[Reading, ...]]:
        """Return what is known of every step by the text of its stream, runs under way included."""
        with self._lock:
            totals = dict(self._over)
            for run in self._running:
                _add(totals, run)
        found: dict[str, list[Reading]] = {}
        for (chain, _, _), reading in totals.items():
            found.setdefault(chain, []).append(reading)
        return {chain: tuple(readings) for chain, readings in found.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name(self)

    def __str__(self) -> str:
        parts: list[str] = []
        for chain, readings in self.readings().items():
            rows: list[tuple[str, ...]] = [
                ("step", "requested", "delivered", "buffered", "errors", "seconds", "waited")
            ]
            rows.extend(_row(reading) for reading in readings)
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            parts.append(chain)
            parts.extend("  " + "  ".join(_cells(row, widths)).rstrip() for row in rows)
        return "\n".join(parts)


def _add(totals: dict[_Key, Reading], run: Observation) -> None:
    chain = run.chain
    for reading in run.readings():
        key = (chain, reading.place, reading.step)
        known = totals.get(key)
        totals[key] = reading if known is None else _sum(known, reading)


def _sum(a: Reading, b: Reading) -> Reading:
    return replace(
        a,
        requested=min(a.requested + b.requested, UNBOUNDED),
        bound=b.bound if a.bound is None else a.bound + (b.bound or 0),
        **{name: getattr(a, name) + getattr(b, name) for name in _SUMS},
    )


def _row(reading: Reading) -> tuple[str, ...]:
    inner = "  " * (len(reading.place) // 2)
    asked = "all" if reading.requested >= UNBOUNDED else str(reading.requested)
    counts = (str(reading.delivered), str(reading.buffered), str(reading.errors))
    return (f"{inner}{reading.step}", asked, *counts, f"{reading.seconds:.3f}", f"{reading.waited:.3f}")


def _cells(row: tuple[str, ...], widths: list[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
