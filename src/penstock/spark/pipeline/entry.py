"""entry: say how a live stream enters Spark in a pipeline: its schema, and how far it may run ahead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.engine.runs.chain import Chain
from penstock.flow import EngineName, Flow, Hole, Sink
from penstock.spark.ingest.supply import SaidAgain, again_given
from penstock.spark.session.embedded import EMBEDDED, only_on_spark
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source

if TYPE_CHECKING:
    from penstock.spark.ingest.letters import Rejected
    from penstock.spark.wire.schema import Described

CAPACITY = 100_000
LATENCY = 1.0


@dataclass(frozen=True, slots=True)
class Entry(Source[Any]):
    """How a live stream enters Spark and becomes a DataFrame, as a part of a pipeline."""

    engine: ClassVar[EngineName] = EMBEDDED
    stream: Chain = field(repr=False)
    schema: Described | None = field(default=None, compare=False)
    capacity: int = CAPACITY
    latency: float = LATENCY
    dead_letter: Sink[Rejected, Any] | None = None
    said: SaidAgain | None = None
    """What the stream gives when the program is started again, where its author has said so."""

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run in this process."""
        raise only_on_spark("entry")


UNSAID = Entry(Chain(Hole()))
"""How a stream enters whose pipeline says nothing about it."""


def entry(
    schema: Described | None = None,
    *,
    capacity: int = CAPACITY,
    latency: float = LATENCY,
    dead_letter: Sink[Rejected, Any] | None = None,
    again: SaidAgain | None = None,
) -> Flow[Any, Any]:
    """Say how a live stream enters Spark; it stands right behind the source.

    The stream is never asked for more than `capacity` rows beyond Spark's last commit, and micro-batches are made so
    large that one takes about `latency` seconds. `schema` describes the rows, where what follows does not. Rows that do
    not fit it go to `dead_letter`, or else fail the run. `again` says what the stream gives when the program is started
    again, where the stream does not say so itself: "same", the same rows from the first on, of which a run from a
    checkpoint leaves out those that it had; or "later", what comes from then on, which the checkpoint spools.
    """
    if type(capacity) is not int or capacity < 1:
        raise ValueError(f"entry: capacity must be a whole number >= 1, got {capacity!r}")
    if not isinstance(latency, int | float) or not latency > 0:
        raise ValueError(f"entry: latency must be > 0 seconds, got {latency!r}")
    if dead_letter is not None and not isinstance(dead_letter, Sink):
        raise TypeError(f"entry: dead_letter must be a Sink, got {dead_letter!r}")
    again_given("entry", again)
    return Flow(Chain(Entry(Chain(Hole()), schema, capacity, latency, dead_letter, again)))


__all__ = ["UNSAID", "Entry", "entry"]
