"""opened: the connection of one run, refused at once if it is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from penstock.spec.predicates import missing_methods


async def opened(operator: str, open: Callable[[], Awaitable[Any]], *methods: str) -> Any:  # noqa: A002
    """Connect, and refuse what does not have the methods that it will be called by."""
    connecting = open()
    if not hasattr(connecting, "__await__"):
        raise TypeError(f"{operator}: open must be a coroutine function, got {connecting!r} from it")
    connection = await connecting
    missing = missing_methods(connection, methods)
    if missing:
        raise TypeError(f"{operator}: what open connects must have {' and '.join(missing)}, got {connection!r}")
    return connection


__all__ = ["opened"]
