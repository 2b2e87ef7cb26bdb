"""framed: what can be cut into pieces that share its memory, emitted piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.stage import Again, LoopGate, Opener, Source


@dataclass(frozen=True, slots=True, eq=False)
class FromFrame(Source[Any]):
    """A source that cuts off `size` rows when they are asked for, and emits what they are made into."""

    frame: Any = field(repr=False)
    count: int
    size: int
    make: Callable[[Any], Iterable[Any]] = field(repr=False)
    cut: Callable[[Any, int, int], Any] = field(repr=False)

    @property
    def again(self) -> Again:
        """Give the same rows: they are in memory."""
        return Again.SAME

    def opener(self) -> Opener[Any]:
        """Iterate over what the pieces are made into."""
        return self._open

    def _open(self, _: LoopGate | None) -> Iterator[Any]:
        for at in range(0, self.count, self.size):
            yield from self.make(self.cut(self.frame, at, self.size))
