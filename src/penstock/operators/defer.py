"""defer: make the stream when it is subscribed.

Group: make a stream
Marble: Stream.defer(lambda: Stream.just(1, 2))
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from penstock.engine.runs.given import connect_to
from penstock.engine.runs.wiring import refuse
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Defer(Source[T]):
    """Subscribe to what the function makes, one for each subscriber.

    Emits when what was made does. Backpressures when downstream does. Completes when what was made completes; fails if
    the function raises. Cancels what was made.
    """

    make: Callable[[], Publisher[T] | Iterable[T] | AsyncIterable[T]]

    def __post_init__(self) -> None:
        function_given("defer", "make", self.make)

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Make the stream and subscribe to it."""
        try:
            connect_to("defer", self.make(), downstream)
        except Exception as error:  # noqa: BLE001  rule 1.9: a failure is signalled, never raised
            refuse(downstream, blamed(error, self, self.make))
