"""positions: how far each part of a partitioned stream is, as Spark's offsets.

An offset has the position of every part that was ever seen, under the part's name, and the number of the turn in which
it was planned. The turn tells two micro-batches apart of which neither has rows: one in which executors only open
parts to see what they have. A part that has gone keeps its position, so that it goes on there when it comes back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import PenstockError

PartName = str | int
"""What a part of a stream may be: its position is kept under it, so it must be the same after a restart."""


class PartError(PenstockError):
    """The error that a part cannot be read as was planned, with the reason."""


@dataclass(frozen=True, slots=True)
class Offset:
    """The positions of all parts between two micro-batches."""

    turn: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    """The number of the first row that was not planned yet, by the key of the part."""

    def as_json(self) -> dict[str, Any]:
        """Return what Spark writes down."""
        return {"turn": self.turn, "parts": dict(self.rows)}

    @staticmethod
    def of(given: Any) -> Offset:
        """Read what Spark has written down, which may be by a query of another kind."""
        rows = given.get("parts") if isinstance(given, dict) else None
        if not isinstance(rows, dict) or type(given.get("turn")) is not int or len(given) > 2:
            raise PartError(
                f"partitioned: the checkpoint is at {given!r}, which has no positions of parts;"
                " it belongs to another query"
            )
        return Offset(given["turn"], rows)


def key_of(part: object) -> str:
    """Return the text under which a part's position is kept."""
    if type(part) is not int and not isinstance(part, str):
        raise PartError(
            f"partitioned: a part of a stream must be a text or a whole number, got {part!r};"
            " its position is kept under it, so give it a name and look up the rest in open"
        )
    return json.dumps(part)


def part_of(key: str) -> PartName:
    """Return the part that has a key."""
    found: PartName = json.loads(key)
    return found


__all__ = ["Offset", "PartError", "PartName", "key_of", "part_of"]
