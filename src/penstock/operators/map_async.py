"""map_async: turn each element into another with an asynchronous function, several at a time.

Group: change each element
Marble: a.map_async(lambda n: wait(2, n * 10), concurrency=2) over -123------|
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.grounds.async_work import CONCURRENCY, AsyncWork, PassedOn
from penstock.engine.words.arguments import async_function_given, count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gives, Joint, Sight

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class MapAsync(Joint[A, B]):
    """Emit what the function's awaitables give, with at most `concurrency` of them under way.

    Emits when a result is there: in the order of the elements if `ordered`, else as they finish; elements with the
    same `key` are worked on one after the other. Backpressures when downstream does: `concurrency` elements are under
    way and as many more wait, before or after their work. Completes when upstream has completed and all work is done;
    fails with the first failure of the work, and with one of upstream behind the results of what came before it.
    Cancels all work under way.
    """

    fn: Callable[[A], Awaitable[B]]
    concurrency: int = CONCURRENCY
    ordered: bool = True
    key: Callable[[A], Hashable] | None = None
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell whether results come in the order of the elements."""
        return self.ordered

    def __post_init__(self) -> None:
        async_function_given("map_async", "fn", self.fn)
        count_given("map_async", "concurrency", self.concurrency, 1)
        if self.key is not None:
            function_given("map_async", "key", self.key)

    def open(self, downstream: Subscriber[B], /) -> Subscriber[A]:
        """Lease an event loop and work on it."""
        return AsyncWork(self, PassedOn.RESULT, downstream, ordered=self.ordered, key=self.key)
