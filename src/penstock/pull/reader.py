"""reader: read a source by one ask at a time, and abort it at most once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from penstock.pull.desk import Confirm
from penstock.pull.protocol import End, Read, end_of, raised, read_raised, twice, worst
from penstock.pull.turn import Turn


class Reader:
    """Stand before a source: ask for nothing while an answer is out, and for nothing after the end.

    What the source answers is passed on in the turn of the module that reads. A second answer is reported and ignored.
    """

    __slots__ = ("_confirms", "_number", "_on_end", "_on_value", "_read", "_turn", "asking", "end")

    def __init__(
        self, read: Read, on_value: Callable[[Any], object], on_end: Callable[[End], object], turn: Turn
    ) -> None:
        self._read = read
        self._on_value = on_value
        self._on_end = on_end
        self._turn = turn
        self._number = 0
        self._confirms: list[Confirm] = []
        self.asking = False
        """Whether an answer is out."""
        self.end: End | None = None

    def ask(self) -> bool:
        """Ask for a value, unless one is on its way or none will come; tell whether there is nothing but to wait."""
        if not self.asking and self.end is None:
            self.asking = True
            self._number += 1
            try:
                self._read(None, partial(self._answered, self._number))
            except Exception as error:  # noqa: BLE001  property F10
                self._broke(error)
        return self.asking or self.end is not None

    def _answered(self, number: int, end: bool | Exception | None, value: Any = None, /) -> None:
        self._turn.run(self._take, number, end, value)

    def _take(self, number: int, end: bool | Exception | None, value: Any) -> None:
        if number != self._number or not self.asking:
            twice(number)
            return
        self.asking = False
        if self.end is not None:
            return  # aborted meanwhile; a value that comes all the same is dropped
        found = end_of(end)
        if found is None:
            self._on_value(value)
        else:
            self.end = found
            self._on_end(found)

    def _broke(self, error: Exception) -> None:
        self.asking = False
        if self.end is None:
            self.end = raised(error)
            self._on_end(self.end)
        else:
            read_raised(error)

    def abort(self, end: End, confirm: Confirm) -> None:
        """Abort, and pass the confirmation on; a source that has ended needs no abort, and no source a second one."""
        if self.end is not None and not self._confirms:
            confirm(self.end)
            return
        self._confirms.append(confirm)
        if self.end is not None:
            return
        self.end = end
        try:
            self._read(end, self._aborted)
        except Exception as error:  # noqa: BLE001  property F10
            self._confirmed(raised(error))

    def _aborted(self, end: bool | Exception | None, value: Any = None, /) -> None:
        self._turn.run(self._confirmed, worst(end))

    def _confirmed(self, end: End) -> None:
        confirms, self._confirms = self._confirms, []
        for confirm in confirms:
            confirm(end)


def abort_all(readers: Sequence[Reader], end: End, confirm: Confirm) -> None:
    """Abort every source that has not ended, and confirm when the last one has; the first failed close is told."""
    left = [reader for reader in readers if reader.end is None]
    found: bool | Exception | None = True
    if not left:
        confirm(True)
        return
    count = len(left)

    def one(ended: bool | Exception | None) -> None:
        nonlocal count, found
        count -= 1
        if found is True:
            found = ended
        if not count:
            confirm(found)

    for reader in left:
        reader.abort(end, one)
