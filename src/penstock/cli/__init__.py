"""cli: the `penstock` command, one module for each of its commands."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status, also if SIGINT comes while its modules are imported."""
    try:
        from penstock.cli.command import main as carry_out  # noqa: PLC0415  it takes a while

        return carry_out(arguments)
    except KeyboardInterrupt:
        print("penstock: broken off", file=sys.stderr)
        return 128 + signal.SIGINT


__all__ = ["main"]
