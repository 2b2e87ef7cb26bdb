"""pieces: which of a run of stages fit into one loop."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.stage import Body

MOST_STAGES = 250  # keeps one function's text and arguments within reason
MOST_LOOPS = 8  # CPython refuses more than 20 nested blocks
MOST_TAILS = 4  # each tail, and each head, repeats the text of all stages after it


def pieces(bodies: Sequence[Body], most_loops: int = MOST_LOOPS) -> list[tuple[int, int]]:
    """Cut a run of bodies into ranges that each fit into one loop."""
    cuts: list[tuple[int, int]] = []
    start = loops = tails = 0
    for index, body in enumerate(bodies):
        too_deep = body.each is not None and loops == most_loops
        leaves_nested = body.ends is not None and loops > 0
        # A tail is written after the outermost loop, where an inner loop's variables would repeat it.
        adds = body.tail is not None or body.head is not None
        if too_deep or leaves_nested or index - start == MOST_STAGES or (adds and tails == MOST_TAILS):
            cuts.append((start, index))
            start, loops, tails = index, 0, 0
        loops += body.each is not None
        tails += adds
    cuts.append((start, len(bodies)))
    return cuts
