"""model_logs: what the partitions of the model broker hold, and the transactions that are open in them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tests.connectors.kafka.wire import Batch

Place = tuple[str, int]


@dataclass(slots=True)
class Log:
    """What a partition holds."""

    batches: list[Batch] = field(default_factory=list)
    open: dict[int, int] = field(default_factory=dict)
    """The first offset of each producer's open transaction."""
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    """Producer, first and last offset of each transaction that was aborted."""

    @property
    def end(self) -> int:
        """Return the offset of the next record."""
        return self.batches[-1].last + 1 if self.batches else 0

    def limit(self, *, committed: bool) -> int:
        """Return the offset before which records are shown: for some readers that of the first open transaction."""
        return min(self.open.values(), default=self.end) if committed else self.end


@dataclass(slots=True)
class Transactional:
    """A name of transactions: the producer that has it now, and its transaction."""

    producer: int
    epoch: int
    timeout: float
    begun: float | None = None
    places: set[Place] = field(default_factory=set)
    offsets: dict[str, dict[Place, int]] = field(default_factory=lambda: defaultdict(dict))


__all__ = ["Log", "Place", "Transactional"]
