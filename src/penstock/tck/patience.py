"""patience: seconds that pass as they do for this process.

A subject that gets a tenth of a busy machine has ten times as long, and one that is held up together with the whole
process, by a collection of many objects or a suspended computer, is not blamed for it: who waits does so in turns, and
a turn counts for as long as the process ran in it, but for no more than a turn, and no less than a tenth of it: a
subject that looks now and then whether it may go on runs a little, for ever. One in which it hardly ran counts in full,
for then everybody waits; unless even who waits was woken late, and all had to stand in line.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_TURNS = 20
_SHORTEST = 0.001
_AT_REST = 0.0003  # seconds in a turn that waiting itself may take
_LEAST = 0.1  # of a turn that it counts for


class Patience:
    """A wait for something until so many seconds have passed."""

    def __init__(self, seconds: float) -> None:
        self._turn = max(seconds / _TURNS, _SHORTEST)
        self._passed = 0.0  # counted by who waits, and `_until` set by any thread
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        """Begin anew, also while another thread waits."""
        self._until = self._passed + seconds

    def wait(self, wait: Callable[[float], bool]) -> bool:
        """Call `wait` with the seconds of a turn until it is true or the time is over; tell which."""
        turn = self._turn
        while self._passed < self._until:
            began, before = time.monotonic(), time.process_time()
            if wait(turn):
                return True
            ran = time.process_time() - before
            if max(turn / 50, _AT_REST) < ran < turn:
                self._passed += max(ran, turn * _LEAST)
            else:
                self._passed += turn if time.monotonic() - began < 2 * turn else turn * _LEAST
        return wait(0)
