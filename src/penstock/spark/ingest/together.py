"""together: the live streams that one query reads; they wake each other, and they end as one.

Spark asks each source in turn for its latest offset, and ends a query that has an end when none of them has news. So
the first that is asked in a round waits, for rows of any of them, and the others answer at once: a stream that is
silent does not hold the others back, and no round is without news before all have ended.

A watermark moves with the rows of a micro-batch, and what it closes comes out in the next one. If no rows come for
that, an offset with a mark is the news for one without rows; Spark itself would do so only after this question.

When all have ended and all their rows are committed, the query may be told so by more micro-batches, without rows: the
offset of one source gets a mark. It is in Spark's log like any other, so a restart knows of it, too.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock.spark.ingest.intake import Intake
from penstock.spark.ingest.supply import IngestError
from penstock.spark.wire.gate import Message

CLOSED = "closed"
"""How the mark of an offset begins at which the watermark has been moved to the end of time."""
ENDED = "end"
"""How the mark of an offset begins behind which nothing comes, and whose query has given out what it held back."""
SHORT = 0.2
"""Seconds to wait for rows before a micro-batch without any gives out what those before have closed."""
SLICE = 0.02
"""Seconds between two looks at the others while one waits."""


@dataclass(slots=True)
class _Member:
    """One stream of a query, and up to where its rows were planned."""

    intake: Intake
    planned: int
    committed: int = 0

    @property
    def ready(self) -> bool:
        """Tell whether a question would be answered with rows, or with an error."""
        return self.intake.ahead(self.planned) or self.failed

    @property
    def failed(self) -> bool:
        """Tell whether nothing but an error is left; that is no end at which anything would be final."""
        return self.over and self.intake.error is not None

    @property
    def over(self) -> bool:
        return self.intake.over(self.planned)


class _Leaves(Protocol):
    """A stream that is let go of when the query has ended."""

    def close(self) -> None: ...

    def wait(self) -> None: ...


class Together:
    """The live streams of one query.

    `finish` is called when all have ended and have no more rows, before Spark plans its next micro-batch. It returns
    the mark for another one, which is `ENDED` if that is the last, `CLOSED` if no rows may come any more and there is
    something left to give out, an empty one if none is wanted, or None if it is to be asked again after the next.
    """

    def __init__(
        self, finish: Callable[[], str | None] = lambda: "", goes_on: Callable[[], bool] = lambda: False
    ) -> None:
        self.doors: set[str] = set()
        """The names by which the streams are known at the gate."""
        self.size = 1
        """How many there are, of which some may not have been asked yet."""
        self.closes = False
        """Whether the rows of one micro-batch may close what another one, without rows, gives out."""
        self._fresh = False
        """Whether there were rows since the last micro-batch without any."""
        self._finish = finish
        self.goes_on = goes_on
        """Tell whether the streams were stopped, and another run goes on with what is open at their end."""
        self._lock = threading.Lock()
        self._members: dict[str, _Member] = {}
        self._asked: set[str] = set()
        self.closed = False
        """Whether the watermark has been moved to the end of time."""
        self._ended = False
        self.last = False
        """Whether the micro-batch that runs is the one that was marked as the last."""
        self.ends: list[_Leaves] = []
        """What the streams are let go of by."""

    def close(self) -> list[Exception]:
        """Let go of the streams, whose query has ended; return what those failed with that were told of the end."""
        failures: list[Exception] = []
        for each in self.ends:
            each.close()
        for each in self.ends:
            try:
                each.wait()
            except Exception as error:  # noqa: BLE001  the others are waited for as well
                failures.append(error)
        return failures

    def poll(
        self, run: str, intake: Intake, row: int, mark: object, most: int | None, seconds: float, *, waits: bool
    ) -> Message:
        """Answer the question for the rows of one stream after `row`; one that waits is asked again if it may not end.

        The answer has where they end; whether the stream may be left alone now, `done`; whether its end is yet to be
        told, `later`; and the `mark` of an offset that is news without having rows.
        """
        member, first = self._entered(run, intake, row, mark)
        closes = first and self.closes and self._fresh
        end, done = self._rows(member, row, most, SHORT if closes else seconds if first else 0.0)
        if self._others(member, lambda each: each.intake.left):
            raise IngestError("frame: the query was ended before its streams")
        if end > row:
            self._fresh = True
            if self.closed:
                raise IngestError(
                    f"frame: the checkpoint is at the end of its stream, row {row}, and what it held back was given"
                    " out then; rows that come now would be late and dropped: give it another checkpoint"
                )
            return {"row": end, "done": done}
        if not first or member.failed or self._others(member, lambda each: each.ready):
            return {"row": row, "done": True}
        if len(self._members) < self.size:
            if not waits:
                return {"row": row, "done": False}  # the others are asked next
            kept = ENDED if self._ended else CLOSED if self.closed else ""
            return {"row": row, "done": True, "mark": kept + secrets.token_hex(4)}  # so that the others are asked, too
        if not done or self._others(member, lambda each: not each.over):
            if not closes:
                return {"row": row, "done": False}
            self._fresh = False
            return {"row": row, "done": True, "mark": secrets.token_hex(4)}
        mark = "" if self._ended else self._finish()
        self.closed = self.closed or mark in {CLOSED, ENDED}
        self._ended = self._ended or mark == ENDED
        self.last = self.last or mark == ENDED
        if mark is None:
            return {"row": row, "done": True, "later": True}
        return {"row": row, "done": True, **({"mark": mark} if mark else {})}

    def planned(self, mark: object) -> None:
        """Note the mark of the micro-batch that a query had planned before it was restarted."""
        self.last = self.last or mark == ENDED

    @property
    def committed(self) -> int:
        """Return how many rows are done of all that were asked for; less than none if Spark is not that far.

        Those are the ones that Spark has committed, and those that did not fit.
        """
        with self._lock:
            return sum(each.committed - each.intake.begun + each.intake.rejected for each in self._members.values())

    @property
    def over(self) -> bool:
        """Tell whether all have ended, and all their rows are committed."""
        with self._lock:
            return len(self._members) >= self.size and all(
                each.intake.over(each.committed) for each in self._members.values()
            )

    def _entered(self, run: str, intake: Intake, row: int, mark: object) -> tuple[_Member, bool]:
        """Note where a stream is asked from; tell whether it is the first one of this round."""
        with self._lock:
            member = self._members.get(run)
            if member is None or member.intake is not intake:  # it was opened again
                member = self._members[run] = _Member(intake, row)
            member.planned = member.committed = row
            self.closed = self.closed or str(mark).startswith((CLOSED, ENDED))
            if str(mark).startswith(ENDED):
                self._ended, self.last = True, False
            first = not self._asked or run in self._asked
            if first:
                self._asked.clear()
            self._asked.add(run)
            others = [each for each in self._members.values() if each is not member] if first else []
        for each in others:
            # A new round: the micro-batch before is committed. They are asked later, and may need the room now.
            each.committed = each.planned
            each.intake.commit(each.planned)
        return member, first

    def _rows(self, member: _Member, row: int, most: int | None, seconds: float) -> tuple[int, bool]:
        """Wait for rows of this one, for others that have some, or for the end of all."""
        alone = self.size == 1 and len(self._members) == 1
        end, done = row, False
        for _ in range(max(1, round(seconds / SLICE)) if not alone else 1):
            end, done = member.intake.poll(row, most, seconds if alone else min(seconds, SLICE))
            if end > row or (done and member.intake.error is not None) or alone:
                break
            if self._others(member, lambda each: each.ready) or len(self._members) < self.size:
                break
            if done and not self._others(member, lambda each: not each.over):
                break
            if done:
                threading.Event().wait(min(seconds, SLICE))  # one that has ended does not wait by itself
        member.planned = end
        return end, done

    def _others(self, member: _Member, holds: Callable[[_Member], bool]) -> bool:
        with self._lock:
            others = [each for each in self._members.values() if each is not member]
        return any(map(holds, others))


__all__ = ["CLOSED", "ENDED", "Together"]
