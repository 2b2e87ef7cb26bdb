"""signals: what a subscriber was told, as values, and the error of an expectation that was not met."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.engine.words.signals import Completed, Failed, Next

PATIENCE = 30.0
"""Seconds to wait for something that must happen; nothing waits this long unless it fails."""


class VerificationError(AssertionError):
    """The error of a stream that did not do what was expected of it."""


Signal = Next[Any] | Failed | Completed


def spoken(signals: Iterable[Signal]) -> str:
    """Return signals in words."""
    return ", ".join(map(str, signals)) or "nothing"


__all__ = ["PATIENCE", "Completed", "Failed", "Next", "Signal", "VerificationError", "spoken"]
