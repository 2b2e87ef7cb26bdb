"""from_iterable: emit the items of an iterable.

Group: make a stream
Marble: Stream.from_iterable([1, 2, 3])
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, Awaitable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.engine.runs.again import again_of_items
from penstock.engine.words.arguments import stays_here
from penstock.engine.words.several import length_of
from penstock.engine.words.single_use import SingleUse
from penstock.stage import Again, LoopGate, Opener, Source

T = TypeVar("T")

_WITHOUT_NONE = frozenset((range, str, bytes))
_PLAIN = frozenset((list, tuple, range, str, bytes, dict, set, frozenset, deque))


def _is_table(items: object) -> bool:
    """Tell whether it is a DataFrame of pandas or polars, or a table of Arrow; the library is not imported for it."""
    return hasattr(items, "__arrow_c_stream__") and hasattr(items, "columns")


def _cure(items: object) -> str:
    """Return what can be done with what is no iterable, to be added to the error."""
    if isinstance(items, AsyncIterable):
        return "; use from_async_iterable"
    if isinstance(items, Awaitable):
        return "; use from_awaitable"
    return "; call it, or give it to Stream.defer, which calls it for each run" if callable(items) else ""


@dataclass(frozen=True, slots=True)
class FromIterable(Source[T]):
    """Emit the items of an iterable; an iterator serves one subscriber, anything else a fresh run to each.

    Emits when downstream asks. Backpressures by not advancing the iterator. Completes when the iterator ends; with the
    last item, if the iterable is sized. Cancels by closing the iterator.
    """

    items: Iterable[T]
    once: SingleUse = field(default_factory=SingleUse, compare=False, repr=False)

    def __post_init__(self) -> None:
        if _is_table(self.items):
            raise TypeError(
                f"from_iterable: Python iterates a table by its columns, got a {type(self.items).__name__}; for its"
                " rows use from_pandas, from_polars or from_arrow of penstock.bridges, or Spark(session=...).stream(df)"
            )
        if not isinstance(self.items, Iterable):
            raise TypeError(f"from_iterable: items must be an iterable, got {self.items!r}{_cure(self.items)}")

    def __reduce__(self) -> tuple[type[FromIterable[T]], tuple[Iterable[T]]]:
        if isinstance(self.items, Iterator):
            raise stays_here(
                "from_iterable", "an iterator", "its items come once; pass a collection, or use Stream.defer"
            )
        return (FromIterable, (self.items,))

    @property
    def again(self) -> Again:
        """Give the items of a collection again; an iterator can be had once, and a set has no order to rely on."""
        return again_of_items(self.items)

    @property
    def may_hold_none(self) -> bool:
        """Tell whether it is anything but a built-in sequence of numbers or letters."""
        return type(self.items) not in _WITHOUT_NONE

    @property
    def plain(self) -> bool:
        """Tell whether it is a built-in collection."""
        return type(self.items) in _PLAIN

    def opener(self) -> Opener[T]:
        """Iterate over the items."""
        return self._open

    def _open(self, _: LoopGate | None) -> Iterator[T]:
        try:
            iterator = iter(self.items)
        except ValueError:  # a file says that it is closed, not that an earlier run has read and closed it
            if isinstance(self.items, Iterator):
                self.once.take("from_iterable: this iterator")
            raise
        if iterator is self.items:
            self.once.take("from_iterable: this iterator")
        return iterator

    def after(self, count: int) -> FromIterable[T] | None:
        """Begin with a later item, where what follows shares the memory of the collection."""
        if not isinstance(self.items, range):
            return None
        later: Any = self.items[count:]
        return FromIterable(later)

    def length(self) -> int | None:
        """Return the length of a built-in collection."""
        if type(self.items) is range:
            return None if self.items else 0  # len cannot tell of a huge one
        return length_of(self.items)
