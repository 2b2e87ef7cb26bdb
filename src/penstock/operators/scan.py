"""scan: emit each step of a running result.

Group: change each element
Marble: a.scan(operator.add, 0) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from penstock.engine.words.arguments import Missing, function_given, initial_given
from penstock.stage import Body, Stage

A = TypeVar("A")
B = TypeVar("B")

_DO = "v = {result} = {fn}({result}, v)\nif v is None: none"
_FROM_INITIAL = Body(_DO, state=(("result", "{initial}"),))
_FROM_CREATED = Body(
    "if {fresh}:\n    {fresh} = False\n    {result} = {create}()\n" + _DO, state=(("fresh", "True"), ("result", "None"))
)


@dataclass(frozen=True, slots=True)
class Scan(Stage[A, B]):
    """Emit the result so far after each element; the value that a run begins with is not emitted.

    That is `initial`, the same for all runs, or what `create` makes for each.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes.
    Cancels when downstream cancels.
    """

    fn: Callable[[B, A], B]
    initial: B | Literal[Missing.MISSING] = Missing.MISSING
    create: Callable[[], B] | None = None
    loops = (_FROM_INITIAL, _FROM_CREATED)

    def __post_init__(self) -> None:
        function_given("scan", "fn", self.fn)
        initial_given("scan", "initial", self.initial, self.create)

    @property
    def body(self) -> Body:
        """Begin with the initial value, or make one."""
        return _FROM_INITIAL if self.create is None else _FROM_CREATED
