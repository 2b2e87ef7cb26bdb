"""taking: what tests take from streams of files: so many elements with their positions."""

from __future__ import annotations

from typing import Any

from penstock import Stream
from penstock.run.resumption import Resumption


def taken(stream: Stream[Any], count: int, after: Any = None) -> tuple[list[Any], Any]:
    """Take so many elements behind a position; return them and the position of the last."""
    pairs = list(Resumption.of(stream).open(after).take(count))
    return [element for _, element in pairs], pairs[-1][0] if pairs else after
