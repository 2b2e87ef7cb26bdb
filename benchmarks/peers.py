"""peers: how the peers are driven to their result, and what they hold meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

import aiostream
from reactivex import Observable

from benchmarks.workload import Bound

T = TypeVar("T")

# untyped here: it asks for functions of any number of arguments, and calls ours with the one they take
aio: Any = aiostream.stream
pipe: Any = aiostream.pipe

IN_HAND = Bound(kept=True, why="the loop holds the one element it works on")
DEMAND = Bound(kept=True, why="holds no more than was requested")
PULLED = Bound(kept=True, why="pulls one element at a time: nothing is held that was not pulled")
PUSHED = Bound(
    kept=False,
    why="pushes all it has as fast as it can: there is no demand, so elements queue without limit before a slow step",
)


def last_of(source: Observable[Any]) -> Any:
    """Subscribe on this thread and give the last value of a source that has sent all before `subscribe` returns."""
    seen: list[Any] = []
    source.subscribe(seen.append, raise_error)
    return seen[-1]


def raise_error(error: Exception) -> None:
    """Let no error of a peer go unseen."""
    raise error


def awaited(work: Awaitable[T]) -> T:
    """Run one awaitable in a loop of its own."""

    async def main() -> T:
        return await work

    return asyncio.run(main())
