"""all_parts: the parts of all tables."""

from __future__ import annotations

from tests.explore import loop_parts, parts, planted_task
from tests.explore.part import PARTS, Part


def planted(name: str) -> Part:
    """Return what has a planted fault as a part."""
    return (loop_parts if hasattr(planted_task, name) else parts).planted(name)


__all__ = ["PARTS", "planted"]
