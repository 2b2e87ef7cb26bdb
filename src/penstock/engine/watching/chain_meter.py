"""chain_meter: what is counted and timed in the runs of one chain, while they last and when they are over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from penstock.engine.runs.chain import Chain

if TYPE_CHECKING:
    from penstock.engine.watching.observe import Observation

INTERVAL = 0.005
"""How often, in seconds, the time of an element is taken."""
MOST = 32768
"""How many elements may pass between two whose time is taken."""


def pace_after(seconds: float, count: int) -> int:
    """Return how many elements to let pass after so many that took so long together: at most four times as many."""
    most = min(4 * count, MOST)
    return most if seconds * most <= INTERVAL * count else int(INTERVAL * count / seconds)


@dataclass
class Counts:
    """The sums of what is known of one step; most of them are those of a `Reading`."""

    requested: int = 0
    delivered: int = 0
    buffered: int = 0
    errors: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    inside: float = 0.0
    """The time that was spent in what follows, when elements were passed on by signals."""
    bound: int | None = None
    """How many elements may wait there at most, where that is said."""


Read = Callable[[list[Counts]], None]
"""What adds what a part of a run has counted, from any thread."""


class Meter:
    """The sums over the parts of a chain's runs; those that are over are kept as numbers only."""

    __slots__ = ("_counts", "_lock", "_parts", "chain", "names", "place", "run")

    def __init__(self, run: Observation, chain: Chain, place: tuple[int, ...]) -> None:
        self.run = run
        self.chain = chain
        self.place = place
        self.names = chain.names()
        self._lock = Lock()
        self._counts = [Counts() for _ in range(1 + len(chain.steps))]
        self._parts: list[Read] = []

    def opened(self, part: Read) -> None:
        """Count with one part more."""
        with self._lock:
            self._parts.append(part)

    def closed(self, part: Read) -> None:
        """Keep the numbers of a part that is over."""
        with self._lock:
            if part in self._parts:
                self._parts.remove(part)
                part(self._counts)

    def failed(self, index: int) -> None:
        """Count a failure that began in a step."""
        with self._lock:
            self._counts[index].errors += 1

    def read(self) -> list[Counts]:
        """Return what has been counted of the source and of each step; in parts that are over, nothing waits."""
        with self._lock:
            counts = [Counts(**{**vars(each), "buffered": 0, "bound": None}) for each in self._counts]
            for part in self._parts:
                part(counts)
        return counts
