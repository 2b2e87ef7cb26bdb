"""last: emit the last element alone.

Group: collect
Marble: a.last() over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from penstock.engine.words.arguments import Missing, elements_given, function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")

# None is never an element, so it can stand for "nothing yet".
_TAIL = "{otherwise} if {newest} is None else ({newest},)"
_OF_ALL = Body("{newest} = v\nskip", state=(("newest", "None"),), tail=_TAIL)
_OF_SOME = Body("if {predicate}(v): {newest} = v\nskip", state=(("newest", "None"),), tail=_TAIL)


@dataclass(frozen=True, slots=True)
class Last(Stage[T, T]):
    """Emit the last element, or the last that satisfies the predicate; if there is none, the default or nothing.

    Emits when upstream completes. Backpressures never: it asks for everything and holds one element. Completes when
    upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    predicate: Callable[[T], object] | None = None
    default: T | Literal[Missing.MISSING] = Missing.MISSING
    loops = (_OF_ALL, _OF_SOME)

    def __post_init__(self) -> None:
        if self.predicate is not None:
            function_given("last", "predicate", self.predicate)
        elements_given("last", self.default)

    @property
    def body(self) -> Body:
        """Take any element, or ask the predicate."""
        return _OF_ALL if self.predicate is None else _OF_SOME

    @property
    def otherwise(self) -> tuple[object, ...]:
        """Return what to emit if there is no such element."""
        return () if self.default is Missing.MISSING else (self.default,)

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
