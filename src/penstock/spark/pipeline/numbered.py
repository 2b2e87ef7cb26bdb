"""numbered: give rows that come back from Spark with their places, so that a ledger of the user can tell them apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from penstock.engine.runs.chain import Chain
from penstock.flow import EngineName, Flow, Hole
from penstock.spark.egress.numbering import Numbered
from penstock.spark.session.embedded import EMBEDDED
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Numbering(Source[Any]):
    """Rows with the number of their micro-batch and their number in it."""

    engine: ClassVar[EngineName] = EMBEDDED
    stream: Chain = field(repr=False)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run in this process."""
        raise TypeError("numbered: this step runs on Spark; end the pipeline with a Sink and run() it")


def numbered() -> Flow[T, Numbered[T]]:
    """Give each row with its place, `Numbered(batch, number, last, row)`; it stands right before the end.

    A sink of this process sees each row at least once: after a crash the micro-batch that was not delivered whole comes
    again, from its first row on. A sink that writes the rows of a micro-batch and its number in one transaction, and
    leaves out a micro-batch whose number it has written, has each row exactly once.
    """
    return Flow(Chain(Numbering(Chain(Hole()))))


__all__ = ["Numbering", "numbered"]
