"""loading: take a pipeline from a file, or say in one sentence why there is none."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

from penstock.engine.weaving.blame import notes_of, text_of
from penstock.errors import PenstockError
from penstock.flow import Pipeline

USUAL = "pipeline"
"""The name that is looked for first."""


class NotStarted(Exception):
    """The reason why nothing was started, in one sentence."""


def pipeline_of(file: Path, name: str | None, kinds: tuple[type, ...] = (Pipeline,)) -> Any:
    """Run a file and return the pipeline of that name; without a name `pipeline`, or the only one there is."""
    if not file.is_file():
        meant = file.parent / f"{file.name}.py"
        cure = "; it is a folder" if file.is_dir() else f"; there is {str(meant)!r}" if meant.is_file() else ""
        raise NotStarted(f"there is no file {str(file)!r}{cure}")
    found = _run(file)
    known: dict[int, tuple[str, Any]] = {}
    for key, value in found.items():
        if isinstance(value, kinds) and not key.startswith("_"):
            known.setdefault(id(value), (key, value))  # another name for the same one is no choice
    names = sorted(key for key, _ in known.values())
    if name is None and USUAL not in found:
        if len(names) == 1:
            return found[names[0]]
        if names:
            raise NotStarted(f"{file} has several pipelines: {', '.join(names)}; say which with --name")
        raise NotStarted(f"{file} has no pipeline; give one a name in it: {USUAL} = source | ... | sink")
    wanted = name or USUAL
    if wanted not in found:
        cure = f"its pipelines are: {', '.join(names)}; say --name" if names else "it has no pipeline"
        raise NotStarted(f"{file} has no {wanted!r}; {cure}")
    made = found[wanted]
    if not isinstance(made, kinds):
        others = "".join(f" or a {kind.__name__}" for kind in kinds[1:])
        raise NotStarted(f"{wanted!r} in {file} must be a Pipeline (source | ... | sink){others}, got {made!r}")
    return made


def _run(file: Path) -> dict[str, Any]:
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as Python does for a script
    try:
        return runpy.run_path(str(file), run_name="penstock_pipeline")
    except SystemExit as error:
        raise NotStarted(f"{file}{_line(error, file)} ended the program with sys.exit({error.code!r})") from error
    except Exception as error:
        raise NotStarted(f"{file}{_line(error, file)} failed: {said(error)}") from error


def _line(error: BaseException, file: Path) -> str:
    """Return `, line 3` for the last line of the file that led to an error."""
    number = error.lineno if isinstance(error, SyntaxError) and error.filename == str(file) else None
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(file):
            number = at.tb_lineno
        at = at.tb_next
    return "" if number is None else f", line {number},"


def said(error: BaseException) -> str:
    """Return an error in one line: its type, unless its message says all, the first line of that, and its notes."""
    text = (error.msg if isinstance(error, SyntaxError) else text_of(error)).strip()
    first = text.splitlines()[0].rstrip("; ") if text else ""
    name = type(error).__name__
    plain = isinstance(error, PenstockError | ModuleNotFoundError) or first.startswith(f"{name}:")
    notes = [*getattr(error, "remote_notes", ()), *notes_of(error)]
    return "; ".join([first if plain and first else f"{name}: {first}" if first else name, *notes])


__all__ = ["NotStarted", "pipeline_of", "said"]
