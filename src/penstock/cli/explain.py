"""explain: `penstock explain file.py`, which draws the pipeline of a file; neither Spark nor Java is started for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.cli.loading import NotStarted, pipeline_of
from penstock.cli.run import explained, told
from penstock.cli.status import UNUSABLE, WELL
from penstock.flow import Flow, Pipeline, Sink
from penstock.plan import Plan
from penstock.stream import Stream

FORMS: dict[str, Callable[[Plan], str]] = {"text": str, "mermaid": Plan.mermaid, "svg": Plan.svg}
SUFFIXES = {"": "text", ".txt": "text", ".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid"}


def add_explain(commands: Any) -> None:
    """Add the command `explain` to the subparsers of a parser."""
    command = commands.add_parser(
        "explain",
        help="show what of a pipeline runs where, as text or as a drawing",
        description="Show what of the pipeline of a Python file runs where, and what bounds it. Nothing is run for it:"
        " neither Spark nor Java is needed.",
        epilog="Exit status: 0 it is shown; 2 it cannot be: the file has no pipeline, or one that cannot run.",
    )
    add = command.add_argument
    add("file", help="Python file that defines the pipeline; it is not run as __main__")
    add("--name", help="name of the pipeline, or of a stream, in the file (default: pipeline, or the only one)")
    add("--format", choices=list(FORMS), help="how it is shown (default: text, or what the name of --output says)")
    add("--output", metavar="FILE", help="where it is written, in place of the standard output")
    add("--traceback", action="store_true", help="show where an error was raised")
    command.set_defaults(run=explain)


def explain(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    try:
        form = arguments.format or _named(arguments.output)
        kinds = (Pipeline,) if arguments.name is None else (Pipeline, Stream, Flow, Sink)
        shown = FORMS[form](explained(pipeline_of(Path(arguments.file), arguments.name, kinds)))
        if arguments.output is None:
            print(shown)
        else:
            _write(Path(arguments.output), shown)
    except NotStarted as error:
        told(error, arguments)
        return UNUSABLE
    return WELL


def _named(output: str | None) -> str:
    """Return the form that the name of a file asks for."""
    suffix = "" if output is None else Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(filter(None, SUFFIXES))
        raise NotStarted(f"--output must end in one of {known}, got {output!r}; --format says the form for other names")
    return SUFFIXES[suffix]


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise NotStarted(f"{file} cannot be written: {error.strerror or error}") from error
    print(f"penstock explain: wrote {file}", file=sys.stderr)
