"""create: emit what callbacks bring, with a policy for when they are too fast.

Group: make a stream
Marble: Stream.create(lambda e: [e.emit(1), e.emit(2), e.complete()])
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.engine.grounds.cold_paths import interrupts_told
from penstock.engine.grounds.seat import Seat
from penstock.engine.many.emitter import Emitter, Overflow
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Create(Source[T]):
    """Hand an emitter to `attach` for each subscriber; it may be used from any thread.

    Emits when downstream asks and there is an element. Backpressures by `overflow`: the callbacks cannot be slowed, so
    beyond `size` waiting elements they are refused, dropped, replaced by the latest, or the stream fails. Completes
    when the emitter does. Cancels by calling what was given to the emitter's `on_close`.
    """

    attach: Callable[[Emitter[T]], None]
    overflow: Overflow = Overflow.BUFFER
    size: int = 256

    def __post_init__(self) -> None:
        function_given("create", "attach", self.attach, "from_async_iterable takes an asynchronous generator")
        count_given("create", "size", self.size, 1)
        if not isinstance(self.overflow, Overflow):
            raise TypeError(f"create: overflow must be an Overflow, got {self.overflow!r}")

    @property
    def again(self) -> Again:
        """Give what the callbacks bring from then on."""
        return Again.LATER

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Attach an emitter."""
        seat = Seat(downstream)
        emitter: Emitter[Any] = Emitter("create", seat, self.overflow, self.size)
        seat.open()
        if not seat.closed:
            try:
                with interrupts_told(emitter.fail):
                    made: object = self.attach(emitter)  # type: ignore[func-returns-value]
                if isinstance(made, Generator | AsyncGenerator | Coroutine):  # its body would never run
                    raise TypeError(
                        f"create: attach must call emit and return, got a {type(made).__name__} from it; from_iterable"
                        " takes a generator, from_async_iterable an asynchronous one"
                    )
            except Exception as error:  # noqa: BLE001  rule 1.4
                emitter.fail(blamed(error, self, self.attach))
