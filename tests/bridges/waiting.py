"""waiting: let other tasks run until something is so, on asyncio and on trio, with a bound and without luck."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from tests.engine.watch import PATIENCE


async def until(reached: Callable[[], object]) -> None:
    """Look again and again, since what is waited for has no event of its own."""
    with anyio.fail_after(PATIENCE):
        while not reached():
            await anyio.sleep(0.001)
