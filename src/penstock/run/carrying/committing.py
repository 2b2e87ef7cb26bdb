"""committing: the sources of one run that are told what is done, and the folder in which their positions are kept."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from penstock.engine.places.clocks import SYSTEM_CLOCK, Cancel
from penstock.engine.runs.chain import Chain, inner_chains
from penstock.engine.weaving.blame import describe, operator_name
from penstock.errors import PenstockError
from penstock.operators.resumable import Resumable
from penstock.run.branches import Branches
from penstock.run.carrying.entrance import SourceRun
from penstock.run.carrying.lifting import Lifting, wants_commits
from penstock.run.carrying.straight import StraightSource, is_straight
from penstock.run.resumption import Resumption
from penstock.run.valves.valve import Valved
from penstock.stage import Source
from penstock.stream import Stream

OFTEN = 0.1
"""Seconds after which positions are written again, whether or not others come; those of the end always are."""
POSITIONS, OWNER = "positions.json", "pipeline"
"""The files by which the checkpoint of a run in this process is known, and that of a run on Spark."""


class CommitError(PenstockError):
    """The error that a source could not be told, at the end of a run, what is done; it may give that again."""


def check_told(failures: list[Exception]) -> None:
    """Refuse a run that has its result if a source could not be told of the end."""
    if failures:
        first = failures[0]
        raise CommitError(f"run: a source could not be told what is done at the end: {first!r}") from first


class Committing:
    """What a run does besides its chain: tell sources what is done, and keep their positions."""

    def __init__(self, chain: Chain, checkpoint: str | Path | None = None) -> None:
        self._places = None if checkpoint is None else KeptPositions(_folder(checkpoint), _said(chain))
        marked = self._marked if checkpoint is not None else wants_commits
        lifting = Lifting(marked, self._begin)
        self._runs = lifting.runs
        self.chain = lifting.whole(chain)
        """The chain over elements that carry their marks."""
        self.straight = Chain(StraightSource(self._runs[0], chain)) if is_straight(chain, marked) else None
        """The same without marks, where elements need none; a listener would not see its steps."""
        if checkpoint is not None and lifting.cuts:
            raise PenstockError(
                "run: a sink that tells the source what is done keeps the position; leave out checkpoint"
            )

    @staticmethod
    def needed(chain: Chain) -> bool:
        """Tell whether a chain has a source that is to be told what is done."""
        waiting = [chain]
        while waiting:  # chains may be nested deeper than Python's stack
            source = waiting.pop().source
            if wants_commits(source):
                return True
            waiting.extend(inner_chains(source))
        return False

    @staticmethod
    def _marked(source: Source[Any]) -> bool:
        """Tell whether a source is one whose positions are kept; it goes on behind them, or is refused."""
        if isinstance(source, Branches | Valved) or inner_chains(source):
            return False
        Resumption.of(Stream(Chain(source)))
        return True

    def _begin(self, source: Source[Any], bounded: bool) -> SourceRun:
        window = source.window if bounded and isinstance(source, Resumable) else None
        places = self._places
        if places is None:
            return SourceRun(source, window, None)
        number = len(self._runs)
        return SourceRun(source, window, places.at(number), partial(places.keep, number))

    def on_failure(self, fn: Callable[[Exception], None]) -> None:
        """Have a function told if a source fails to take note of what is done."""
        for run in self._runs:
            run.marks.on_failure = fn

    def cancel(self) -> None:
        """Tell the sources no more."""
        for run in self._runs:
            run.marks.close()

    def close(self) -> None:
        """Let go of the sources, behind the last thing that they are told, and write the last positions."""
        for run in self._runs:
            run.close()
        failures: list[Exception] = []
        for end in (*(run.wait for run in self._runs), self._write):
            try:
                end()
            except Exception as error:  # noqa: BLE001  the other sources are waited for as well
                failures.append(error)
        check_told(failures)

    def _write(self) -> None:
        if self._places is not None:
            self._places.close()


def _said(chain: Chain) -> str:
    """Return what a pipeline is made of in words, with the chains inside of it."""
    texts: list[str] = []
    waiting: list[Chain | str] = [chain]
    while waiting:  # chains may be nested deeper than Python's stack
        at = waiting.pop()
        if isinstance(at, str):
            texts.append(at)
            continue
        source = at.source
        inner = inner_chains(source)
        if isinstance(source, Branches):
            inner += [end._chain for end in source.ends]
        between: list[Chain | str] = [part for each in inner for part in (each, ", ")][:-1]
        if not isinstance(source, Valved):
            between = [operator_name(source), *(("(", *between, ")") if inner else ())]
        waiting.extend(reversed([*between, *[f" | {describe(step)}" for step in at.steps]]))
    return "".join(texts)


def _folder(given: object) -> Path:
    """Return the folder of a checkpoint, which is made if it is not there; refuse what is none."""
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"run: checkpoint must be the path of a folder, got {given!r}")
    folder = Path(given)
    if "://" in str(given):
        raise ValueError(f"run: checkpoint of a run in this process must be a folder of this machine, got {given!r}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise PenstockError(f"run: checkpoint must be a folder that can be written, got {folder}: {reason}") from error
    if (folder / OWNER).is_file():
        raise PenstockError(f"run: {folder} is the checkpoint of a run on Spark; give this one another folder")
    return folder


class KeptPositions:
    """A folder that keeps the positions of a run's sources, so that another run goes on behind them."""

    def __init__(self, folder: Path, chain: str) -> None:
        self._file = folder / POSITIONS
        self._chain = chain
        self._lock = Lock()
        self._changed = False
        self._written = 0.0
        self._call_off: Cancel | None = None
        """What calls off the next writing, if one is to come by itself."""
        self._closed = False
        self._positions: dict[str, Any] = {}
        try:
            found = json.loads(self._file.read_text())
            before, self._positions = found["chain"], dict(found["positions"])
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError) as error:
            raise PenstockError(
                f"run: {self._file} is no file of positions: {error!r}; give another folder, or remove it to begin anew"
            ) from error
        if before != chain:
            raise PenstockError(
                f"run: the checkpoint in {folder} is of another pipeline: it was {before}, and is {chain}; "
                "give another folder, or the same pipeline"
            )

    def at(self, number: int) -> Any:
        """Return the position of a source, None if it has none yet."""
        return self._positions.get(str(number))

    def keep(self, number: int, position: Any) -> None:
        """Keep the position of a source; it is written soon."""
        with self._lock:
            self._positions[str(number)] = position
            self._changed = True
            left = self._written + OFTEN - SYSTEM_CLOCK.now()
            if left > 0 and self._call_off is None and not self._closed:
                self._call_off = SYSTEM_CLOCK.call_later(left, self._write_later)
        if left <= 0:
            self.write()

    def _write_later(self) -> None:
        with self._lock:
            self._call_off = None
        try:
            self.write()
        except Exception:  # noqa: BLE001  the next position is written at once, and fails as well, where it is told
            with self._lock:
                self._changed, self._written = True, 0.0

    def close(self) -> None:
        """Write the last positions, and none by itself any more."""
        with self._lock:
            self._closed = True
            call_off, self._call_off = self._call_off, None
        if call_off is not None:
            call_off()
        self.write()

    def write(self) -> None:
        """Write the positions in the place of those before; the file is whole at any moment."""
        with self._lock:
            if not self._changed:
                return
            self._changed = False
            self._written = SYSTEM_CLOCK.now()
            try:
                text = json.dumps({"chain": self._chain, "positions": self._positions})
            except (TypeError, ValueError) as error:
                found = ", ".join(map(repr, self._positions.values()))
                raise TypeError(f"run: a checkpoint keeps positions that are JSON values, got {found:.200}") from error
            part = self._file.with_suffix(".part")
            with part.open("w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._file)


__all__ = ["OWNER", "POSITIONS", "CommitError", "Committing", "KeptPositions", "check_told"]
