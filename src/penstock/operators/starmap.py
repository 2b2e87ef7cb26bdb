"""starmap: call a function with the items of each element as its arguments.

Group: change each element
Marble: a.enumerate().starmap(operator.mul) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.stage import Body, Gives, Sight, Stage

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Starmap(Stage[Iterable[Any], B]):
    """Emit what the function returns for the items of each element.

    Emits when upstream emits; fails if an element cannot be unpacked or does not fit the function. Backpressures when
    downstream does. Completes when upstream completes. Cancels when downstream cancels.
    """

    fn: Callable[..., B]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body("v = {fn}(*v)\nif v is None: none")

    def __post_init__(self) -> None:
        function_given("starmap", "fn", self.fn)
