"""opened: the connection of one run, refused at once if it is none, and what its methods give to be awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from penstock.spec.predicates import missing_methods


async def opened(operator: str, open: Callable[[], Awaitable[Any]], *methods: str) -> Any:  # noqa: A002
    """Connect, and refuse what does not have the methods that it will be called by."""
    connection = await awaitable(operator, "open", open())
    missing = missing_methods(connection, methods)
    if missing:
        raise TypeError(f"{operator}: what open connects must have {' and '.join(missing)}, got {connection!r}")
    return connection


def awaitable(operator: str, method: str, given: Any) -> Awaitable[Any]:
    """Return what a call gave to be awaited, and refuse what a function that is not asynchronous gave."""
    if not hasattr(given, "__await__"):
        raise TypeError(f"{operator}: {method} must be a coroutine function, got {given!r:.100} from it")
    awaited: Awaitable[Any] = given
    return awaited


__all__ = ["awaitable", "opened"]
