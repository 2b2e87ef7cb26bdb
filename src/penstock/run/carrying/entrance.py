"""entrance: where the elements of a source are marked, and wait while too many of those before are not done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from penstock.engine.grounds.cold_paths import left_alone, too_late
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.weaving.blame import operator_name
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.operators.resumable import OpenedRun, Resumable, each, element_of, made
from penstock.run.carrying.marks import Carried, SourceMarks
from penstock.run.carrying.waiting import WaitingWatch
from penstock.run.resumption import Position, Resumption
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Source
from penstock.stream import Stream


class SourceRun:
    """The source of one run: what was opened, what of it is not done, and from where it goes on."""

    def __init__(self, source: Source[Any], window: int | None, after: Position | None, keep: Any = None) -> None:
        self.source = source
        self._opening = OpenedRun(source) if isinstance(source, Resumable) else None
        self._keep = keep
        self._begun = False
        self.marks = SourceMarks(self._commit, window, after)
        self._watch = WaitingWatch(operator_name(source), self.marks)
        self.marks.on_wait = self._watch.begin

    def opened(self) -> Chain:
        """Return pairs of a position and an element, behind what is done."""
        if self._begun:
            self.marks.restart()
        self._begun = True
        source, after = self.source, self.marks.reached
        if isinstance(source, Resumable) and not source.counted:
            return source.opened(after, self._opening)
        stream: Stream[Any] = Stream(Chain(source))
        return Resumption.of(stream).open(after, self._opening)._chain

    def _commit(self, position: Position) -> None:
        source = self.source
        if self._opening is not None:
            counted = isinstance(source, Resumable) and source.counted
            self._opening.commit(position[0] if counted else position, self.marks.telling)
        if self._keep is not None:
            self._keep(position)

    def cede(self) -> None:
        """Leave it to a sink to tell the source what is done, together with what it writes."""
        if self._opening is not None:
            self._opening.cede()

    def reader(self) -> Any:
        """Return what a sink tells what is done."""
        return None if self._opening is None else self._opening.reader()

    def close(self) -> None:
        """Let go of what was opened, behind the last commit, also if another thread is just telling it."""
        self._watch.close()
        self.marks.finish()
        if self._opening is not None:
            self._opening.close()

    def wait(self) -> None:
        """Block until it is closed, and raise what the last commit failed with."""
        if self._opening is not None:
            self._opening.wait()


@dataclass(frozen=True, eq=False, slots=True)
class MarkedSource(Source[Any]):
    """The elements of a source, each with its mark."""

    run: SourceRun

    @property
    def stands_for(self) -> Source[Any]:
        """Return what it is shown as."""
        return self.run.source

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Open the source and mark what it gives."""
        connect(self.run.opened(), _EntranceRun(self.run.marks, downstream))


