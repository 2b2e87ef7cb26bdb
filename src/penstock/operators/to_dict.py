"""to_dict: collect all elements into one dictionary.

Group: collect
Marble: a.to_dict(lambda n: n % 2) over -1-2-3-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_TAIL = "({items},)"
_PAIRS = Body(
    "{name}, {entry} = v\n{items}[{name}] = {entry}\nskip",
    state=(("items", "dict()"), ("name", "None"), ("entry", "None")),
    tail=_TAIL,
)
_ELEMENTS = Body("{items}[{key}(v)] = v\nskip", state=(("items", "dict()"),), tail=_TAIL)
_VALUES = Body("{items}[{key}(v)] = {value}(v)\nskip", state=(("items", "dict()"),), tail=_TAIL)


@dataclass(frozen=True, slots=True)
class ToDict(Stage[T, dict[K, V]]):
    """Emit one element: a dictionary of all elements by their keys; of several with one key the last stays.

    Emits when upstream completes. Backpressures never: it asks for everything and holds what it emits. Completes when
    upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    key: Callable[[T], K] | None = None
    """What gives the key; without it, elements are pairs of key and value."""
    value: Callable[[T], V] | None = None
    """What gives the value; without it, that is the element."""
    loops = (_PAIRS, _ELEMENTS, _VALUES)

    def __post_init__(self) -> None:
        if self.key is not None:
            function_given("to_dict", "key", self.key)
        elif self.value is not None:
            raise TypeError(f"to_dict: key must be given where value is, got {self.value!r} alone")
        if self.value is not None:
            function_given("to_dict", "value", self.value)

    @property
    def body(self) -> Body:
        """Take pairs, or ask the functions."""
        if self.key is None:
            return _PAIRS
        return _ELEMENTS if self.value is None else _VALUES

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
