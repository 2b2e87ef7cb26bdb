"""max: emit the largest element alone.

Group: ask one thing of all
Marble: a.max() over -1-4-2-3-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")

# None is never an element, so it can stand for "nothing yet".
_TAIL = "() if {best} is None else ({best},)"
_BY_ELEMENT = Body("if {best} is None or v > {best}: {best} = v\nskip", state=(("best", "None"),), tail=_TAIL)
_BY_KEY = Body(
    "{now} = {key}(v)\nif {best} is None or {now} > {most}:\n    {best} = v\n    {most} = {now}\nskip",
    state=(("best", "None"), ("most", "None"), ("now", "None")),
    tail=_TAIL,
)


@dataclass(frozen=True, slots=True)
class Max(Stage[T, T]):
    """Emit the largest element, or the one with the largest key; of several the first, nothing if there is none.

    Emits when upstream completes. Backpressures never: it asks for everything and holds one element. Completes when
    upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    key: Callable[[T], Any] | None = None
    loops = (_BY_ELEMENT, _BY_KEY)

    def __post_init__(self) -> None:
        if self.key is not None:
            function_given("max", "key", self.key)

    @property
    def body(self) -> Body:
        """Compare elements, or their keys."""
        return _BY_ELEMENT if self.key is None else _BY_KEY

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
