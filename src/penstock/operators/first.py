"""first: emit the first element alone.

Group: collect
Marble: a.first() over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from penstock.engine.words.arguments import Missing, elements_given, function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")

_TAIL = "() if {found} else {otherwise}"
_OF_ALL = Body("{found} = True", state=(("found", "False"),), ends="{found}", tail=_TAIL)
_OF_SOME = Body("if not {predicate}(v): skip\n{found} = True", state=(("found", "False"),), ends="{found}", tail=_TAIL)


@dataclass(frozen=True, slots=True)
class First(Stage[T, T]):
    """Emit the first element, or the first that satisfies the predicate; if there is none, the default or nothing.

    Emits when that element comes, or the default when upstream completes before. Backpressures when downstream does; it
    asks for one element, or with a predicate for everything until it has found one. Completes with its element, or when
    upstream completes before. Cancels when downstream cancels, and upstream once it has its element.
    """

    results: ClassVar[Results] = Results.ONE
    predicate: Callable[[T], object] | None = None
    default: T | Literal[Missing.MISSING] = Missing.MISSING
    loops = (_OF_ALL, _OF_SOME)

    def __post_init__(self) -> None:
        if self.predicate is not None:
            function_given("first", "predicate", self.predicate)
        elements_given("first", self.default)

    @property
    def body(self) -> Body:
        """Take any element, or ask the predicate."""
        return _OF_ALL if self.predicate is None else _OF_SOME

    @property
    def otherwise(self) -> tuple[object, ...]:
        """Return what to emit if there is no such element."""
        return () if self.default is Missing.MISSING else (self.default,)

    def demand(self, n: int) -> int:
        """Ask for one element, or for all that the predicate may reject."""
        return min(n, 1) if self.predicate is None else UNBOUNDED

    @property
    def cap(self) -> int | None:
        """Return one, unless it depends on the elements."""
        return 1 if self.predicate is None else None
