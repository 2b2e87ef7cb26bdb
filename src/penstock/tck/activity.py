"""activity: where the trials of a run wait, and how fast the run has seen its subject to be.

Waiting needs no polling: every signal wakes those who wait. A subject may be as slow as it likes as long as it goes on:
patience is counted from its last signal, and what counts as quiet grows with the time that it takes to an element.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.tck.patience import Patience

_SLOWNESS = 3  # times what an element has taken, after which no other one is under way


class Activity:
    """The place where all trials of a run wait, and the speed of what they have seen."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.misses = 0
        self.waiting = 0  # the trials that wait here: each has its own bound, so they do not stand still
        self.slowest = 0.0  # seconds that an element took, in the slowest trial
        self._seconds = 0.0
        self._elements = 0

    @property
    def pace(self) -> float:
        """Return how many seconds an element has taken, in the mean of all trials."""
        return self._seconds / self._elements if self._elements else 0.0

    def pulse(self) -> None:
        """Tell everyone who waits that something happened."""
        with self.changed:
            self.changed.notify_all()

    def element_took(self, seconds: float) -> None:
        """Count an element that came so many seconds after it could."""
        self._seconds += seconds
        self._elements += 1

    def trial_took(self, seconds: float) -> None:
        """Note how long an element took in one trial, in the mean."""
        self.slowest = max(self.slowest, seconds)

    def quiet(self, quiet: float, patience: float) -> float:
        """Return how long nothing has to happen before nothing more is to be expected of this subject."""
        return max(quiet, min(patience, _SLOWNESS * self.slowest))

    def wait_until(self, holds: Callable[[], bool], patience: float, progress: Callable[[], int] = lambda: 0) -> bool:
        """Wait until `holds()`, looked at after every pulse; tell whether it came to hold.

        Patience begins anew whenever `progress()` has gone up meanwhile.
        """
        made, seen = Patience(patience), progress()

        def turn(seconds: float) -> bool:
            nonlocal seen
            came = self.changed.wait_for(holds, seconds)
            if not came and progress() != seen:
                seen = progress()
                made.renew(patience)
            return came

        with self.changed:
            self.waiting += 1
            try:
                return made.wait(turn)
            finally:
                self.waiting -= 1
