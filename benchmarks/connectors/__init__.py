"""connectors: each source and sink against the best loop over the same client, on servers that are started for it.

Both run in turn, several times. A ratio is the median of the ratios of the pairs, of the processor's time in this
process and of the time on the wall: the first says what penstock adds even where other programs run beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def pairs(by_hand: Callable[[], Any], by_penstock: Callable[[], Any], rounds: int = 5) -> str:
    """Return the ratios of two functions that give the same, as text."""
    processor, wall = [], []
    for turn in range(rounds):
        taken = {}
        for fn in (by_hand, by_penstock) if turn % 2 else (by_penstock, by_hand):
            begun, clock = time.process_time(), time.perf_counter()
            fn()
            taken[fn] = time.process_time() - begun, time.perf_counter() - clock
        processor.append(taken[by_penstock][0] / taken[by_hand][0])
        wall.append(taken[by_penstock][1] / taken[by_hand][1])
    return f"{median(processor):.2f}x of the processor's time, {median(wall):.2f}x on the wall"


__all__ = ["pairs"]
