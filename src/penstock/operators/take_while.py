"""take_while: let elements through until one does not satisfy a predicate.

Group: let some through
Marble: a.take_while(lambda n: n < 3) over -1-2-3-1-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TakeWhile(Stage[T, T]):
    """Emit elements while the predicate is true; the first for which it is not ends the stream and is not emitted.

    Emits when the predicate is true for an element. Backpressures when downstream does. Completes at the first element
    for which the predicate is false, or when upstream completes. Cancels when downstream cancels, and upstream once
    the predicate was false.
    """

    results: ClassVar[Results] = Results.AS_MANY
    predicate: Callable[[T], object]
    loop: ClassVar[Body] = Body(
        "if not {predicate}(v):\n    {over} = True\n    stop", state=(("over", "False"),), ends="{over}"
    )

    def __post_init__(self) -> None:
        function_given("take_while", "predicate", self.predicate)
