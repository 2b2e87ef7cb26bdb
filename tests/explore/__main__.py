"""Explore the schedules of the engine's parts: `python -m tests.explore [--part merge] [--schedules 1000000]`."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from tests.explore import points

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Put points into the engine, then explore it."""
    sys.path.insert(0, str(ROOT / "src"))
    points.install(ROOT / "src", *(ROOT / "tests" / "explore").glob("planted*.py"))
    from tests.explore import loops
    from tests.explore.command import explore

    loops.install()
    gc.disable()  # `on_loops.collect` says when
    gc.freeze()
    return explore(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
