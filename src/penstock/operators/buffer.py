"""buffer: collect elements into lists.

Group: collect
Marble: a.buffer(2) over -1-2-3-4-5|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")

_ITEMS = ("items", "[]")
_LACKS = "{count} - len({items})"
_REST = "({items},) if {items} else ()"
_SIDE_BY_SIDE = Body(
    "{items}.append(v)\nif len({items}) < {count}: skip\nv = {items}\n{items} = []",
    state=(_ITEMS,),
    lacks=_LACKS,
    tail=_REST,
)
_APART = Body(
    "if {left}:\n    {left} -= 1\n    skip\n"
    "{items}.append(v)\nif len({items}) < {count}: skip\nv = {items}\n{items} = []\n{left} = {gap}",
    state=(_ITEMS, ("left", "0")),
    lacks="{left} + {count} - len({items})",
    tail=_REST,
)
_OVERLAPPING = Body(
    "{items}.append(v)\nif len({items}) < {count}: skip\nv = {items}\n{items} = v[{step}:]",
    state=(_ITEMS,),
    lacks=_LACKS,
    tail="{begun}({items})",
)


@dataclass(frozen=True, slots=True)
class Buffer(Stage[T, list[T]]):
    """Emit lists of `count` elements, one beginning every `step` elements; those at the end may be shorter.

    Emits when `count` elements have come, or upstream completes while elements are held. Backpressures when downstream
    does; it holds fewer than `count` elements. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    count: int
    step: int | None = None
    """How far apart the lists begin; without it as far as they are long."""
    loops = (_SIDE_BY_SIDE, _APART, _OVERLAPPING)

    def __post_init__(self) -> None:
        count_given("buffer", "count", self.count, 1)
        if self.step is not None:
            count_given("buffer", "step", self.step, 1)

    @property
    def body(self) -> Body:
        """Keep what the next list begins with, or leave out what is between two lists."""
        if not self.gap:
            return _SIDE_BY_SIDE
        return _APART if self.gap > 0 else _OVERLAPPING

    @property
    def gap(self) -> int:
        """Return how many elements are between two lists; below 0 how many they share."""
        return 0 if self.step is None else self.step - self.count

    def begun(self, items: list[T]) -> list[list[T]]:
        """Return the lists that have begun and are not full."""
        return [items[start:] for start in range(0, len(items), self.step or self.count)]

    def demand(self, n: int) -> int:
        """Ask for whole lists, and not for what comes after the last of them."""
        return min(n * (self.step or self.count) - max(self.gap, 0), UNBOUNDED)
