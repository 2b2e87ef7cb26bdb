"""assembly: remember where a chain was built, and say so with an error; nothing is kept unless it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import PurePath
from threading import Lock
from typing import Any

from penstock.engine.weaving.blame import add_note, describe, notes_of, operator_name
from penstock.stage import Source, Step

_BUILT = "built at"


class _Tracing:
    """The number of blocks that asked for traces; chains may be built on several threads."""

    __slots__ = ("_lock", "_wanted", "on")

    def __init__(self, wanted: int) -> None:
        self._lock = Lock()
        self._wanted = wanted
        self.on = wanted > 0

    def add(self, count: int) -> None:
        with self._lock:
            self._wanted += count
            self.on = self._wanted > 0


tracing = _Tracing(int(os.environ.get("PENSTOCK_TRACE", "") not in {"", "0"}))


class assembly_trace:  # noqa: N801  reads as a word; contextlib's own would set the traceback of what is raised inside
    """A context manager: streams built inside the block remember where each of their steps was written.

    An error of such a stream has a note with the file and the line of every step, also if it runs after the block. The
    environment variable PENSTOCK_TRACE=1 asks for the same in the whole program.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        tracing.add(1)

    def __exit__(self, *exc: object) -> None:
        tracing.add(-1)


def place_here() -> str:
    """Return `file.py:12` for the innermost line that is not penstock's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "penstock":
        frame = frame.f_back
    return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"


def places_with(places: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return places for `count` steps, the last of which is being added here; those that are not known are empty."""
    if len(places) >= count:
        return places
    return (*places, *[""] * (count - len(places) - 1), place_here())


def note_built(
    source: Source[Any], steps: Sequence[Step], places: tuple[str, ...], error: BaseException, index: int
) -> None:
    """Note on an error where its chain was built, and that it came from step `index`, unless it is known."""
    if any(known.startswith(_BUILT) for known in notes_of(error)):
        return
    names = [operator_name(source), *map(describe, steps)]
    known_places = [place or "?" for place in (*places, *[""] * (len(names) - len(places)))]
    width = max(map(len, known_places))
    lines = [
        f"{'>' if at == index else ' '} {place:{width}}  {name}"
        for at, (place, name) in enumerate(zip(known_places, names, strict=True))
    ]
    add_note(error, "\n".join([f"{_BUILT}:", *lines]))
