"""buffering: throughs that keep values for a while: batch, sliding, buffer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from penstock.engine.places.clocks import SYSTEM_CLOCK, Cancel, Clock, seconds_of
from penstock.engine.words.arguments import count_given
from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.between import Between
from penstock.pull.ground.desk import Confirm
from penstock.pull.ground.protocol import Abort, Answer, End, Read, answer_given, asks, at_fault
from penstock.pull.module import PullThrough

A = TypeVar("A")
B = TypeVar("B")


class _Batch(Between):
    """A collector of values until there are enough, or it has taken long enough."""

    def __init__(self, read: Read, size: int | None, seconds: float | None, clock: Clock) -> None:
        super().__init__(read)
        self._size, self._seconds, self._clock = size, seconds, clock
        self._batch: list[Any] = []
        self._cancel: Cancel | None = None

    def arrived(self, value: Any) -> None:
        self._batch.append(value)
        if self._size is not None and len(self._batch) >= self._size:
            self._flush()
        elif self._seconds is not None and self._cancel is None:
            self._cancel = self._clock.call_later(self._seconds, self._late)
        self.desk.serve()

    def _late(self) -> None:
        self.desk.turn.run(self._time_is_up)

    def _time_is_up(self) -> None:
        self._flush()
        self.desk.serve()

    def _flush(self) -> None:
        self._stop_timer()
        if self._batch:
            self.desk.ready.append(self._batch)
            self._batch = []

    def ended(self, end: End) -> None:
        self._flush()
        self.desk.finish(end)

    def _stop_timer(self) -> None:
        cancel, self._cancel = self._cancel, None
        if cancel is not None:
            cancel()

    def close(self, end: End, confirm: Confirm) -> None:
        self._stop_timer()
        self._batch = []
        self.reader.abort(end, confirm)


def batch(
    size: int | None = None, seconds: float | timedelta | None = None, *, clock: Clock = SYSTEM_CLOCK
) -> PullThrough[A, list[A]]:
    """Give lists of up to `size` values; a list that is `seconds` old is given as it is, and so is the last one."""
    if size is None and seconds is None:
        raise TypeError("batch: size or seconds must be given")
    if size is not None:
        count_given("batch", "size", size, 1)
    patience = None if seconds is None else seconds_of("batch", "seconds", seconds)
    return PullThrough(lambda read: _Batch(read, size, patience, clock).desk.read, name="batch")


class _Sliding(Between):
    """A holder of the last values."""

    def __init__(self, read: Read, fn: Callable[[list[Any]], Any], width: int) -> None:
        super().__init__(read)
        self._fn = fn
        self._window: deque[Any] = deque(maxlen=width)

    def arrived(self, value: Any) -> None:
        self._window.append(value)
        if len(self._window) < (self._window.maxlen or 0):
            self.desk.serve()
            return
        try:
            made = self._fn(list(self._window))
        except Exception as error:  # noqa: BLE001  property F5
            self.desk.fail(at_fault(error, "sliding", self._fn))
            return
        self.desk.give(made)


def sliding(fn: Callable[[list[A]], B], width: int) -> PullThrough[A, B]:
    """Give what a function makes of the last `width` values, once there are so many."""
    function_given("sliding", "fn", fn)
    count_given("sliding", "width", width, 1)
    return PullThrough(lambda read: _Sliding(read, fn, width).desk.read, name="sliding")


class _Buffer(Between):
    """A buffer that reads ahead between two marks."""

    def __init__(self, read: Read, high: int, low: int) -> None:
        super().__init__(read)
        self._high, self._low = high, low
        self._filling = False

    def wanted(self) -> bool:
        self._fill()
        return self.reader.asking or self.reader.end is not None

    def request(self, abort: Abort, answer: Answer | None = None, /) -> None:
        if answer is None and asks(abort):
            answer_given(answer)
        self.desk.turn.run(self._request, abort, answer)

    def _request(self, abort: Abort, answer: Answer | None) -> None:
        self.desk.request(abort, answer)
        if len(self.desk.ready) <= self._low:
            self._fill()

    def _fill(self) -> None:
        """Ask as long as there is room and answers come at once."""
        if self._filling:
            return
        self._filling = True
        desk, reader = self.desk, self.reader
        try:
            while len(desk.ready) < self._high and not desk.over and reader.end is None:
                if reader.ask():
                    break
                if desk.turn.queue:
                    desk.turn.let_in()
        finally:
            self._filling = False

    def arrived(self, value: Any) -> None:
        self.desk.give(value)
        self._fill()


def buffer(high: int, low: int = 0) -> PullThrough[A, A]:
    """Read ahead, once asked: up to `high` values, and again when no more than `low` are left.

    At the end, a good one or not, what is held is given first.
    """
    count_given("buffer", "high", high, 1)
    count_given("buffer", "low", low, 0)
    if low >= high:
        raise ValueError(f"buffer: low must be < high, got {low} and {high}")
    return PullThrough(lambda read: _Buffer(read, high, low).request, name="buffer")


__all__ = ["batch", "buffer", "sliding"]
