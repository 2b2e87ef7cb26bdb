"""dropped: the one place for what cannot be delivered to a subscriber.

A subscriber that raises, an error after the end, a source that fails to close when it was cancelled: there is no
signal left for these, and none of them may be swallowed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from penstock.engine.words.arguments import function_given


@dataclass(frozen=True, slots=True)
class Dropped:
    """What could not be delivered: `what` in words, and the error or element itself."""

    what: str
    error: Exception | None = None
    element: object = None


Hook = Callable[[Dropped], None]

_log = logging.getLogger("penstock")


def log_dropped(dropped: Dropped) -> None:
    """Log what was dropped; the hook unless another was set."""
    if dropped.error is None:
        _log.error("%s: %r", dropped.what, dropped.element)
    else:
        _log.error("%s: %r", dropped.what, dropped.error, exc_info=dropped.error)


_hook: Hook = log_dropped


def set_on_dropped(hook: Hook | None) -> Hook:
    """Set the hook (None for the default, which logs) and return the one before."""
    global _hook  # noqa: PLW0603
    if hook is not None:
        function_given("set_on_dropped", "hook", hook)
    before = _hook
    _hook = log_dropped if hook is None else hook
    return before


def drop(what: str, error: Exception | None = None, element: object = None) -> None:
    """Hand something undeliverable to the hook; a hook that raises is logged, never passed on."""
    try:
        _hook(Dropped(what, error, element))
    except Exception as failure:  # noqa: BLE001  there is no further place to report it
        _log.error("on_dropped hook failed: %r", failure, exc_info=failure)


def attempt(what: str, call: Callable[..., object], *args: object) -> None:
    """Call something that the caller outlives; what it raises goes to the hook."""
    try:
        call(*args)
    except Exception as error:  # noqa: BLE001  whatever it is, the caller goes on
        drop(what, error)
