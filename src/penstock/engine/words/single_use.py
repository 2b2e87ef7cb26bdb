"""single_use: let one-shot iterators be taken by one subscriber only."""

from __future__ import annotations

from threading import Lock

from penstock.errors import PenstockError


class SingleUse:
    """A note that something was taken."""

    __slots__ = ("_lock", "_taken")

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = False

    def first(self) -> bool:
        """Take it; tell whether it was there."""
        with self._lock:
            taken, self._taken = self._taken, True
        return not taken

    def take(self, what: str, cure: str = "pass a collection, or make one per run with Stream.defer") -> None:
        """Take it, or say that it is gone and what to do instead."""
        if not self.first():
            raise PenstockError(f"{what} was taken by an earlier subscriber; {cure}")

    def __reduce__(self) -> tuple[type[SingleUse], tuple[()]]:
        return (SingleUse, ())
