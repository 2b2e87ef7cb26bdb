"""chains: steps that see each element alone, to be put together at random and run here and on executors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from penstock import Flow, Stream, flow


async def slowly(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


STEPS: dict[str, Callable[[Stream[int]], Stream[int]]] = {
    "map": lambda s: s.map(lambda n: 3 * n + 1),
    "negate": lambda s: s.map(lambda n: -n),
    "filter": lambda s: s.filter(lambda n: n % 3 != 0),
    "reject": lambda s: s.filter(lambda n: n < 0),
    "flat_map": lambda s: s.flat_map(lambda n: range(n % 4)),
    "publishers": lambda s: s.flat_map(lambda n: Stream.just(n, -n), concurrency=1),
    "flatten": lambda s: s.map(lambda n: [n] * (n % 3)).flatten(),
    "tap": lambda s: s.tap(lambda n: None),
    "map_async": lambda s: s.map_async(slowly, concurrency=4),
    "unordered": lambda s: s.map_async(slowly, concurrency=2, ordered=False),
}


def chained(names: Sequence[str]) -> Flow[tuple[int], int]:
    """Record the Flow of these steps over rows of one number."""

    @flow
    def made(rows: Stream[tuple[int]]) -> Stream[int]:
        stream = rows.map(lambda row: row[0])
        for name in names:
            stream = STEPS[name](stream)
        return stream

    return made
