"""for_each: call a function with each element and say how many there were.

Group: collect
Marble: a.for_each(seen.append) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.grounds.async_work import AsyncWork, PassedOn
from penstock.engine.words.arguments import async_function_given, count_given, effect_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Subscriber
from penstock.stage import Body, Gives, Joint, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ForEach(Stage[T, int]):
    """Emit one element: the number of elements that the function was called with, one after the other.

    Emits when upstream completes; fails if the function raises. Backpressures never: it asks for everything, as fast as
    the function returns, and holds a number. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    fn: Callable[[T], object]
    tallies: ClassVar[bool] = True
    loop: ClassVar[Body] = Body("{fn}(v)\n{total} += 1\nskip", state=(("total", "0"),), tail="({total},)")

    def __post_init__(self) -> None:
        effect_given("for_each", "fn", self.fn)

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED


@dataclass(frozen=True, slots=True)
class ForEachAsync(Joint[T, T]):
    """Await what the function gives for each element, with at most `concurrency` of them under way.

    Emits an element when the work on it is done, in the order of the elements. Backpressures when downstream does:
    `concurrency` elements are under way and as many more wait. Completes when upstream has completed and all work is
    done; fails with the first failure. Cancels all work under way.
    """

    fn: Callable[[T], Awaitable[object]]
    concurrency: int = 1
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Say so: the order of the elements is kept."""
        return True

    def __post_init__(self) -> None:
        async_function_given("for_each", "fn", self.fn)
        count_given("for_each", "concurrency", self.concurrency, 1)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Lease an event loop and work on it."""
        return AsyncWork(self, PassedOn.ELEMENT, downstream)
