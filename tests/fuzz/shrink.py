"""shrink: let hypothesis make what the seeds have found as small as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.errors import HypothesisException

from tests.fuzz.grammar import Chain, Drawn, Grammar
from tests.fuzz.paths import Path, path

KEY = b"found"
SECONDS = 60.0
"""How long to go on; what was found is as good as it is then."""


@st.composite
def runs(draw: Callable[[Any], Any]) -> tuple[Chain, Path]:
    """Draw a path and a chain."""
    return run(Grammar(Drawn(draw)))


def run(g: Grammar) -> tuple[Chain, Path]:
    """Make a path and a chain, in this order for seeds and hypothesis alike."""
    made = path(g)
    g.settle()
    return g.root(), made


def shrunk(drawn: list[int], differs: Callable[[Chain, Path], bool], most: int = 400) -> tuple[Chain, Path] | None:
    """Return the smallest run that differs, from what a seed has drawn on; None if that does not differ again."""
    database = InMemoryExampleDatabase()
    database.save(KEY, choices_to_bytes([*drawn, 0]))  # one too many, or hypothesis takes it for shrunk already
    quiet = settings(
        max_examples=most,
        deadline=None,
        database=database,
        phases=(Phase.reuse, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    until = time.monotonic() + SECONDS
    try:
        return find(runs(), lambda made: time.monotonic() < until and differs(*made), settings=quiet, database_key=KEY)
    except HypothesisException:  # not found again, or not every time
        return None
