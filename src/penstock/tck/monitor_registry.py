"""monitor_registry: which subscribers and subscriptions the monitors of a process have met, by identity."""

from __future__ import annotations

import threading
import weakref


class Known:
    """A set of objects by identity that does not keep them alive; objects without weak references stay unknown."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a collection may call _forget from anywhere, add included
        self._things: dict[int, weakref.ref[object]] = {}

    def add(self, thing: object) -> bool:
        """Remember `thing`; tell whether it was new."""
        key = id(thing)
        with self._lock:
            known = self._things.get(key)
            if known is not None and known() is thing:
                return False
            try:
                self._things[key] = weakref.ref(thing, lambda gone: self._forget(key, gone))
            except TypeError:
                return True
        return True

    def remove(self, thing: object) -> None:
        """Forget `thing`."""
        with self._lock:
            self._things.pop(id(thing), None)

    def _forget(self, key: int, gone: weakref.ref[object]) -> None:
        with self._lock:
            if self._things.get(key) is gone:
                del self._things[key]


BUSY_SUBSCRIBERS = Known()
SEEN_SUBSCRIBERS = Known()
LIVE_SUBSCRIPTIONS = Known()
