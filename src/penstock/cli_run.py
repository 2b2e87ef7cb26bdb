"""cli_run: `penstock run file.py`, which runs the pipeline of a file and shows how far it is.

Exit status: 0 the pipeline has ended well, 1 it failed, 2 it could not be started (no such file, no pipeline in it, a
wrong option, no Spark), 130 it was stopped by SIGINT, after what was inside had come to its end.
"""

from __future__ import annotations

import argparse
import runpy
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, RunCancelledError
from penstock.flow import Pipeline
from penstock.page.options import PageNotServedError, add_page, paged

if TYPE_CHECKING:
    from penstock.run import Run
    from penstock.spark import Spark

WELL, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130


class NotStarted(Exception):
    """The reason why nothing was started."""


def add_run(commands: Any) -> None:
    """Add the command `run` to the subparsers of a parser."""
    command = commands.add_parser(
        "run",
        help="run the pipeline of a Python file",
        description="Run the pipeline of a Python file, in this process or on Spark.",
        epilog="Exit status: 0 it ended well; 1 it failed; 2 it could not be started; 130 it was stopped by SIGINT.",
    )
    add = command.add_argument
    add("file", help="Python file that defines the pipeline; it is not run as __main__")
    add("--name", default="pipeline", help="name of the pipeline in the file (default: pipeline)")
    add("--master", help="where Spark runs: local[4], spark://host:7077 (default: local[*] if a part needs Spark)")
    add("--conf", action="append", default=[], metavar="KEY=VALUE", help="setting of Spark; may be repeated")
    add("--checkpoint", metavar="DIR", help="folder from which a stopped run goes on")
    add("--explain", action="store_true", help="show what would run where, and run nothing")
    add("--quiet", action="store_true", help="show no progress")
    add_page(command)


def add_prepare(commands: Any) -> None:
    """Add the command `prepare` to the subparsers of a parser."""
    commands.add_parser(
        "prepare",
        help="archive Spark's classes once, so that Spark starts in about half the time",
        description="Archive Spark's classes once, so that Spark starts in about half the time; takes some minutes.",
        epilog="Exit status: 0 the archive is there; 2 it could not be written.",
    )


def prepare() -> int:
    """Run the command `prepare` and return its exit status."""
    try:
        from penstock.spark import prepare as archive  # noqa: PLC0415  only this command needs PySpark

        print(archive())
    except (PenstockError, ImportError, OSError) as error:
        print(f"penstock {error}", file=sys.stderr)
        return UNUSABLE
    return WELL


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    try:
        pipeline = _pipeline(Path(arguments.file), arguments.name)
        if arguments.explain:
            print(pipeline.explain())
            return WELL
        with paged(arguments), _spark(arguments.master, _conf(arguments.conf)) as spark:
            return _watched(pipeline, spark, arguments.checkpoint, quiet=arguments.quiet)
    except (NotStarted, PageNotServedError) as error:
        print(f"penstock run: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:  # before there was a run that could be stopped
        print("penstock run: cancelled", file=sys.stderr)
        return INTERRUPTED


def _pipeline(file: Path, name: str) -> Pipeline[Any]:
    if not file.is_file():
        raise NotStarted(f"there is no file {str(file)!r}")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as Python does for a script
    try:
        found = runpy.run_path(str(file), run_name="penstock_pipeline")
    except Exception as error:
        traceback.print_exc()
        raise NotStarted(f"{file} failed: {type(error).__name__}: {error}") from error
    if name not in found:
        known = sorted(key for key, value in found.items() if isinstance(value, Pipeline))
        raise NotStarted(f"{file} has no {name!r}; {_pipelines(known)}")
    made = found[name]
    if not isinstance(made, Pipeline):
        raise NotStarted(f"{name!r} in {file} must be a Pipeline (source | ... | sink), got {made!r}")
    return made


def _pipelines(known: list[str]) -> str:
    return f"its pipelines are: {', '.join(known)}; say --name" if known else "it has no pipeline"


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
    from penstock.spark import Spark  # noqa: PLC0415  a pipeline of this process needs none

    try:
        spark = Spark(master=master, conf=conf)
    except Exception as error:
        raise NotStarted(f"Spark could not be started: {error}") from error
    with spark:
        yield spark


def _watched(pipeline: Pipeline[Any], spark: Spark | None, checkpoint: str | None, *, quiet: bool) -> int:
    """Run to the end; a first SIGINT stops, a second one cancels."""
    from penstock.run.display import display  # noqa: PLC0415  only a run is displayed

    signals = _Interrupts()
    before = signal.signal(signal.SIGINT, signals.interrupt)
    try:
        try:
            started = pipeline.run(spark, checkpoint)
        except (PenstockError, TypeError, ValueError) as error:
            raise NotStarted(str(error)) from error
        signals.control(started)
        if not quiet:
            display(started)
        result = started.wait()
    except RunCancelledError:
        print("penstock run: cancelled", file=sys.stderr)
        return INTERRUPTED
    except NotStarted:
        raise
    except Exception:  # noqa: BLE001  it is shown
        traceback.print_exc()
        return FAILED
    finally:
        signal.signal(signal.SIGINT, before)
    if signals.count:
        print("penstock run: stopped", file=sys.stderr)
        return INTERRUPTED
    if result is not None:
        print(result)
    return WELL


class _Interrupts:
    """The handler of SIGINT: the first stops, the second cancels; one during the start counts once the run began."""

    def __init__(self) -> None:
        self._run: Run[Any] | None = None
        self.count = 0

    def control(self, run: Run[Any]) -> None:
        self._run = run
        if self.count:
            self._act(run)

    def interrupt(self, *_: object) -> None:
        self.count += 1
        if self.count == 1:
            print("penstock run: stopping; once more to cancel", file=sys.stderr)
        if self._run is not None:
            self._act(self._run)
        elif self.count > 1:
            raise KeyboardInterrupt

    def _act(self, run: Run[Any]) -> None:
        if self.count == 1:
            run.stop()
        else:
            run.cancel()
