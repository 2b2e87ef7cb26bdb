"""from_awaitable: emit what an awaitable gives.

Group: make a stream
Marble: Stream.from_awaitable(wait(3, 'answer'))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from penstock.engine.weaving.blame import blamed, note_on
from penstock.engine.words.arguments import stays_here
from penstock.engine.words.single_use import SingleUse
from penstock.stage import AsyncOpener, LoopGate, Results, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FromAwaitable(Source[T]):
    """Emit what an awaitable gives, or the one that a function makes for each subscriber.

    Emits when downstream asks and the value has come; a coroutine can be awaited once, so it serves one subscriber.
    Backpressures by not awaiting. Completes with the element; fails if the awaitable does. Cancels what is awaited.
    """

    results: ClassVar[Results] = Results.ONE
    awaitable: Awaitable[T] | Callable[[], Awaitable[T]]
    once: SingleUse = field(default_factory=SingleUse, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.awaitable, Awaitable) and not callable(self.awaitable):
            raise TypeError(
                f"from_awaitable: awaitable must be an awaitable or a function that makes one, got {self.awaitable!r}"
            )

    def __reduce__(self) -> tuple[type[FromAwaitable[T]], tuple[Any]]:
        if isinstance(self.awaitable, Awaitable):
            raise stays_here("from_awaitable", "an awaitable", "its value comes once; pass the function that makes it")
        return (FromAwaitable, (self.awaitable,))

    def async_opener(self) -> AsyncOpener[T]:
        """Await it in place of iterating."""
        return self._open

    async def _open(self, gate: LoopGate | None) -> AsyncIterator[T]:
        try:
            value = await self._made()
        except Exception as error:
            if isinstance(self.awaitable, Awaitable):
                note_on(error, "in from_awaitable")
                raise
            raise blamed(error, self, self.awaitable)  # noqa: B904  it is the same error, unless it was a stop
        if gate is not None:
            gate.finish()
        yield value

    def _made(self) -> Awaitable[T]:
        given = self.awaitable
        if isinstance(given, Awaitable):
            if isinstance(given, Coroutine):
                self.once.take("from_awaitable: this coroutine", "pass the function that makes it")
            return given
        made: Any = given()
        if not isinstance(made, Awaitable):
            raise TypeError(f"from_awaitable: the function must return an awaitable, got {made!r}")
        return made
