"""from_publisher: take the elements of any publisher.

Group: make a stream
Marble: Stream.from_publisher(a) over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from penstock.engine.grounds.foreign import subscribe_to
from penstock.engine.runs.again import again_of_given
from penstock.spec.dialects.strangers import publisher_given
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Again, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FromPublisher(Source[T]):
    """Subscribe to a publisher of another library, and hold it to the contract.

    Emits when the publisher does; an element that was not requested fails the stream by rule 1.1. Backpressures by
    passing demand on. Completes when the publisher completes. Cancels the publisher's subscription. A publisher of the
    C++ text, whose `subscribe` returns the subscription, is taken as well.
    """

    publisher: Publisher[T]

    def __post_init__(self) -> None:
        publisher_given("from_publisher: publisher must have subscribe(subscriber)", self.publisher)

    @property
    def again(self) -> Again:
        """Ask a stream; of another publisher nothing is known."""
        return again_of_given(self.publisher)

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Subscribe through a relay."""
        subscribe_to(self.publisher, downstream)
