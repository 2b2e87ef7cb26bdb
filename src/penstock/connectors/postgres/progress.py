"""progress: how far the changes of a slot are done, as the server may be told.

The server forgets what comes before the place it is told, and sends a transaction again whose commit is at that place
or behind it. So while a transaction is under way the place is that of its commit, and its end once all its changes are
done. Where every change that came is done, the place may move on with the server's own, past what other tables wrote:
otherwise the server would keep its log for a table in which nothing happens.
"""

from __future__ import annotations

from collections import deque


class SlotProgress:
    """What came of a slot and what of it is done; `confirmed` is what the server may be told."""

    def __init__(self, confirmed: int, after: tuple[int, int] | None) -> None:
        self.confirmed = confirmed
        self._done = (confirmed, -1)  # a transaction that was committed before this place is done
        self._came = after
        self._ends: deque[tuple[tuple[int, int], int]] = deque()
        self._inside = False

    @property
    def settled(self) -> bool:
        """Tell whether everything that came is done."""
        return not self._inside and (self._came is None or self._came <= self._done)

    def began(self) -> None:
        """Take note that a transaction comes."""
        self._inside = True

    def came(self, place: tuple[int, int]) -> None:
        """Take note of a change that was given."""
        self._came = place

    def ended(self, last: tuple[int, int], end: int) -> None:
        """Take note of the end of a transaction, whose last change is at a place, or before it if it has none."""
        self._inside = False
        if last[1] < 0 and self._ends:
            last, _ = self._ends.pop()  # nothing in it to be done: what comes before it has this end, too
        if last[1] < 0 and self.settled:
            self.confirmed = max(self.confirmed, end)
            return
        self._ends.append((last, end))
        self._settle()

    def done(self, place: tuple[int, int]) -> None:
        """Take note that everything up to a change is done."""
        self._done = max(self._done, place)
        self.confirmed = max(self.confirmed, place[0])
        self._settle()

    def idle(self, end: int) -> None:
        """Take note that the server has sent everything up to a place."""
        if self.settled:
            self.confirmed = max(self.confirmed, end)

    def _settle(self) -> None:
        while self._ends and self._ends[0][0] <= self._done:
            _, end = self._ends.popleft()
            self.confirmed = max(self.confirmed, end)


__all__ = ["SlotProgress"]
