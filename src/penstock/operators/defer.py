"""defer: make the stream when it is subscribed.

Group: make a stream
Marble: Stream.defer(lambda: Stream.just(1, 2))
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from penstock.engine.runs.again import again_of_given
from penstock.engine.runs.given import connect_to
from penstock.engine.runs.wiring import refuse
from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.segment import close_quietly
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Again, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Defer(Source[T]):
    """Subscribe to what the function makes, one for each subscriber.

    Emits when what was made does. Backpressures when downstream does. Completes when what was made completes; fails if
    the function raises. Cancels what was made.
    """

    make: Callable[[], Publisher[T] | Iterable[T] | AsyncIterable[T]]

    def __post_init__(self) -> None:
        function_given("defer", "make", self.make, "from_awaitable awaits one")

    @property
    def again(self) -> Again:
        """Call the function, and ask what it makes."""
        try:
            made = self.make()
        except Exception:  # noqa: BLE001  a run will raise it where it is seen
            return Again.UNSAID
        if isinstance(made, Iterator):
            close_quietly(made)
        return again_of_given(made)

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Make the stream and subscribe to it."""
        try:
            connect_to("defer", self.make(), downstream)
        except Exception as error:  # noqa: BLE001  rule 1.9: a failure is signalled, never raised
            refuse(downstream, blamed(error, self, self.make))