class _EntranceRun(Part):
    """The subscriber of the source, and the subscription of what follows.

    Upstream is asked for what downstream has asked for and there is room for: when half of the window is free, or when
    all that was asked for has come.
    """

    def __init__(self, marks: SourceMarks, downstream: Subscriber[Any]) -> None:
        self.height = height_of(downstream) + 1
        self._marks = marks
        self._downstream = downstream
        self._on_chunk = chunks_of(downstream)
        self._lock = Lock()
        self._upstream: Subscription | None = None
        self._wanted = 0
        """What downstream has asked for and upstream was not."""
        self._coming = 0
        """What upstream was asked for and has not come."""
        self._delivers = False
        """Whether elements are being passed on."""
        self._over = False
        self.on_chunk = self._chunk if self._on_chunk is not None else None
        marks.on_room = self._ask
        marks.on_standstill = self._stand_still

    # Signals.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._upstream = subscription
        self._downstream.on_subscribe(self)

    def on_next(self, pair: Any, /) -> None:
        if self._over:
            return  # rule 2.8
        try:
            element = element_of(pair)
            if element is None:
                raise no_element()
            mark = self._marks.enter(pair[0])
            with self._lock:
                self._coming -= 1
            self._delivers = True
            self._downstream.on_next(Carried(element, (mark,)))
            self._delivers = False
            if not self._coming:
                self._ask()
        except Exception as error:  # noqa: BLE001  rule 2.13: upstream would not know what to do with it
            self._refuse(error)

    def _chunk(self, pairs: Sequence[Any], /) -> None:
        if self._over:
            return  # rule 2.8
        marks = self._marks
        found = made(pairs)
        if found is None:
            each(pairs, self.on_next, self._refuse)  # the elements before the one that is no pair come first
            return
        try:
            entered = marks.enter_all(found.positions)
            elements = [Carried(value, (mark,)) for value, mark in zip(found.elements, entered, strict=True)]
            with self._lock:
                self._coming -= len(pairs)
            assert self._on_chunk is not None
            marks.gathers = self._delivers = True
            try:
                self._on_chunk(elements)
            finally:
                marks.gathers = self._delivers = False
            marks.tell()
            if not self._coming:
                self._ask()
        except Exception as error:  # noqa: BLE001  rule 2.13
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        self.cancel()
        self._downstream.on_error(error)

    def _stand_still(self, keeper: str) -> None:
        if self._delivers:
            return  # it is looked again behind that
        with self._lock:
            over, self._over = self._over, True
        if over:
            return
        assert self._upstream is not None
        self._upstream.cancel()
        error = RuntimeError(
            f"{keeper} keeps elements, and as many as may be are uncommitted, {self._marks.window}, so that no other "
            "can come; say window=n with a greater n where the source is made, or collect by time as well, as "
            "buffer_timeout does"
        )
        refuse = self._marks.on_failure or self._downstream.on_error
        refuse(error)  # past the steps, one of which might take it for a failure of the source and go on

    def on_error(self, error: Exception, /) -> None:
        if self._over:
            too_late(error)
            return
        self._over = True
        self._downstream.on_error(error)

    def on_complete(self) -> None:
        if not self._over:
            self._over = True
            self._downstream.on_complete()

    def gone(self) -> None:
        """Be told that nothing will be signalled any more."""
        self._over = True
        left_alone(self._downstream)

    # Requests.

    def request(self, n: int, /) -> None:
        if type(n) is not int or n <= 0:
            assert self._upstream is not None
            self._upstream.request(n)  # rule 3.9: upstream refuses it
            return
        with self._lock:
            self._wanted = add(self._wanted, n)
        self._ask()

    def cancel(self) -> None:
        self._over = True
        assert self._upstream is not None
        self._upstream.cancel()

    def _ask(self) -> None:
        marks = self._marks
        if marks.window is not None and not marks.all_told():
            return  # what was not told is not done
        with self._lock:
            count = 0 if self._over else self._granted()
        if count > 0:
            assert self._upstream is not None
            self._upstream.request(count)
        elif marks.waits:
            marks.on_wait()
            marks.look()

    def _granted(self) -> int:
        """Return how many elements to ask for now, and take note of it."""
        marks, window, count = self._marks, self._marks.window, self._wanted
        if window is not None:
            most = window - self._coming
            if self._coming:
                most -= window // 2
            marks.room_at = most - 1 if count else -1
            room = most - marks.uncommitted  # looked at behind `room_at`, so that no room is missed
            if room <= 0:
                marks.asks = True
                room = most - marks.uncommitted  # and behind that, for the same reason
            marks.waits = room <= 0 and count > 0 and not self._coming
            if room <= 0:
                return 0
            count = min(count, window - self._coming - marks.uncommitted)
            marks.room_at = -1
        if count <= 0:
            return 0
        if self._wanted < UNBOUNDED:
            self._wanted -= count
        if self._coming < UNBOUNDED:
            self._coming += count
        if window is not None and self._wanted:
            marks.room_at = window - self._coming - window // 2 - 1
        return count


__all__ = ["MarkedSource", "SourceRun"]
