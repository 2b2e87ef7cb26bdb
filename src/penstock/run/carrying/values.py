"""values: carried elements as a user's function sees them, where a step gives streams of elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.engine.grounds.cold_paths import left_alone
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.run.carrying.functions import Positions
from penstock.run.carrying.marks import finished
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Source


@dataclass(frozen=True, eq=False, slots=True)
class CarriedValues(Source[Any]):
    """The values of carried elements; a chain that begins with it goes on over the elements themselves."""

    carried: Chain

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Give the values to a subscriber outside of the run; each is done when it is given."""
        connect(self.carried.then(Positions(finished)), downstream)


@dataclass(frozen=True, eq=False, slots=True)
class EnteredValues(Source[Any]):
    """Carried elements that enter parts, all that are handed over together, also those behind the last that is used."""

    carried: Chain
    enters: tuple[Callable[[Any], Any], ...]

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to them."""
        connect(self.carried, _EnteringRun(self.enters, downstream))


class _EnteringRun(Part):
    """A run whose elements enter parts before any of them goes on."""

    def __init__(self, enters: tuple[Callable[[Any], Any], ...], downstream: Subscriber[Any]) -> None:
        self.height = height_of(downstream) + 1
        self._enters = enters
        self._downstream = downstream
        self._pass_all = chunks_of(downstream)
        self.on_chunk = self._all

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._downstream.on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        for enter in self._enters:
            element = enter(element)
        self._downstream.on_next(element)

    def _all(self, elements: list[Any], /) -> None:
        for enter in self._enters:
            elements = list(map(enter, elements))
        if self._pass_all is not None:
            self._pass_all(elements)
        else:
            for element in elements:
                self._downstream.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        self._downstream.on_error(error)

    def on_complete(self) -> None:
        self._downstream.on_complete()

    def gone(self) -> None:
        """Be told that nothing will be signalled any more."""
        left_alone(self._downstream)


def carried_values(chain: Chain) -> Chain:
    """Return a chain of carried elements as one of their values."""
    return Chain(CarriedValues(chain))


__all__ = ["CarriedValues", "EnteredValues", "carried_values"]
