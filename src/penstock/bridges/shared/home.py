"""home: which event loop something belongs to that was handed over."""

from __future__ import annotations

from collections.abc import Callable

from penstock.engine.places.event_loops import loop_here


class Home:
    """The event loop on which something was handed over, which is the only one that may use it."""

    __slots__ = ("_loop", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._loop = loop_here()

    @property
    def here(self) -> bool:
        """Tell whether this is the loop, or none was running then."""
        return self._loop is None or self._loop.here

    def call(self, fn: Callable[[], object]) -> None:
        """Call a function on that loop: at once if this is it, else soon."""
        if self._loop is None or self._loop.here:
            fn()
        else:
            self._loop.call(fn)

    def look(self) -> None:
        """Refuse to go on elsewhere: what belongs to one event loop is not safe on another."""
        if not self.here:
            raise RuntimeError(
                f"{self._what} belongs to the event loop on which it was given; use `async for` or `await` there"
            )
