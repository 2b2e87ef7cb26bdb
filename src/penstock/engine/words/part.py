"""part: what penstock's own subscribers and subscriptions say to each other besides the signals of the contract.

Only a `Part` is asked for any of this. A subscriber of a user's that happens to have an attribute of the same name is
called by the four methods of its interface and in no other way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Part:
    """A subscriber or subscription of the engine."""

    __slots__ = ()
    height: int = 0
    """How many parts a signal given to this subscriber passes in one call."""
    on_chunk: Any = None
    """What takes several elements in one call, each of them asked for; None if it takes them one by one."""

    def pending(self) -> int:
        """Return how many elements wait here, for those who listen; they ask from any thread."""
        return 0

    def most_pending(self) -> int | None:
        """Return how many elements may wait here at most, for those who listen; None if nothing here says so."""
        return None

    def gone(self) -> None:
        """Be told that nothing will be signalled any more, not even an end."""

    def stand_aside(self) -> object:
        """Return the subscriber behind, and be over, if all that is done here is to pass signals on; else itself."""
        return self


def height_of(subscriber: object) -> int:
    """Return how many parts a signal given to this subscriber passes in one call."""
    return subscriber.height if isinstance(subscriber, Part) else 0


def chunks_of(subscriber: object) -> Callable[[list[Any]], None] | None:
    """Return what takes several elements in one call, or None."""
    return subscriber.on_chunk if isinstance(subscriber, Part) else None
