"""from_async_iterable: emit the items of an asynchronous iterable.

Group: make a stream
Marble: Stream.from_async_iterable(feed())
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.engine.words.arguments import stays_here
from penstock.engine.words.single_use import SingleUse
from penstock.stage import AsyncOpener, LoopGate, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FromAsyncIterable(Source[T]):
    """Emit the items of an asynchronous iterable, on the running event loop or on one of penstock's own.

    Emits when downstream asks and the item has come. Backpressures by not asking for the next item. Completes when the
    iterator ends. Cancels by cancelling what the iterator waits for, then closing it.
    """

    items: AsyncIterable[T]
    once: SingleUse = field(default_factory=SingleUse, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.items, AsyncIterable):
            usual = "; use from_iterable" if isinstance(self.items, Iterable) else ""
            cure = "; call it" if callable(self.items) else usual
            raise TypeError(f"from_async_iterable: items must be an asynchronous iterable, got {self.items!r}{cure}")

    def __reduce__(self) -> tuple[type[FromAsyncIterable[T]], tuple[AsyncIterable[T]]]:
        if isinstance(self.items, AsyncIterator):
            raise stays_here("from_async_iterable", "an iterator", "its items come once; use Stream.defer to make it")
        return (FromAsyncIterable, (self.items,))

    def async_opener(self) -> AsyncOpener[T]:
        """Iterate over the items."""
        return self._open

    def _open(self, _: LoopGate | None) -> AsyncIterator[T]:
        iterator = aiter(self.items)
        if iterator is self.items:
            self.once.take("from_async_iterable: this iterator")
        return iterator
