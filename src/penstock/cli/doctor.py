"""doctor: `penstock doctor`, which says what works here, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from penstock.cli.checks import HERE, SPARK, Finding, State, checked
from penstock.cli.status import FAILED, WELL

_MARKS = {State.WELL: "ok", State.HINT: "hint", State.MISSING: "MISSING"}
_TITLES = {HERE: "in this process", SPARK: "on Spark"}


def add_doctor(commands: Any) -> None:
    """Add the command `doctor` to the subparsers of a parser."""
    command = commands.add_parser(
        "doctor",
        help="say what works here, what is missing, and how to get it",
        description="Look at what penstock needs, in this process and on Spark: what works, what is missing, and how to"
        " get it. Nothing of Spark is started.",
        epilog="Exit status: 0 nothing is missing; 1 something is.",
    )
    add = command.add_argument
    add("--checkpoint", metavar="DIR", help="folder to be looked at too: can a checkpoint be kept there?")
    add("--json", action="store_true", help="print what was found as JSON")
    command.set_defaults(run=doctor)


def doctor(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    found = list(checked(arguments.checkpoint))
    missing = any(each.state is State.MISSING for each in found)
    if arguments.json:
        told = [{**asdict(each), "state": each.state.value} for each in found]
        print(json.dumps({"ok": not missing, "findings": told}, indent=2))
    else:
        print("\n".join(_lines(found)))
    sys.stdout.flush()
    return FAILED if missing else WELL


def _lines(found: list[Finding]) -> Iterator[str]:
    wide = max(len(each.name) for each in found)
    for part, title in _TITLES.items():
        own = [each for each in found if each.part == part]
        missing = [each.name for each in own if each.state is State.MISSING]
        yield f"{title}: {'all that is needed is there' if not missing else 'missing: ' + ', '.join(missing)}"
        for each in own:
            yield f"  {_MARKS[each.state]:>7}  {each.name:<{wide}}  {each.what}"
            if each.cure:
                yield f"  {'':>7}  {'':<{wide}}  -> {each.cure}"
