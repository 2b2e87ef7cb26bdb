"""functions: what every contender calls, so that only the plumbing differs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence


def step(x: int) -> int:
    return x + 1


def wanted(x: int) -> bool:
    return x % 3 != 0


def double(x: int) -> int:
    return x * 2


def spread(x: int) -> range:
    return range(x, x + 10)


def digest(window: Sequence[int]) -> int:
    return window[0] * len(window) + window[-1]


def product(pair: tuple[int, int]) -> int:
    return pair[0] * pair[1]


async def numbers(count: int, start: int = 0) -> AsyncIterator[int]:
    for x in range(start, start + count):
        yield x
