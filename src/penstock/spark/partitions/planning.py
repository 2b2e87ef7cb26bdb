"""planning: decide what a micro-batch reads of each part, from what is known of how far the parts have come.

How far a part may be read is said by the user's `latest`, or seen by executors: one that has read its rows asks for
some more, as many as the part's limit, and tells how many are there. Only rows that are known to be there are planned.
A part without any is left alone: its reader stays open on an executor and tells when rows come. Such a reader may be
lost with its process, so the part is looked at again by a task, ever less often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.spark.partitions.positions import Offset, PartError, PartName, key_of, part_of

FIRST_LIMIT = 10_000
"""Rows of a part in its first micro-batches, before its pace is known."""
SMALLEST_LIMIT = 100
GROWTH, SHRINKAGE, SLACK = 8, 4, 1.25
FIRST_LOOK, LAST_LOOK = 1.0, 10.0
"""Seconds until a part without rows is looked at again by a task: at first, and at most."""


@dataclass(slots=True)
class PartProgress:
    """What is known of one part."""

    limit: int
    seen: int = -1
    """The number of the first row that is not known to be there; -1 if nothing is known."""
    ended: bool = False
    failed: bool = False
    look_at: float = 0.0
    """When the part is to be looked at by a task if nothing is heard of it."""
    pause: float = FIRST_LOOK

    warm: bool = False
    """Whether a task has read of it; the first one also tells how long a process takes to warm up."""

    def paced(self, rows: int, seconds: float, budget: float, most: int) -> None:
        """Adapt how many rows are read at a time, so that they take about `budget` seconds."""
        warm, self.warm = self.warm, True
        if seconds > budget and not warm:
            return
        if seconds > budget:
            fewer = max(int(rows * budget / seconds), self.limit // SHRINKAGE)
            self.limit = max(min(self.limit, fewer), min(self.limit, SMALLEST_LIMIT))
        elif rows >= self.limit and SLACK * seconds <= budget:
            growth = min(GROWTH, budget / seconds) if seconds else GROWTH
            self.limit = min(most, int(self.limit * growth))


@dataclass(frozen=True, slots=True)
class PartRange:
    """What one task reads: the rows of a part from `first` to `end`, and then how far it looks ahead."""

    run: str
    part: PartName
    first: int
    end: int
    ahead: int
    """Rows beyond `end` that may be asked for and held."""
    patience: float
    """Seconds that the task waits for those."""


@dataclass(frozen=True, slots=True)
class PartSettings:
    """What the user has said about a partitioned stream."""

    parts: Callable[[], Iterable[PartName]]
    start: Callable[[Any], int]
    latest: Callable[[Any], int] | None
    live: bool
    """Whether a part may have to be waited for; else its rows are there, to its end."""
    capacity: int
    """The most rows of a part in a micro-batch, and the most that its reader holds."""
    latency: float
    tasks: int
    """How many tasks run at once, as far as is known."""

    @property
    def looks(self) -> bool:
        """Tell whether executors have to look how far a part is."""
        return self.live and self.latest is None

    @property
    def ends(self) -> bool:
        """Tell whether a part can end."""
        return self.latest is None


@dataclass(slots=True)
class Planning:
    """The state of one query's planner; `now` tells the time."""

    settings: PartSettings
    now: Callable[[], float]
    until_end: bool = False
    """Whether the query ends when the parts have ended, or have been read as far as they were at its start."""
    _known: dict[str, PartProgress] = field(default_factory=dict)
    _due: tuple[int, tuple[str, ...]] = (0, ())
    """A turn, and the parts without rows that are looked at in it."""
    _targets: dict[str, int] | None = None
    _share: float = 1.0
    """The part of the time that a task has, where there are more parts than tasks at once."""
    _began: float | None = None
    _spent: float = 0.0
    """The longest that rows of a part took in the micro-batch that runs."""
    _own: float = 0.0
    """Seconds that a micro-batch takes besides its rows."""

    @property
    def _budget(self) -> float:
        """Return the seconds for the rows of a part.

        Where a micro-batch itself takes more than half of the wanted time, fewer rows would only make it run more
        often; then it may take twice its own cost, so that at least half of the time goes to rows.
        """
        return (max(self.settings.latency, 2 * self._own) - self._own) * self._share

    def heard(self, report: Mapping[str, Any]) -> None:
        """Take in what a reader tells of its part."""
        one = self._of(str(report["part"]))
        row = int(report["row"])
        if row > one.seen:
            one.seen, one.pause = row, FIRST_LOOK
            one.ended = one.failed = False
        if row == one.seen:  # a reader that was left behind elsewhere may tell old news
            one.ended = one.ended or bool(report.get("ended"))
            one.failed = one.failed or bool(report.get("failed"))
        if "rows" in report:  # a task has just looked at it
            one.look_at = max(one.look_at, self.now() + one.pause)
        if report.get("rows"):
            self._spent = max(self._spent, float(report["seconds"]))
            one.paced(int(report["rows"]), float(report["seconds"]), self._budget, self.settings.capacity)

    def _of(self, key: str) -> PartProgress:
        if key not in self._known:
            self._known[key] = PartProgress(min(FIRST_LIMIT, self.settings.capacity))
        return self._known[key]

    def ended(self) -> None:
        """Note that Spark is back for more; all that the tasks have told has been heard."""
        if self._began is not None and self._spent:
            own = max(0.0, self.now() - self._began - self._spent / self._share)
            self._own = own if not self._own else min(own, 2 * self._own)  # one may be slow for another reason
        self._began, self._spent = None, 0.0

    def next_offset(self, start: Offset, most: int | None = None) -> Offset | None:
        """Return where the next micro-batch ends; `start` if all has been read, None if it is to be waited for."""
        settings, turn = self.settings, start.turn + 1
        keys = self._keys()
        rows = dict(start.rows)
        for key in keys:
            if key not in rows:
                rows[key] = _whole("start", part_of(key), settings.start(part_of(key)))
        self._share = min(1.0, settings.tasks / max(1, len(keys)))
        ends = {key: self._end_of(key, rows[key]) for key in keys}
        ends = {key: end for key, end in ends.items() if end > rows[key]}
        if most is not None:
            ends = _cut(ends, rows, most)
        now = self.now()
        self._began = now
        due = [key for key in keys if key not in ends and self._is_due(key, rows[key], now)] if settings.looks else []
        if not ends and not due:
            over = all(self._is_over(key, rows[key]) for key in keys)
            if not (over and self.until_end):
                return None
            return start  # Spark ends a query that has nothing new
        for key in due:
            one = self._known[key]
            one.look_at, one.pause = now + one.pause, min(2 * one.pause, LAST_LOOK)
        self._due = (turn, tuple(sorted(due)))
        return Offset(turn, {**rows, **ends})

    def ranges(self, run: str, start: Offset, end: Offset) -> list[PartRange]:
        """Return what the tasks of a micro-batch read; those with rows come first, always in the same order.

        So a micro-batch that is repeated has the same rows in the same partitions, whatever it looks at besides.
        """
        read = sorted(key for key, row in end.rows.items() if row > self._begun(key, start))
        looked = [key for key in self._due[1] if key not in read] if self._due[0] == end.turn else []
        patience = self._budget * (0.1 if read else 1.0)  # the others' rows are not to wait for long
        return [
            *(self._range(run, key, self._begun(key, start), end.rows[key], self._budget) for key in read),
            *(self._range(run, key, end.rows[key], end.rows[key], self._patience(key, patience)) for key in looked),
        ]

    def _patience(self, key: str, patience: float) -> float:
        """Return how long a task waits for a part; one that has failed is to fail in it."""
        one = self._of(key)
        failed, one.failed = one.failed, False
        return LAST_LOOK if failed else patience

    def _range(self, run: str, key: str, first: int, end: int, patience: float) -> PartRange:
        ahead = self._of(key).limit if self.settings.looks else 0
        return PartRange(run, part_of(key), first, end, ahead, patience)

    def _begun(self, key: str, start: Offset) -> int:
        if key in start.rows:
            return start.rows[key]
        return _whole("start", part_of(key), self.settings.start(part_of(key)))

    def _keys(self) -> list[str]:
        if self._targets is not None:
            return list(self._targets)
        keys = list(dict.fromkeys(key_of(part) for part in self.settings.parts()))
        if self.until_end and self.settings.latest is not None:
            self._targets = {key: self._latest(key) for key in keys}  # what is available at the start, and no more
        return keys

    def _latest(self, key: str) -> int:
        assert self.settings.latest is not None
        return _whole("latest", part_of(key), self.settings.latest(part_of(key)))

    def _end_of(self, key: str, row: int) -> int:
        """Return how far a part is read in the next micro-batch."""
        one = self._of(key)
        if self.settings.looks:
            return min(one.seen, row + one.limit)
        if self.settings.latest is None:
            return row if one.ended else row + one.limit
        latest = self._latest(key) if self._targets is None else self._targets[key]
        return min(latest, row + one.limit)

    def _is_due(self, key: str, row: int, now: float) -> bool:
        """Tell whether a part without rows is to be looked at by a task."""
        one = self._known[key]
        if one.seen <= row and (one.ended or one.failed):
            return one.failed  # a task is to raise it
        return now >= one.look_at

    def _is_over(self, key: str, row: int) -> bool:
        one = self._of(key)
        if self._targets is not None:
            return self._targets[key] <= row
        return one.ended and (one.seen <= row or not self.settings.live)

    def wait(self, longest: float) -> float:
        """Return the seconds until a part is due to be looked at, at most `longest`."""
        waiting = [one.look_at for one in self._known.values() if not one.ended]
        return max(0.0, min([longest, *(at - self.now() for at in waiting)])) if self.settings.looks else longest


def _whole(name: str, part: PartName, value: object) -> int:
    if type(value) is not int or value < 0:
        raise PartError(f"partitioned: {name}({part!r}) must be a whole number >= 0, got {value!r}")
    return value


def _cut(ends: dict[str, int], rows: Mapping[str, int], most: int) -> dict[str, int]:
    """Leave at most so many rows, about as many of each part."""
    left, found = most, {}
    for number, key in enumerate(sorted(ends, key=lambda key: ends[key] - rows[key])):
        share = min(ends[key] - rows[key], max(1, left // (len(ends) - number)), left)
        left -= share
        if share:
            found[key] = rows[key] + share
    return found


__all__ = ["PartProgress", "PartRange", "PartSettings", "Planning"]
