"""client_thread: a separate thread for a client whose calls block, so that a run's event loop does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class ClientThread:
    """A thread that makes one call after the other."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def do(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a call made behind those before, and wait for what it returns."""
        return await asyncio.wrap_future(self._pool.submit(fn, *args, **kwargs))

    def soon(self, fn: Callable[[], object]) -> None:
        """Have a call made behind those before; does not wait."""
        self._pool.submit(fn)

    def end(self, *last: Callable[[], object]) -> None:
        """Have some last calls made, and let the thread go behind them; does not wait."""
        for call in last:
            self._pool.submit(call)
        self._pool.shutdown(wait=False)


__all__ = ["ClientThread"]
