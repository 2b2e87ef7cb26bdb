"""command: the `penstock` command with its subcommands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from penstock.cli import run as running
from penstock.tck.cli import verify as verification


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0 all is well; 1 a rule was broken or a pipeline failed; 2 it could not be run; 130 SIGINT stopped a pipeline.
    """
    parser = argparse.ArgumentParser(prog="penstock", description="Reactive Streams for Python.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="verify|run|prepare")
    verification.add_verify(commands)
    running.add_run(commands)
    running.add_prepare(commands)
    given = parser.parse_args(arguments)
    if given.command == "prepare":
        return running.prepare()
    return running.run(given) if given.command == "run" else verification.run(given)
