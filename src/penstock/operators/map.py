"""map: turn each element into another.

Group: change each element
Marble: a.map(lambda n: n * 10) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.stage import Body, Gives, Sight, Stage

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Map(Stage[A, B]):
    """Emit what the function returns for each element.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes.
    Cancels when downstream cancels.
    """

    fn: Callable[[A], B]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body("v = {fn}(v)\nif v is None: none")

    def __post_init__(self) -> None:
        function_given("map", "fn", self.fn)
