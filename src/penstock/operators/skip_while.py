"""skip_while: leave out elements until one does not satisfy a predicate.

Group: let some through
Marble: a.skip_while(lambda n: n < 3) over -1-2-3-1-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SkipWhile(Stage[T, T]):
    """Emit everything from the first element on for which the predicate is false; it is not called after that.

    Emits when the predicate has been false once. Backpressures when downstream does; an element that is left out is
    replaced by asking for one more. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    predicate: Callable[[T], object]
    loop: ClassVar[Body] = Body(
        "if {before}:\n    if {predicate}(v): skip\n    {before} = False", state=(("before", "True"),)
    )

    def __post_init__(self) -> None:
        function_given("skip_while", "predicate", self.predicate)
