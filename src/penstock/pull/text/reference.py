"""reference: modules whose every move is given, to try others against: probe, ref_source, ref_sink, ref_through.

A schedule says when a move that was due is made: `Schedule.sync()` at once, `Schedule()` when its owner calls `step()`
or `run()`, which is how asynchronous neighbours are tried without a clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.engine.words.arguments import count_given
from penstock.pull.ground.protocol import (
    Abort,
    Answer,
    Done,
    End,
    PullError,
    Read,
    answer_given,
    asks,
    cause,
    end_of,
    failure,
    give,
    worst,
)
from penstock.pull.module import PullSource, PullThrough


class Schedule:
    """A queue of what is due, until the test lets it happen."""

    __slots__ = ("_at_once", "_due")

    def __init__(self, *, at_once: bool = False) -> None:
        self._due: deque[Callable[[], object]] = deque()
        self._at_once = at_once

    @staticmethod
    def sync() -> Schedule:
        """Let everything happen at once."""
        return Schedule(at_once=True)

    def do(self, move: Callable[[], object]) -> None:
        """Make a move now, or when its time comes."""
        if self._at_once:
            move()
        else:
            self._due.append(move)

    def step(self) -> bool:
        """Make the oldest move; tell whether there was one."""
        if not self._due:
            return False
        self._due.popleft()()
        return True

    def run(self, limit: int = 1_000_000) -> int:
        """Make all moves, also those that come meanwhile; return how many there were."""
        count = 0
        while count < limit and self.step():
            count += 1
        return count


def probe(log: list[tuple[Any, ...]]) -> PullThrough[Any, Any]:
    """Write down what passes, with the number of its request.

    That is `(1, "ask")`, `(2, "abort", why)`, `(1, "value", v)` and `(2, "end", end)`.
    """

    def watch(read: Read) -> Read:
        count = 0

        def request(abort: Abort, answer: Answer | None = None, /) -> None:
            nonlocal count
            count += 1
            number = count
            log.append((number, "ask") if asks(abort) else (number, "abort", cause(abort)))

            def answered(end: bool | Exception | None, value: Any = None, /) -> None:
                found = end_of(end)
                log.append((number, "value", value) if found is None else (number, "end", found))
                if answer is not None:
                    answer(end, value) if found is None or value is not None else answer(end)

            read(abort, None if answer is None else answered)

        return request

    return PullThrough(watch, name="probe")


class RefSource(PullSource[int]):
    """A source that gives 1 .. n and then an end, each answer by the schedule; it counts what it was asked and gave."""

    __slots__ = ("_end", "_last", "_waiting", "aborts", "asked", "given", "n", "schedule")

    def __init__(self, n: int | None, end: End, schedule: Schedule) -> None:
        super().__init__(self._request, "ref_source")
        self.n = n
        self.given = 0
        self.asked = 0
        self.aborts: list[End] = []
        self.schedule = schedule
        self._last: End = end
        self._end: End | None = None
        self._waiting: deque[Answer] = deque()

    def _request(self, abort: Abort, answer: Answer | None = None, /) -> None:
        if asks(abort):
            self.asked += 1
            self._waiting.append(answer_given(answer))
            self.schedule.do(self._next)
            return
        self.aborts.append(cause(abort))
        self._end = cause(abort) if self._end is None else self._end
        if answer is not None:
            self._waiting.append(answer)
        self.schedule.do(self._settle)

    def _settle(self) -> None:
        while self._waiting:
            give(self._waiting.popleft(), self._end)

    def _next(self) -> None:
        if not self._waiting:
            return  # an abort came first, and has answered
        if self._end is None and self.n is not None and self.given >= self.n:
            self._end = self._last
        if self._end is not None:
            self._settle()
            return
        self.given += 1
        give(self._waiting.popleft(), None, self.given)


def ref_source(n: int | None = None, end: End = True, sync: bool = True, schedule: Schedule | None = None) -> RefSource:
    """Make a source of 1 .. n (None: without end) and then `end`.

    Unless `sync`, its answers are due on its `schedule`, which may be shared.
    """
    if n is not None:
        count_given("ref_source", "n", n, 0)
    return RefSource(n, end, schedule or Schedule(at_once=sync))


class RefSink:
    """A sink that makes `r` requests, from the one of number `index` on terminations; it keeps the answers."""

    def __init__(
        self, r: int | None, index: int | None, abort: End, answer: bool, sync: bool, cont: bool, done: Done | None
    ) -> None:
        self._most = r
        self._first_abort = r if index is None else index
        self._abort = abort
        self._with_answer = answer
        self._waits = sync
        self._goes_on = cont
        self._done = done
        self._read: Read | None = None
        self._looping = False
        self._told = False
        self.requests = 0
        self.answers: list[tuple[int, End | None, Any]] = []
        """The number of the request, the end or None, and the value."""
        self._open = 0

    def __call__(self, read: Read, /) -> None:
        """Make the requests, now and as answers come."""
        if self._read is not None:
            raise PullError("B15", "ref_sink reads from a source already; a sink is wired once")
        self._read = read
        self._go_on()

    @property
    def values(self) -> list[Any]:
        """Return the values, in the order of their coming."""
        return [value for _, end, value in self.answers if end is None]

    @property
    def ends(self) -> list[End]:
        """Return the ends, in the order of their coming."""
        return [end for _, end, _ in self.answers if end is not None]

    def _go_on(self) -> None:
        if self._looping:
            return
        self._looping = True
        while self._may_request():
            self.requests += 1
            self._request(self.requests)
        self._looping = False
        if not self._told and not self._open and not self._may_request():
            self._told = True
            if self._done is not None:
                self._done(failure(self.ends[0]) if self.ends else None)

    def _may_request(self) -> bool:
        if self._most is not None and self.requests >= self._most:
            return False
        terminates = self._terminates(self.requests + 1)
        if self._open and (self._waits or not terminates):
            return False
        ended = bool(self.ends) or self._terminates(self.requests)
        return not ended or (self._goes_on and terminates and self._most is not None)

    def _terminates(self, number: int) -> bool:
        return self._first_abort is not None and number >= self._first_abort

    def _request(self, number: int) -> None:
        def answered(end: bool | Exception | None, value: Any = None, /) -> None:
            self._open -= 1
            self.answers.append((number, end_of(end), value))
            self._go_on()

        assert self._read is not None
        abort: Abort = self._abort if self._terminates(number) else None
        if abort is not None and not self._with_answer:
            self._read(abort)
            return
        self._open += 1
        self._read(abort, answered)


def ref_sink(
    r: int | None = None,
    index: int | None = None,
    abort: End = True,
    answer: bool = True,
    sync: bool = True,
    cont: bool = False,
    done: Done | None = None,
) -> RefSink:
    """Make a sink of `r` requests (None: without end), which from number `index` on (`r` if None) terminate.

    A termination is `abort`, with an answer function or, unless `answer`, without. With `sync` it waits for the answer
    before it; else it comes while that is out. With `cont` terminations are repeated up to `r`. `done` is told when no
    more will happen.
    """
    if r is not None:
        count_given("ref_sink", "r", r, 1)
    if index is not None:
        count_given("ref_sink", "index", index, 1)
    return RefSink(r, index, abort, answer, sync, cont, done)


def ref_through(
    index: int | None = None,
    abort: End = True,
    answer: bool = True,
    f: Callable[[Any], Any] = lambda value: value,
) -> PullThrough[Any, Any]:
    """Make a through that passes requests up and answers down, one for one: the plainest there is.

    From request number `index` on it terminates by itself: it sends `abort` upstream instead, once, with an answer
    function or, unless `answer`, without one, and ends.
    """
    if index is not None:
        count_given("ref_through", "index", index, 1)

    def start(read: Read) -> Read:
        count = 0
        stopped: End | None = None
        waiting: list[Answer] = []
        confirmed = True
        out = 0

        def confirm(end: bool | Exception | None, value: Any = None, /) -> None:
            nonlocal confirmed, stopped
            confirmed = True
            stopped = worst(stopped, end)
            while waiting:
                give(waiting.pop(0), stopped)

        def terminate(why: End) -> None:
            nonlocal confirmed, stopped
            stopped = why
            if answer:
                confirmed = False
                read(why, confirm)
            else:
                confirmed = False
                read(why)
                if not out:
                    confirm(True)

        def request(given: Abort, reply: Answer | None = None, /) -> None:
            nonlocal count, out
            count += 1
            ends = not asks(given) or (index is not None and count >= index)
            if stopped is None and not ends:
                out += 1
                read(None, passes(answer_given(reply)))
                return
            if reply is not None:
                waiting.append(reply)
            if stopped is None:
                terminate(abort if asks(given) else cause(given))
            elif confirmed:
                confirm(stopped)

        def passes(reply: Answer) -> Answer:
            def answered(end: bool | Exception | None, value: Any = None, /) -> None:
                nonlocal stopped, out
                out -= 1
                found = end_of(end)
                if found is None:
                    give(reply, None, f(value))
                else:
                    stopped = found if stopped is None else stopped
                    give(reply, found)
                if not out and not answer and not confirmed:
                    confirm(True)  # who asked before the end has been answered

            return answered

        return request

    return PullThrough(start, name="ref_through")


__all__ = ["RefSink", "RefSource", "Schedule", "probe", "ref_sink", "ref_source", "ref_through"]
