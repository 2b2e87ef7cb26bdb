"""part: what penstock's own subscribers and subscriptions say to each other besides the signals of the contract.

Only a `Part` is asked for any of this. A subscriber of a user's that happens to have an attribute of the same name is
called by the four methods of its interface and in no other way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Basket(Protocol):
    """A list of a subscriber's, into which elements may be put without a signal for each.

    That is for elements that the subscriber would only hold. It says for how many at a time this is so, and when it has
    ceased to be so meanwhile; the next one is signalled then.
    """

    @property
    def put(self) -> Callable[[Any], object]:
        """Return what puts an element in, which is not None; while there is room, and upstream was not left."""
        ...

    @property
    def stop(self) -> list[None]:
        """Return what is not empty when there is no room any more; who puts elements in may put something there, too.

        It is emptied when it is asked for room.
        """
        ...

    def room(self, most: int, /) -> int:
        """Return how many elements may be put in now, 0 if the next one is to be signalled."""
        ...

    def filled(self) -> int:
        """Be told that no more are put in, each time that there was room; return how many were."""
        ...


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

    def basket(self) -> Basket | None:
        """Return where elements may be put without a signal for each; None if each is to be signalled."""
        return None

    def stand_aside(self) -> object:
        """Return the subscriber behind, and be over, if all that is done here is to pass signals on; else itself."""
        return self


def height_of(subscriber: object) -> int:
    """Return how many parts a signal given to this subscriber passes in one call."""
    return subscriber.height if isinstance(subscriber, Part) else 0


def basket_of(subscriber: object) -> Basket | None:
    """Return where elements may be put without a signal for each, or None."""
    return subscriber.basket() if isinstance(subscriber, Part) else None


def chunks_of(subscriber: object) -> Callable[[list[Any]], None] | None:
    """Return what takes several elements in one call, or None."""
    return subscriber.on_chunk if isinstance(subscriber, Part) else None
