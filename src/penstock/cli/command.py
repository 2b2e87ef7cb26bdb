"""command: the `penstock` command with its subcommands."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence

from penstock.cli.checks import version
from penstock.cli.doctor import add_doctor
from penstock.cli.explain import add_explain
from penstock.cli.output import printed
from penstock.cli.prepare import add_prepare
from penstock.cli.run import add_run
from penstock.tck.cli.verify import add_verify
from penstock.tck.cli.verify import run as verify

_NAMES = "verify|run|explain|prepare|doctor"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0 all is well; 1 a rule was broken, a pipeline failed or something is missing; 2 it could not be run; 130 SIGINT
    broke it off or stopped a pipeline, 143 SIGTERM did; 141 the reader of the output has left.
    """
    return printed(lambda: _carried_out(arguments))


def _carried_out(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="penstock", description="Reactive Streams for Python.")
    parser.add_argument("--version", action="version", version=f"penstock {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar=_NAMES)
    add_verify(commands)
    add_run(commands)
    add_explain(commands)
    add_prepare(commands)
    add_doctor(commands)
    given = parser.parse_args(arguments)
    carry_out: Callable[[argparse.Namespace], int] = getattr(given, "run", verify)
    try:
        return carry_out(given)
    except KeyboardInterrupt:
        print(f"penstock {given.command}: broken off", file=sys.stderr)
        return 128 + signal.SIGINT
