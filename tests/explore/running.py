"""running: run the explorer in a process, since it imports the engine with points in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def output(*arguments: str) -> tuple[int, str]:
    """Run the explorer; return its status and what it has written."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.explore", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def explored(*arguments: str) -> None:
    """Run the explorer, which must find nothing."""
    status, text = output(*arguments)
    assert status == 0, text
