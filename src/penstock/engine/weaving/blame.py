"""blame: say which step of a chain an error came from, without a cost while nothing fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePath
from types import TracebackType
from typing import Any

from penstock.engine.weaving.weave import WovenLoop
from penstock.engine.words.arguments import code_of, said_by, whole
from penstock.stage import Source, Stage, Step

_MARK = "in "
_OURS = str(PurePath(__file__).parents[2])
"""The folder of penstock, whose lines tell a user nothing."""
_CAUSE: Any = vars(BaseException)["__cause__"]
_TRACEBACK: Any = vars(BaseException)["__traceback__"]


def function_name(fn: object) -> str:
    """Return a readable name for a function or another callable."""
    fn = whole(fn)
    names = (said_by(fn, "__qualname__"), said_by(fn, "__name__"))
    said = [name for name in names if isinstance(name, str) and name]
    return said[0].replace("<locals>.", "") if said else type(fn).__name__


def place_of(fn: object) -> str:
    """Return `, file.py:12` for a function of a user's that is written in Python, else nothing."""
    code = code_of(fn)
    if code is None or code.co_filename.startswith(_OURS):
        return ""
    return f", {PurePath(code.co_filename).name}:{code.co_firstlineno}"


def operator_name(step: Step | Source[Any]) -> str:
    """Return the operator's name as users write it: that of its module, or `drop_repeats` for DropRepeats.

    A step that stands for others in a run has their names.
    """
    stood: Any = getattr(step, "stands_for", None)
    if stood is not None:
        return " | ".join(map(operator_name, stood if isinstance(stood, tuple) else (stood,)))
    package, _, module = type(step).__module__.rpartition(".")
    if package == "penstock.operators":
        return module
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in type(step).__name__).strip("_")


def callable_of(step: object) -> object | None:
    """Return the first field of a step that is a function, or None."""
    for field in dataclasses.fields(step):  # type: ignore[arg-type]
        value: object = getattr(step, field.name)
        if callable(value):
            return value
    return None


def _raised_in(step: object, traceback: TracebackType | None) -> object | None:
    """Return the function of a step whose frame stands right below the loop's, or else its first one."""
    below = None if traceback is None else traceback.tb_next
    for field in dataclasses.fields(step) if below is not None else ():  # type: ignore[arg-type]
        fn = whole(getattr(step, field.name))
        if code_of(fn) is below.tb_frame.f_code:  # type: ignore[union-attr]
            return fn
    return callable_of(step)


def describe(step: Step) -> str:
    """Return `map(parse_line)` for a step with a function, else its operator's name."""
    stood: Any = getattr(step, "stands_for", None)
    if stood is not None:
        return " | ".join(map(describe, stood if isinstance(stood, tuple) else (stood,)))
    fn = callable_of(step)
    return operator_name(step) if fn is None else f"{operator_name(step)}({function_name(fn)})"


def text_of(error: BaseException) -> str:
    """Return what an error says; one whose own words raise is told of as Python does it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  the error itself is what matters
        return "<exception str() failed>"


def notes_of(error: BaseException) -> list[str]:
    """Return the notes on an error; what is no note, and an error that will not say, count for nothing."""
    try:
        return [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    except Exception:  # noqa: BLE001  the error itself is what matters
        return []


def add_note(error: BaseException, note: str) -> None:
    """Add a note; an error that takes none, one of a frozen dataclass say, stays as it is."""
    with suppress(Exception):
        error.add_note(note)


def note_on(error: BaseException, note: str) -> None:
    """Add a note unless an inner chain has said already where the error was raised."""
    if not any(known.startswith(_MARK) for known in notes_of(error)):
        add_note(error, note)


def caused_by(error: Exception, cause: BaseException) -> Exception:
    """Give an error a cause if it has none, as `raise ... from` does, which asks no class whether it may."""
    if error is not cause and _CAUSE.__get__(error) is None:
        _CAUSE.__set__(error, cause)
    return error


Where = tuple[Sequence[Stage[Any, Any]], WovenLoop, int, int, Callable[[Exception, int], None] | None]
"""A segment's stages, the loop of theirs that failed, how many steps come before them, how many there are, and what
notes where a step was built."""


def blamed(error: Exception, step: Step | Source[Any], fn: object) -> Exception:
    """Note which function of a step raised, for steps that call functions themselves; a stop is made an error."""
    name = f"{operator_name(step)}({function_name(fn)})"
    error = no_stop(error, f"{name}: the function")
    note_on(error, f"{_MARK}{name}{place_of(fn)}")
    return error


def no_stop(error: Exception, who: str) -> Exception:
    """Make an error of a stop that leaks: PEP 479 for every form of the loop, it is a mistake and not an end."""
    if not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    return caused_by(RuntimeError(f"{who} raised {type(error).__name__}; that is an error, not an end"), error)


def owner_in(loop: WovenLoop, error: Exception) -> int:
    """Return which stage wrote the line of the loop that failed, or -1 if the source did."""
    traceback = _TRACEBACK.__get__(error)
    return -1 if traceback is None else loop.owners[traceback.tb_lineno - 1]


def blame(error: Exception, where: Where) -> Exception:
    """Note the step that failed by the loop's line; a stop that leaks from a user's function is made an error."""
    stages, loop, first, _, trace = where
    owner = owner_in(loop, error)
    error = _noted(error, where, owner)
    if trace is not None:
        trace(error, first + max(owner + 1, loop.first))
    for stage in stages[max(owner + 1, loop.first) : loop.stop]:
        stage.saw(error)
    return error


def _noted(error: Exception, where: Where, owner: int) -> Exception:
    stages, loop, first, total, _ = where
    if owner < 0:
        error = no_stop(error, "the source")
        if first + loop.first == 0:
            note_on(error, f"{_MARK}the source")
        return error
    step = stages[owner]
    fn = _raised_in(step, _TRACEBACK.__get__(error))
    name = operator_name(step) if fn is None else f"{operator_name(step)}({function_name(fn)})"
    error = no_stop(error, f"{name}: the function")
    note_on(error, f"{_MARK}{name}, step {first + owner + 1} of {total}{place_of(fn)}")
    return error
