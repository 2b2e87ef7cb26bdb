"""values: carried elements as a user's function sees them, where a step gives streams of elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.run.carrying.marks import Positions, finished
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source


@dataclass(frozen=True, eq=False, slots=True)
class CarriedValues(Source[Any]):
    """The values of carried elements; a chain that begins with it goes on over the elements themselves."""

    carried: Chain

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Give the values to a subscriber outside of the run; each is done when it is given."""
        connect(self.carried.then(Positions(finished)), downstream)


def carried_values(chain: Chain) -> Chain:
    """Return a chain of carried elements as one of their values."""
    return Chain(CarriedValues(chain))


__all__ = ["CarriedValues", "carried_values"]
