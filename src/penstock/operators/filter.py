"""filter: let only some elements through.

Group: let some through
Marble: a.filter(lambda n: n % 2) over -1-2-3-4-5|
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.grounds.async_work import CONCURRENCY, AsyncWork, PassedOn
from penstock.engine.words.arguments import async_function_given, count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Body, Gives, Joint, Results, Sight, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Filter(Stage[T, T]):
    """Emit the elements for which the predicate is true.

    Emits when the predicate is true for an element. Backpressures when downstream does; an element that is rejected is
    replaced by asking for one more. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    predicate: Callable[[T], object]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.EACH
    loop: ClassVar[Body] = Body("if not {predicate}(v): skip")

    def __post_init__(self) -> None:
        function_given("filter", "predicate", self.predicate)


@dataclass(frozen=True, slots=True)
class FilterAsync(Joint[T, T]):
    """Emit the elements for which the predicate's awaitable is true, with at most `concurrency` of them under way.

    Emits when an answer is there and it is true, in the order of the elements. Backpressures when downstream does:
    `concurrency` elements are under way and as many more wait; an element that is rejected is replaced by asking for
    one more. Completes when upstream has completed and all answers are there; fails with the first failure. Cancels all
    work under way.
    """

    fn: Callable[[T], Awaitable[object]]
    concurrency: int = CONCURRENCY
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.EACH
    results: ClassVar[Results] = Results.AS_MANY

    @property
    def steady(self) -> bool:
        """Say so: the order of the elements is kept."""
        return True

    def __post_init__(self) -> None:
        async_function_given("filter", "predicate", self.fn)
        count_given("filter", "concurrency", self.concurrency, 1)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Lease an event loop and ask on it."""
        return AsyncWork(self, PassedOn.IF_TRUE, downstream)
