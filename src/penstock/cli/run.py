"""run: `penstock run file.py`, which runs the pipeline of a file and shows how far it is.

Exit status: 0 the pipeline has ended well, 1 it failed, 2 it could not be started (no such file, no pipeline in it, a
wrong option, no Spark), 130 it was stopped by SIGINT and 143 by SIGTERM, after what was inside had come to its end.
"""

from __future__ import annotations

import argparse
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.loading import NotStarted, pipeline_of, said
from penstock.cli.output import reader_left, shown_or_not
from penstock.cli.signals import Signals
from penstock.cli.status import FAILED, UNUSABLE, WELL
from penstock.errors import PenstockError, RunCancelledError, SetupError
from penstock.page.options import PageNotServedError, add_page, paged

if TYPE_CHECKING:
    from penstock.flow import Pipeline
    from penstock.spark import Spark

_PATIENCE = 5.0  # seconds for coroutines that were cancelled


def add_run(commands: Any) -> None:
    """Add the command `run` to the subparsers of a parser."""
    command = commands.add_parser(
        "run",
        help="run the pipeline of a Python file",
        description="Run the pipeline of a Python file, in this process or on Spark. SIGINT or SIGTERM stops it:"
        " nothing more is taken from its sources, and what is inside comes to its end; a second one cancels it.",
        epilog="Exit status: 0 it ended well; 1 it failed; 2 it could not be started; 130 it was stopped by SIGINT;"
        " 143 it was stopped by SIGTERM.",
    )
    add = command.add_argument
    add("file", help="Python file that defines the pipeline; it is not run as __main__")
    add("--name", help="name of the pipeline in the file (default: pipeline, or the only one there is)")
    add("--master", help="where Spark runs: local[4], spark://host:7077 (default: local[*] if a part needs Spark)")
    add("--conf", action="append", default=[], metavar="KEY=VALUE", help="setting of Spark; may be repeated")
    add("--checkpoint", metavar="DIR", help="folder from which a stopped run goes on")
    add("--explain", action="store_true", help="show what would run where, and run nothing")
    add("--quiet", action="store_true", help="show no progress")
    add("--traceback", action="store_true", help="show where an error was raised")
    add_page(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    with Signals() as signals:
        try:
            pipeline = pipeline_of(Path(arguments.file), arguments.name)
            if arguments.explain:
                print(explained(pipeline))
                return WELL
            with paged(arguments), _spark(arguments.master, _conf(arguments.conf)) as spark:
                signals.watch()  # PySpark takes SIGINT when it starts
                return _watched(pipeline, spark, arguments, signals)
        except (NotStarted, PageNotServedError) as error:
            told(error, arguments)
            return UNUSABLE
        except (RunCancelledError, KeyboardInterrupt):  # the latter before there was a run that could be stopped
            print("penstock run: cancelled", file=sys.stderr)
            return signals.status


def told(error: Exception, arguments: argparse.Namespace) -> None:
    """Say in one line what went wrong, below a traceback if one is asked for."""
    if arguments.traceback:
        traceback.print_exception(error.__cause__ or error if isinstance(error, NotStarted) else error)
    unusable = isinstance(error, NotStarted | PageNotServedError)
    text = str(error) if unusable else f"the pipeline failed: {said(error)}"
    print(f"penstock {arguments.command}: {text.removeprefix('run: ')}", file=sys.stderr)


def explained(pipeline: Any) -> Any:
    """Return the plan of a pipeline, or say why it cannot be run."""
    try:
        return pipeline.explain()
    except (PenstockError, TypeError, ValueError) as error:
        raise NotStarted(said(error) if isinstance(error, PenstockError) else str(error)) from error


def _conf(given: list[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise NotStarted(f"--conf must be KEY=VALUE, got {text!r}")
        found[key] = value
    return found


@contextmanager
def _spark(master: str | None, conf: Mapping[str, str]) -> Iterator[Spark | None]:
    """Start Spark if it is asked for; a pipeline that needs it and is given none starts its own."""
    if master is None and not conf:
        yield None
        return
    try:
        from penstock.spark import Spark  # noqa: PLC0415  a pipeline of this process needs none

        spark = Spark(master=master, conf=conf)
    except Exception as error:
        raise NotStarted(f"Spark could not be started: {said(error)}") from error
    with spark:
        yield spark


def _watched(pipeline: Pipeline[Any], spark: Spark | None, arguments: argparse.Namespace, signals: Signals) -> int:
    """Run to the end; a first signal stops, a second one cancels."""
    from penstock.run.display import display  # noqa: PLC0415  only a run is displayed

    try:
        started = pipeline.run(spark, arguments.checkpoint)
    except (PenstockError, TypeError, ValueError, ModuleNotFoundError) as error:
        raise NotStarted(str(error)) from error
    signals.control(started)
    try:
        if not arguments.quiet:
            with shown_or_not():
                display(started)
        result = started.wait()
    except RunCancelledError:
        raise
    except SetupError as error:
        raise NotStarted(said(error)) from error
    except Exception as error:
        if isinstance(error, BrokenPipeError) and reader_left():
            raise  # a function of the pipeline has printed
        told(error, arguments)
        return FAILED
    finally:
        _wait_for_loops()
    if signals.count:
        print("penstock run: stopped", file=sys.stderr)
        return signals.status
    return WELL if result is None else _printed(result, arguments)


def _printed(result: object, arguments: argparse.Namespace) -> int:
    """Print a result, or say why it cannot be shown."""
    try:
        text = str(result)
    except Exception as error:  # noqa: BLE001  whatever the result's own method raises
        if arguments.traceback:
            traceback.print_exception(error)
        print(f"penstock run: the pipeline has ended, and its result cannot be shown: {said(error)}", file=sys.stderr)
        return FAILED
    print(text)
    return WELL


def _wait_for_loops() -> None:
    """Wait for coroutines that were cancelled with the run: the process would end in the middle of them."""
    for thread in threading.enumerate():
        if thread.name == "penstock-loop":
            thread.join(_PATIENCE)
