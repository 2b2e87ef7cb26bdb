"""credit: how much to ask of upstream by a joint that holds elements for a while.

What was asked for and has not come (`owed`) and what has come and has not been let go of (`held`) are together never
more than `size`, and never more than is asked for below. The joint asks when something is asked for below, when
something was let go of, and when nothing is owed any more. The joint also guards the credit with a lock.
"""

from __future__ import annotations


class Credit:
    """The counts of what is owed and held."""

    __slots__ = ("_half", "_size", "held", "owed")

    def __init__(self, size: int) -> None:
        self._size = size
        self._half = (size + 1) // 2
        self.owed = 0
        self.held = 0

    def arrived(self, count: int = 1) -> None:
        """Count elements as come; a publisher that sends more than it was asked for gains nothing by it."""
        self.owed = max(0, self.owed - count)
        self.held += count

    def ask(self, demand: int) -> int:
        """Return how much to ask for when `demand` is open below, and count it as owed."""
        wanted = min(demand, self._size) - self.owed - self.held
        # Within a window that is not used up, wait until half of it is free: requests are not for free.
        if wanted <= 0 or (self.owed and demand > self._size and wanted < self._half):
            return 0
        self.owed += wanted
        return wanted
