"""stateful_map: make one element of each by a state that the function hands on to itself.

Group: change each element
Marble: a.stateful_map(lambda last, n: (n, n - last), int) over -1-4-2-9-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.stage import Body, Stage

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class StatefulMap(Stage[A, B]):
    """Call a function with the state and an element; it returns the next state and the result, which is emitted.

    The state of a run is made by `create` when the first element is there. A state of None is forgotten: the next
    element begins with a new one.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes.
    Cancels when downstream cancels.
    """

    fn: Callable[[Any, A], tuple[Any, B]]  # only this function knows the type of the state
    create: Callable[[], Any]
    loop: ClassVar[Body] = Body(
        "if {kept} is None: {kept} = {create}()\n{kept}, v = {fn}({kept}, v)\nif v is None: none",
        state=(("kept", "None"),),
    )

    def __post_init__(self) -> None:
        function_given("stateful_map", "fn", self.fn)
        function_given("stateful_map", "create", self.create)
