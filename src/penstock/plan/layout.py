"""layout: where the boxes of a drawing stand: in ranks from the top down, so that few ways cross and none hides a box.

A box stands one rank below the lowest one that it takes from. A way that passes a rank on its way down gets a place in
it, as if it were a narrow box. Each rank is ordered by what stands above and below it, a few times up and down; then
boxes move towards the middle of what they are tied to, as far as their neighbours let them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 6
_THREAD = 14.0
"""Width of the place that a way has in a rank that it passes."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box of a drawing: its size, and the numbers of the boxes that it takes from."""

    wide: float
    high: float
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of boxes, each by its middle and its top; the points of the ways between them; the size of it all."""

    middles: tuple[float, ...]
    tops: tuple[float, ...]
    ways: tuple[tuple[int, int, tuple[tuple[float, float], ...]], ...]
    """For each way the boxes at its ends and the points that it passes, its own two ends included."""
    wide: float
    high: float


def laid_out(boxes: Sequence[Box], *, across: float, down: float) -> Layout:
    """Place boxes with at least so much room between two of a rank, and between two ranks."""
    knots, ways = _knots(boxes)
    ranks = _ordered(knots)
    middles = _spread(knots, ranks, across)
    left = min(middles[at] - knots[at].wide / 2 for at in range(len(knots)))
    middles = [middle - left for middle in middles]
    tops, top = [0.0] * len(knots), 0.0
    bottoms: list[float] = []
    for rank in ranks:
        for at in rank:
            tops[at] = top
        bottoms.append(top + max(knots[at].high for at in rank))
        top = bottoms[-1] + down
    routes = tuple((path[0], path[-1], _points(path, knots, middles, tops, bottoms)) for path in ways)
    wide = max(middles[at] + knots[at].wide / 2 for at in range(len(knots)))
    return Layout(tuple(middles[: len(boxes)]), tuple(tops[: len(boxes)]), routes, wide, bottoms[-1])


@dataclass(slots=True)
class _Knot:
    """A box, or the place of a way in a rank that it passes."""

    wide: float
    high: float
    rank: int
    above: list[int]
    below: list[int]


def _knots(boxes: Sequence[Box]) -> tuple[list[_Knot], list[list[int]]]:
    """Return the boxes and the places of ways, and for each way what it leads through."""
    knots: list[_Knot] = []
    for box in boxes:  # a box stands behind those that it takes from
        rank = max((knots[each].rank + 1 for each in box.inputs), default=0)
        knots.append(_Knot(box.wide, box.high, rank, [], []))
    _lower_sources(boxes, knots)
    ways: list[list[int]] = []
    for number, box in enumerate(boxes):
        for start in box.inputs:
            path = [start]
            for rank in range(knots[start].rank + 1, knots[number].rank):
                knots.append(_Knot(_THREAD, 0.0, rank, [], []))
                path.append(len(knots) - 1)
            path.append(number)
            for one, next_one in pairwise(path):
                knots[one].below.append(next_one)
                knots[next_one].above.append(one)
            ways.append(path)
    return knots, ways


def _lower_sources(boxes: Sequence[Box], knots: list[_Knot]) -> None:
    """Let a source stand right above the first box that takes from it."""
    first: dict[int, int] = {}
    for number, box in enumerate(boxes):
        for taken in box.inputs:
            first[taken] = min(knots[number].rank, first.get(taken, knots[number].rank))
    for number, box in enumerate(boxes):
        if not box.inputs and number in first:
            knots[number].rank = first[number] - 1


def _ordered(knots: list[_Knot]) -> list[list[int]]:
    """Return the ranks, each in an order in which few ways cross."""
    ranks: list[list[int]] = [[] for _ in range(1 + max(knot.rank for knot in knots))]
    for at, knot in enumerate(knots):
        ranks[knot.rank].append(at)
    best, fewest = [list(rank) for rank in ranks], _crossings(knots, ranks)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        place = {at: number for each in ranks for number, at in enumerate(each)}

        def wish(at: int, place: dict[int, int] = place, downwards: bool = downwards) -> float:
            tied = knots[at].above if downwards else knots[at].below
            return sum(place[each] for each in tied) / len(tied) if tied else place[at]

        for rank in ranks[1:] if downwards else ranks[-2::-1]:
            rank.sort(key=wish)
            place.update({at: number for number, at in enumerate(rank)})
        found = _crossings(knots, ranks)
        if found < fewest:
            best, fewest = [list(rank) for rank in ranks], found
    return best


def _crossings(knots: list[_Knot], ranks: list[list[int]]) -> int:
    count = 0
    for upper, lower in pairwise(ranks):
        place = {at: number for number, at in enumerate(lower)}
        ends = [place[below] for at in upper for below in sorted(knots[at].below, key=lambda each: place[each])]
        count += sum(1 for one in range(len(ends)) for two in range(one + 1, len(ends)) if ends[one] > ends[two])
    return count


def _spread(knots: list[_Knot], ranks: list[list[int]], across: float) -> list[float]:
    """Return the middles of all, near to what they are tied to."""
    middles = [0.0] * len(knots)
    for rank in ranks:
        _placed(rank, dict.fromkeys(rank, 0.0), knots, middles, across)
    for sweep in range(2 * _SWEEPS):
        downwards = sweep % 2 == 0
        for rank in ranks if downwards else ranks[::-1]:
            wishes: dict[int, float] = {}
            for at in rank:
                above, below = knots[at].above, knots[at].below
                tied = [*above, *below] if sweep >= _SWEEPS else above if downwards else below
                wishes[at] = sum(middles[each] for each in tied) / len(tied) if tied else middles[at]
            _placed(rank, wishes, knots, middles, across)
    for rank in ranks:  # at last, what follows one alone stands right below it
        _placed(rank, {at: _straight(at, knots, middles) for at in rank}, knots, middles, across)
    return middles


def _straight(at: int, knots: list[_Knot], middles: list[float]) -> float:
    above = knots[at].above
    return middles[above[0]] if len(above) == 1 and len(knots[above[0]].below) == 1 else middles[at]


def _placed(rank: list[int], wishes: dict[int, float], knots: list[_Knot], middles: list[float], across: float) -> None:
    """Place a rank near to its wishes, in its order and without overlaps; those that push each other share the way."""
    groups: list[tuple[list[int], float]] = []  # neighbours that touch, and where the middle of the first wants to be
    for at in rank:
        group, start = [at], wishes[at]
        while groups:
            before, begins = groups[-1]
            offset = _offset(before + group[:1], knots, across)
            if begins + offset <= start:
                break
            groups.pop()
            weight = len(before) + len(group)
            start = (begins * len(before) + (start - offset) * len(group)) / weight
            group = before + group
        groups.append((group, start))
    for group, start in groups:
        for number, at in enumerate(group):
            middles[at] = start + _offset(group[: number + 1], knots, across)


def _offset(group: list[int], knots: list[_Knot], across: float) -> float:
    """Return how far the middle of the last is from that of the first, if all touch."""
    return sum((knots[one].wide + knots[two].wide) / 2 + across for one, two in pairwise(group))


def _points(
    path: list[int], knots: list[_Knot], middles: list[float], tops: list[float], bottoms: list[float]
) -> tuple[tuple[float, float], ...]:
    """Return the points of a way: out of a box at its bottom, past the ranks between, into another at its top."""
    first, *between, last = path
    found = [(_out(first, path[1], knots, middles), tops[first] + knots[first].high)]
    if found[0][1] < bottoms[knots[first].rank]:
        found.append((found[0][0], bottoms[knots[first].rank]))  # a higher neighbour stands beside it
    for at in between:
        found += [(middles[at], tops[at]), (middles[at], bottoms[knots[at].rank])]
    return (*found, (_into(last, path[-2], knots, middles), tops[last]))


def _out(at: int, to: int, knots: list[_Knot], middles: list[float]) -> float:
    return _share(at, knots[at].below, to, knots, middles)


def _into(at: int, of: int, knots: list[_Knot], middles: list[float]) -> float:
    return _share(at, knots[at].above, of, knots, middles)


def _share(at: int, tied: list[int], other: int, knots: list[_Knot], middles: list[float]) -> float:
    """Return where on the edge of a box one of its ways begins: side by side, in the order of their other ends."""
    order = sorted(tied, key=lambda each: middles[each])
    step = min(28.0, knots[at].wide / (len(order) + 1))
    return middles[at] + (order.index(other) - (len(order) - 1) / 2) * step


__all__ = ["Box", "Layout", "laid_out"]
