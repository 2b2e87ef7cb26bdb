"""sight: how much of a stream a step has to see."""

from __future__ import annotations

from enum import Enum


class Sight(Enum):
    """Whether a step treats each element alone, or whether order and neighbours matter."""

    ITEM = "item"
    STREAM = "stream"
