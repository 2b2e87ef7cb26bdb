"""reader: read a source by one ask at a time, and abort it at most once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import get_ident
from typing import Any

from penstock.pull.ground.depth import FLIGHT, descend, land, level_above
from penstock.pull.ground.desk import Confirm
from penstock.pull.ground.marks import OVER, Mark, at_once_of
from penstock.pull.ground.protocol import Answer, End, Read, end_of, raised, read_raised, twice, worst
from penstock.pull.ground.turn import Turn


class SourceReader:
    """The reader in front of a source: it asks for nothing while an answer is out, and for nothing after the end.

    What the source answers is passed on in the turn of the module that reads. A second answer is reported and ignored.
    """

    __slots__ = (
        "_above", "_confirms", "_landing", "_later", "_number", "_on_end", "_on_value", "_read", "_turn", "asking",
        "end", "level",
    )  # fmt: skip

    def __init__(
        self, read: Read, on_value: Callable[[Any], object], on_end: Callable[[End], object], turn: Turn
    ) -> None:
        self._read = read
        self._above = at_once_of(read)
        self.level = level_above(read)
        self._landing = self.level >= FLIGHT
        if self._landing:
            self.level = 0
        self._on_value = on_value
        self._on_end = on_end
        self._turn = turn
        self._later = self._answer
        self._number = 0
        self._confirms: list[Confirm] = []
        self.asking = False
        """Whether an answer is out."""
        self.end: End | None = None

    def ask(self) -> bool:
        """Ask for a value, unless one is on its way or none will come; tell whether there is nothing but to wait."""
        if self.asking or self.end is not None:
            return True
        self.asking = True
        self._number += 1
        above = self._above
        if self._landing:
            land(self._ask)
        elif above is None:
            descend(self._ask)
        else:
            try:
                found = above.at_once(self._later)
                if found.__class__ is not Mark:
                    self.asking = False
                    if self.end is None:
                        self._on_value(found)
                elif found is OVER:
                    self._take(self._number, above.end, None)
            except Exception as error:  # noqa: BLE001  property F10
                self._broke(error)
        return self.asking or self.end is not None

    def _ask(self) -> None:
        if self.end is not None:
            self.asking = False  # aborted before it was asked
            return
        try:
            self._read(None, self._answer())
        except Exception as error:  # noqa: BLE001  property F10
            self._turn.run(self._broke, error)

    def _answer(self) -> Answer:
        return partial(self._answered, self._number)

    def _answered(self, number: int, end: bool | Exception | None, value: Any = None, /) -> None:
        if self._landing:
            land(self._turn.run, self._take, number, end, value)
        elif self._turn.owner == get_ident():
            self._take(number, end, value)
        elif self._above is None:
            descend(self._turn.run, self._take, number, end, value)
        else:
            self._turn.run(self._take, number, end, value)

    def _take(self, number: int, end: bool | Exception | None, value: Any) -> None:
        if number != self._number or not self.asking:
            twice(number)
            return
        self.asking = False
        if self.end is not None:
            return  # aborted meanwhile; a value that comes all the same is dropped
        if end is None or end is False:
            self._on_value(value)
        else:
            found = end_of(end)
            assert found is not None
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
        if self._landing:
            land(self._abort, end)
        elif self._above is None:
            descend(self._abort, end)
        else:
            self._abort(end)

    def _abort(self, end: End) -> None:
        try:
            self._read(end, self._aborted)
        except Exception as error:  # noqa: BLE001  property F10
            self._turn.run(self._confirmed, raised(error))

    def _aborted(self, end: bool | Exception | None, value: Any = None, /) -> None:
        if self._landing:
            land(self._turn.run, self._confirmed, worst(end))
        elif self._above is None:
            descend(self._turn.run, self._confirmed, worst(end))
        else:
            self._turn.run(self._confirmed, worst(end))

    def _confirmed(self, end: End) -> None:
        confirms, self._confirms = self._confirms, []
        for confirm in confirms:
            confirm(end)


def abort_all(readers: Sequence[SourceReader], end: End, confirm: Confirm) -> None:
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


def level_of(readers: Iterable[SourceReader]) -> int:
    """Return how many modules stand above one that reads all these, in the longest row since a landing."""
    return max((reader.level for reader in readers), default=0)
