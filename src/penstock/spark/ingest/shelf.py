"""shelf: the record batches that Spark may read, by the numbers of their rows, and where these stand in their source.

It has no lock: its owner holds one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from penstock.spark.ingest.supply import IngestError, Place, Places, as_json


class Shelf:
    """Batches of rows in a row, from some number on."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._batches: list[Any] = []
        self._places: list[Places | None] = []
        self._expected: tuple[int, Place] | None = None
        """A row up to which a restarted query had planned, and the place that was behind it then."""

    @property
    def first(self) -> int | None:
        """Return the number of the first row; None if there is none."""
        return self._starts[0] if self._starts else None

    def expect(self, row: int, place: Place) -> None:
        """Know which place a restarted query had behind a row; another one means that the source gives other rows."""
        self._expected = (row, place)

    def check(self, start: int, rows: int, places: Places | None) -> None:
        """Refuse rows that are not those which a restarted query had planned."""
        if self._expected is None or places is None:
            return
        row, said = self._expected
        if start < row <= start + rows:
            found = as_json(places.behind(row - start - 1))
            if found != said:
                raise IngestError(
                    f"frame: row {row - 1} is at {found!r:.200} now, and was at {said!r:.200} when Spark planned it;"
                    " the stream gives something else than before"
                )

    def add(self, start: int, batch: Any, places: Places | None = None) -> None:
        """Take a batch whose first row has the given number."""
        self._starts.append(start)
        self._batches.append(batch)
        self._places.append(places)

    def forget(self, row: int) -> None:
        """Let go of the batches whose rows all come before one."""
        gone = max(0, bisect_right(self._starts, row) - 1)
        while gone < len(self._starts) and self._starts[gone] + self._batches[gone].num_rows <= row:
            gone += 1
        del self._starts[:gone], self._batches[:gone], self._places[:gone]

    def between(self, first: int, end: int) -> list[Any]:
        """Return the rows of a range, in slices of the batches that have them."""
        some = slice(bisect_right(self._starts, first) - 1, bisect_left(self._starts, end))
        found = zip(self._starts[some], self._batches[some], strict=True)
        return [
            batch.slice(max(first - start, 0), min(end, start + batch.num_rows) - max(first, start))
            for start, batch in found
        ]

    def place(self, row: int) -> Place | None:
        """Return the place before a row, which is behind the one before it; None if there are no places."""
        index = bisect_right(self._starts, row - 1) - 1
        places = self._places[index] if index >= 0 else None
        return None if places is None else as_json(places.behind(row - 1 - self._starts[index]))
