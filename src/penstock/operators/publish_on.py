"""publish_on: let what follows run somewhere else.

Group: change where it runs
Marble: a.publish_on(inline()) over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.grounds.boundary import Boundary
from penstock.engine.places.context import worker_of
from penstock.engine.places.executors import Executor
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gives, Joint, Sight

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PublishOn(Joint[T, T]):
    """Deliver on a worker of the executor, in chunks and under credit.

    Emits when upstream has emitted and the worker gets to it. Backpressures when downstream does: at most `prefetch`
    elements are between the two sides. Completes after the last element has been delivered. Cancels upstream at once
    and lets the worker go.
    """

    executor: Executor
    prefetch: int = 256
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        if not isinstance(self.executor, Executor):
            raise TypeError(f"publish_on: executor must be an Executor, got {self.executor!r}")
        count_given("publish_on", "prefetch", self.prefetch, 1)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a boundary in front of what follows."""
        return Boundary(downstream, worker_of(self.executor), self.prefetch)
