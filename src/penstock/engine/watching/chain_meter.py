"""chain_meter: what is counted and timed in the runs of one chain, while they last and when they are over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from penstock.stage import Step

INTERVAL = 0.005
"""How often, in seconds, the time of an element is taken."""
MOST = 32768
"""How many elements may pass between two whose time is taken."""


def pace_after(seconds: float, count: int) -> int:
    """Return how many elements to let pass after so many that took so long together: at most twice as many."""
    most = min(2 * count, MOST)
    return most if seconds * most <= INTERVAL * count else int(INTERVAL * count / seconds)


@dataclass(slots=True)
class Counts:
    """The sums of what is known of one step."""

    asked: int = 0
    delivered: int = 0
    buffered: int = 0
    errors: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    inside: float = 0.0
    """The time that was spent in what follows, when elements were passed on by signals."""
    bound: int | None = None
    """How many elements may wait there at most, where that is said."""


class MeteredPart(Protocol):
    """A part of a run that counts."""

    def read(self, counts: list[Counts], /) -> None:
        """Add what was counted; from any thread."""
        ...


class Listened(Protocol):
    """The run that parts belong to."""

    clock: Callable[[], float]
    cost: float
    """What it takes to read the clock."""

    def begin(self) -> None:
        """Say that it runs, once."""
        ...

    def tick(self, now: float, /) -> None:
        """Tell the listener that it goes on, if it is time to."""
        ...

    def begins(self, error: BaseException, /) -> bool:
        """Tell whether an error was not seen before."""
        ...

    def end(self, error: BaseException | None, /, *, whole: bool) -> None:
        """Say that it is over, once."""
        ...


class Meter:
    """The sums over the parts of a chain's runs; those that are over are kept as numbers only."""

    __slots__ = ("_counts", "_lock", "_parts", "run", "steps")

    def __init__(self, run: Listened, steps: tuple[Step, ...]) -> None:
        self.run = run
        self.steps = steps
        self._lock = Lock()
        self._counts = [Counts() for _ in range(1 + len(steps))]
        self._parts: list[MeteredPart] = []

    def opened(self, part: MeteredPart) -> None:
        """Count with one part more."""
        with self._lock:
            self._parts.append(part)

    def closed(self, part: MeteredPart) -> None:
        """Keep the numbers of a part that is over."""
        with self._lock:
            if part in self._parts:
                self._parts.remove(part)
                part.read(self._counts)
                for counts in self._counts:
                    counts.buffered = 0
                    counts.bound = None

    def failed(self, index: int) -> None:
        """Count a failure that began in a step."""
        with self._lock:
            self._counts[index].errors += 1

    def read(self) -> list[Counts]:
        """Return what has been counted of the source and of each step."""
        with self._lock:
            counts = [
                Counts(each.asked, each.delivered, 0, each.errors, each.seconds, each.waited, each.inside)
                for each in self._counts
            ]
            for part in self._parts:
                part.read(counts)
        return counts
