"""told: a failure that several subscribers are told of; it is lost only if none of them hears it."""

from __future__ import annotations

from threading import Lock

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.seat import Seat


class FailureWord:
    """The word of a failure that goes to several subscribers; if none of them hears it, it goes to the hook."""

    __slots__ = ("_lock", "_waiting", "heard")

    def __init__(self, waiting: int = 0) -> None:
        self._lock = Lock()
        self._waiting = waiting
        """How many are still to be told."""
        self.heard = False

    def to_one_more(self) -> None:
        """Count one who is to be told."""
        with self._lock:
            self._waiting += 1

    def told(self, error: Exception, *, heard: bool) -> None:
        """Know that one of them was told, or has cancelled before."""
        with self._lock:
            self._waiting -= 1
            self.heard = self.heard or heard
            lost = not self._waiting and not self.heard
        if lost:
            too_late(error)


class ToldSeat(Seat):
    """A seat that says whether its subscriber heard of a failure that others are told of as well."""

    __slots__ = ("word",)

    def __init__(self) -> None:
        super().__init__()
        self.word: FailureWord | None = None
        """What counts those who are told; None if no others are."""

    def unheard(self, error: Exception) -> None:
        """Leave the failure to those who hear it."""
        if self.word is None:
            super().unheard(error)
        else:
            self.word.told(error, heard=False)

    def _end(self) -> None:
        error = None if self._cancelled else self._error
        super()._end()
        if error is not None and self.word is not None:
            self.word.told(error, heard=True)
