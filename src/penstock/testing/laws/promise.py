"""promise: what an operator states beyond its model, and what follows from both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from penstock.stream import Stream

Make = Callable[[Stream[Any]], Stream[Any]]
Model = Callable[[list[Any]], list[Any]]
_MOST = 8
_LONG = 20


@dataclass(frozen=True, slots=True)
class Promise:
    """What an operator states beyond its model; without a word it keeps every law to the letter."""

    ordered: bool = True
    """The order of the results is that of the model."""
    fails: bool | Model = True
    """A failure of upstream is passed on; or a model of what comes in its place, for the elements before it; or, if
    False, nothing is said about it."""
    before: Model | None = None
    """What comes before a failure that is passed on, for the elements before it, if that is not what is sure whatever
    follows them: an operator may hold back what it knows, or give at a failure what it holds."""
    overtakes: bool = False
    """A failure may overtake results that were there before it."""
    ends: bool = False
    """It may end before its upstream does."""
    tells: bool = True
    """It tells an end of upstream that has nothing before it without being asked; one that subscribes to upstream when
    it is asked cannot."""
    knows: bool = True
    """It knows its last result by the last element of upstream."""
    shared: bool = False
    """Subscribers share one run of upstream."""
    eager: bool = False
    """It asks for everything when it is subscribed to."""
    runs: int = 1
    """How many runs of upstream it opens."""
    ahead: int = 0
    """How many elements it reads beyond those that the requested results need."""
    reads: Callable[[int], int] | None = None
    """How many elements of upstream may be on their way when so many results are wanted, if these may turn out to need
    fewer; for a stage its `demand`."""


def modelled(model: Model, items: Sequence[Any]) -> list[Any]:
    """Return what a model makes of elements, and refuse what cannot be one."""
    made: object = model(list(items))
    if not isinstance(made, Iterable):
        raise TypeError(f"model must return a list, got {made!r:.100}")
    return list(made)


class Expected:
    """What a model says about elements of which more may follow.

    A result is produced by some elements if it is there whatever follows them. What may follow is made of a `pool` of
    elements that differ.
    """

    def __init__(self, model: Model, promise: Promise, pool: Sequence[Any]) -> None:
        self._model = model
        self._ordered = promise.ordered
        self._ends = promise.ends
        self._before = promise.before
        random = Random(1)
        repeated = [[one] * count for one in pool for count in (1, 2)]
        self._longest = random.choices(pool, k=_LONG)
        self._rests = [*repeated, *(random.choices(pool, k=count) for count in (3, 4, 7)), self._longest]
        self._found: dict[str, list[Any]] = {}

    def of(self, items: Sequence[Any]) -> list[Any]:
        """Return all results."""
        return modelled(self._model, items)

    def produced(self, items: Sequence[Any]) -> list[Any]:
        """Return the results that are there before the end of upstream is known."""
        if self._before is not None:
            return self._before(list(items))
        known = repr(items)
        if known not in self._found:
            rows = [self.of(items), *(self.of([*items, *rest]) for rest in self._rests)]
            self._found[known] = self._in_common(rows)
        return list(self._found[known])

    def _in_common(self, rows: list[list[Any]]) -> list[Any]:
        if self._ordered:
            common: list[Any] = []
            for column in zip(*rows, strict=False):
                if any(one != column[0] for one in column):
                    break
                common.append(column[0])
            return common
        counts = Counter(map(repr, rows[0]))
        for row in rows[1:]:
            counts &= Counter(map(repr, row))
        names = {repr(one): one for one in rows[0]}
        return [names[name] for name in counts.elements()]

    def settled(self, items: Sequence[Any]) -> bool:
        """Tell whether an operator that may end early has ended with these elements."""
        return self._ends and all(self.of([*items, *rest]) == self.of(items) for rest in self._rests)

    def needed(self, items: Sequence[Any], count: int) -> int:
        """Return how many elements have to be read for so many results, or for the end if there are fewer."""
        for place in range(len(items) + 1):
            if len(self.produced(items[:place])) >= count or self.settled(items[:place]):
                return place
        return len(items)

    def needed_at_most(self, items: Sequence[Any], count: int) -> int:
        """Return how many elements may have to be asked for, since it is not known what follows."""
        return max(self.needed(items, count), self.needed([*items, *self._longest], count))

    def same(self, found: list[Any], wanted: list[Any]) -> bool:
        """Tell whether results are those that were expected."""
        return found == wanted if self._ordered else Counter(map(repr, found)) == Counter(map(repr, wanted))

    def among(self, found: list[Any], wanted: list[Any]) -> bool:
        """Tell whether results are the first of those that were expected, or some of them where order is no matter."""
        if self._ordered:
            return found == wanted[: len(found)]
        return not Counter(map(repr, found)) - Counter(map(repr, wanted))


def differing(elements: list[Any]) -> list[Any]:
    """Return a few elements that differ, in the order in which they came."""
    return list({repr(one): one for one in elements}.values())[:_MOST]
