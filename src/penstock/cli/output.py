"""output: what the command prints arrives, or the command says in one sentence why it cannot."""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.cli.status import LEFT, UNUSABLE

_LINES = {ord(line): plain for line, plain in zip("├─│", "|-|", strict=True)}


def printed(carry_out: Callable[[], int]) -> int:
    """Carry out a command and return its exit status, whatever becomes of its output.

    A reader that has left early (`| head -1`) has what it wanted. Characters that the terminal does not have (LANG=C)
    are written in those that it has. Where there is no output at all (`>&-`), nothing is printed.
    """
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="penstock.plain")
    try:
        try:
            return carry_out()
        finally:
            sys.stdout.flush()  # the interpreter would print a failure of it when the status is fixed already
    except BrokenPipeError:
        sys.stdout = _nowhere()
        return LEFT
    except OSError as error:
        if error.filename is not None:
            raise
        sys.stdout = _nowhere()
        print(f"penstock: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        return UNUSABLE


@contextmanager
def shown_or_not() -> Iterator[None]:
    """Leave it at that if what tells how far a command is cannot be written, since the command is about something else.

    A reader that has left is another matter: it wants no more of all of it.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        sys.stderr = _nowhere()


def reader_left() -> bool:
    """Tell whether the standard output is a pipe whose reader has left."""
    try:
        asked = select.poll()  # there is none on Windows
        asked.register(sys.stdout, 0)
        return any(told & (select.POLLERR | select.POLLHUP) for _, told in asked.poll(0))
    except (AttributeError, OSError, ValueError):
        return False


def _nowhere() -> io.TextIOWrapper:
    return Path(os.devnull).open("w", encoding="utf-8")


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Draw lines with the characters of a keyboard, and write others as Python does."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_LINES)
    return (text if text.isascii() else text.encode("ascii", "backslashreplace").decode("ascii")), error.end


codecs.register_error("penstock.plain", _plain)
