"""reduce: fold all elements into one.

Group: collect
Marble: a.reduce(operator.mul) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from penstock.engine.words.arguments import Missing, function_given, initial_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

A = TypeVar("A")
B = TypeVar("B")
_DO = "{result} = {fn}({result}, v)\nskip"
_FROM_INITIAL = Body(_DO, state=(("result", "{initial}"),), tail="({result},)")
_FROM_CREATED = Body(
    "if {fresh}:\n    {fresh} = False\n    {result} = {create}()\n" + _DO,
    state=(("fresh", "True"), ("result", "None")),
    tail="({create}() if {fresh} else {result},)",
)
_FROM_FIRST = Body(
    "if {none_yet}:\n    {none_yet} = False\n    {result} = v\n    skip\n{result} = {fn}({result}, v)\nskip",
    state=(("none_yet", "True"), ("result", "None")),
    tail="() if {none_yet} else ({result},)",
)


@dataclass(frozen=True, slots=True)
class Reduce(Stage[A, B]):
    """Emit one element: the result of folding all of them, from `initial`, what `create` makes, or the first element.

    Emits when upstream completes; nothing if it was empty and there is nothing to begin with. Backpressures never: it
    asks for everything and holds one result. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    fn: Callable[[B, A], B]
    initial: B | Literal[Missing.MISSING] = Missing.MISSING
    """What all runs begin with."""
    create: Callable[[], B] | None = None
    """What makes the beginning of each run."""
    loops = (_FROM_INITIAL, _FROM_CREATED, _FROM_FIRST)

    def __post_init__(self) -> None:
        function_given("reduce", "fn", self.fn)
        initial_given("reduce", "initial", self.initial, self.create, needed=False)

    @property
    def body(self) -> Body:
        """Fold from a value that is given or made, or from the first element."""
        if self.create is not None:
            return _FROM_CREATED
        return _FROM_FIRST if self.initial is Missing.MISSING else _FROM_INITIAL

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
