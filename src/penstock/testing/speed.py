"""speed: what an element costs in a stream, beside the loop one would write by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

from penstock.engine.words.arguments import count_given
from penstock.testing.signals import VerificationError

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Speed:
    """What one element costs in a stream and by hand, in seconds."""

    stream: float
    by_hand: float

    @property
    def ratio(self) -> float:
        """Return how many times as long the stream takes."""
        return self.stream / self.by_hand

    def __str__(self) -> str:
        return f"{self.stream * 1e9:.0f} ns an element, {self.ratio:.2f}x of the {self.by_hand * 1e9:.0f} ns by hand"


def compare_speed(
    make: Callable[[Sequence[T]], Iterable[U]],
    by_hand: Callable[[Sequence[T]], Iterable[U]],
    items: Sequence[T],
    *,
    rounds: int = 5,
) -> Speed:
    """Time both over the same items, in turns, and keep the best round of each; both must give the same.

    >>> from penstock import Stream
    >>> speed = compare_speed(
    ...     lambda xs: Stream.from_iterable(xs).map(abs), lambda xs: (abs(x) for x in xs), range(-500, 500)
    ... )
    >>> speed.ratio > 0
    True
    """
    count_given("compare_speed", "rounds", rounds, 1)
    if not items:
        raise ValueError("compare_speed: items must hold at least one item, got none")
    ours, theirs = list(make(items)), list(by_hand(items))
    if ours != theirs:
        at = next((n for n, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
        where = (
            f"{len(ours)} and {len(theirs)} results" if at is None else f"result {at} is {ours[at]} and {theirs[at]}"
        )
        raise VerificationError(f"compare_speed: the stream and the loop by hand differ: {where}")
    best = [_timed(each, items) for each in (make, by_hand)]
    for _ in range(rounds - 1):
        best = [min(so_far, _timed(each, items)) for so_far, each in zip(best, (make, by_hand), strict=True)]
    return Speed(*(seconds / len(items) for seconds in best))


def _timed(each: Callable[[Sequence[T]], Iterable[object]], items: Sequence[T]) -> float:
    began = perf_counter()
    deque(each(items), maxlen=0)
    return perf_counter() - began
