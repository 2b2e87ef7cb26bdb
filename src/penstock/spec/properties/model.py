"""model: what a property of the pull-stream protocol is, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.spec.properties.intents import INTENTS
from penstock.spec.rules.model import Level


class Layer(Enum):
    """The three layers of the protocol; each adds to the one before it."""

    BASE = "base"
    ABORTABLE = "abortable"
    FAULT = "fault handling"


@dataclass(frozen=True, slots=True)
class Property:
    """A property: what it asks of modules, which tests show it and where to look if they fail."""

    id: str
    layer: Layer
    level: Level
    sentence: str
    hint: str
    tests: tuple[str, ...]

    @property
    def intent(self) -> str:
        """Return what the property is for."""
        return INTENTS[self.id]
