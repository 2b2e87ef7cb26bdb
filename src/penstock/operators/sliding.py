"""sliding: emit a window that moves over the elements.

Group: collect
Marble: a.sliding(3) over -1--2--3--4|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Stage

T = TypeVar("T")

_OVERLAPPING = Body(
    "{items}.append(v)\nif len({items}) < {count}: skip\nv = tuple({items})\ndel {items}[:{step}]",
    state=(("items", "[]"),),
    lacks="{count} - len({items})",
)
_APART = Body(
    "if {left}:\n    {left} -= 1\n    skip\n"
    "{items}.append(v)\nif len({items}) < {count}: skip\nv = tuple({items})\n{items}.clear()\n{left} = {gap}",
    state=(("items", "[]"), ("left", "0")),
    lacks="{left} + {count} - len({items})",
)


@dataclass(frozen=True, slots=True)
class Sliding(Stage[T, tuple[T, ...]]):
    """Emit tuples of `count` neighbours, one beginning every `step` elements; what does not fill one is left out.

    Emits when a window is full. Backpressures when downstream does; it holds fewer than `count` elements. Completes
    when upstream completes. Cancels when downstream cancels.
    """

    count: int
    step: int = 1
    loops = (_OVERLAPPING, _APART)

    def __post_init__(self) -> None:
        count_given("sliding", "count", self.count, 1)
        count_given("sliding", "step", self.step, 1)

    @property
    def body(self) -> Body:
        """Keep what the next window begins with, or leave out what is between two windows."""
        return _APART if self.gap > 0 else _OVERLAPPING

    @property
    def gap(self) -> int:
        """Return how many elements are between two windows; below 0 how many they share."""
        return self.step - self.count

    def demand(self, n: int) -> int:
        """Ask for whole steps, and not for what comes after the last window."""
        return min(n * self.step - max(self.gap, 0), UNBOUNDED)
