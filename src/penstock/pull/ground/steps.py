"""steps: read a source through steps, each of which makes of a value one value, or none, or the end.

Adjacent steps become one module. If every step gives one value for one, asks are passed on as they come, so a source
that can work on several is given several. If a step may drop a value or stop, there is one ask at a time upstream, and
no value is pulled that the reader does not get.

What happens to the module happens one thing after the other: a request or an answer that comes while a function of the
stream runs, or while a reader is being answered, waits for that. So nothing nests, however many values pass.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from threading import get_ident
from typing import Any

from penstock.engine.words.dropped import drop
from penstock.pull.ground.depth import FLIGHT, MOST, descend, here, land, level_above, make_calls
from penstock.pull.ground.marks import DROP, FAIL, LATER, OVER, STOP, Later, Mark, at_once_of
from penstock.pull.ground.protocol import (
    Abort,
    Answer,
    End,
    PullError,
    Read,
    answer_given,
    asks,
    cause,
    end_of,
    give,
    raised,
    read_raised,
    twice,
    worst,
)
from penstock.pull.ground.turn import Line
from penstock.pull.ground.weaving import Hooks, JoinedRun, Step, one_to_one


class Fused:
    """A reader of upstream through steps."""

    __slots__ = (
        "_aborted", "_answers", "_asked", "_asking", "_box", "_closing", "_concurrent", "_hooks", "_line", "_number",
        "_on_answer", "_run", "_said_end", "_steps", "_upstream", "_upstream_at_once", "_waiting", "end", "level",
    )  # fmt: skip

    def __init__(self, upstream: Read, steps: tuple[Step, ...]) -> None:
        self._upstream = upstream
        self.level = level_above(upstream)
        self._upstream_at_once = at_once_of(upstream)
        if self.level >= FLIGHT:
            self.level, self._upstream_at_once = 0, None  # calls are counted from here on
        self._steps = steps
        self._hooks = Hooks(steps)
        self._concurrent = one_to_one(steps)
        self._run: JoinedRun | None = None
        self._line = Line()
        self._waiting: deque[Answer] = deque()
        self._asked = 0
        self._answers = 0
        self._asking = 0
        """The request whose read has not returned, unless it was answered."""
        self._box: tuple[bool | Exception | None, Any] = (None, None)
        """The answer that came before its read returned."""
        self._said_end = False
        """Whether upstream has answered with an end that waits for its turn; it is asked and told nothing more."""
        self._on_answer = self._answered
        self._number = self._later
        self.end: End | None = None
        self._aborted = False
        self._closing = False
        """Whether upstream was aborted and has not yet confirmed it; answers wait for that."""

    def through(self, steps: tuple[Step, ...]) -> Fused | None:
        """Return what further steps make of it, in its place; None if it was read already."""
        if self._asked or self.end is not None or self._waiting:
            return None
        return Fused(self._upstream, (*self._steps, *steps))

    def adopt(self, waiting: deque[Answer]) -> None:
        """Take over asks that wait, in their order."""
        self._waiting.extend(waiting)
        waiting.clear()
        self._line.run(self._go_on)

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for a value, or abort."""
        if answer is None and asks(abort):
            answer_given(answer)
        if self._line.owner == get_ident():
            self._request(abort, answer)  # from inside: an abort goes up at once, and an ask waits for what runs now
        else:
            self._line.run(self._begin, abort, answer)

    def _begin(self, abort: Abort, answer: Answer | None) -> None:
        self._request(abort, answer)
        self._go_on()

    def _request(self, abort: Abort, answer: Answer | None) -> None:
        if self.end is not None:
            if answer is None:
                return
            if self._closing or self._waiting:
                self._waiting.append(answer)
            else:
                give(answer, self.end)
            return
        if answer is not None:
            self._waiting.append(answer)
        if not asks(abort):
            self._close(cause(abort), len(self._steps))

    def at_once(self, later: Later) -> Any:
        """Return the next value, OVER, or LATER."""
        line = self._line
        if line.queue or self.end is not None or self._waiting or self._asked != self._answers:
            if self.end is not None and not self._closing and not self._waiting:
                return OVER
            self.read(None, later())
            return LATER
        try:
            line.token.pop()
        except IndexError:
            self.read(None, later())
            return LATER
        line.owner = get_ident()
        try:
            run = self._run or self._opened()
            go, above = run.go, self._upstream_at_once
            while True:
                if run.last >= 0:
                    self._close(True, run.last)
                    break
                if above is None:
                    value = self._fetch()
                else:  # the common case, spelt out
                    self._asked = number = self._asked + 1
                    try:
                        value = above.at_once(self._number)
                    except Exception as error:  # noqa: BLE001  property F10
                        self._broke(error)
                        break
                    if value.__class__ is not Mark:
                        self._answers = number
                    elif value is OVER:
                        self._answers = number
                        self._take_end(number, above.end)
                if value.__class__ is Mark:
                    break
                value = go(value)
                if value.__class__ is not Mark:
                    return value
                if value is not DROP:
                    self._turned(value, run)
                    break
            if self.end is not None and not self._closing:
                return OVER
            self._waiting.append(later())
            return LATER
        finally:
            line.owner = 0
            line.token.append(True)
            if line.queue:
                line.let_in()
            if self._waiting and self.end is None:
                line.run(self._go_on)  # the reader asked from inside

    def _opened(self) -> JoinedRun:
        self._run = JoinedRun(self._steps, looped=False)
        return self._run

    # Asking.

    def _go_on(self) -> None:
        """Ask as long as the reader waits and answers come at once."""
        run = self._run or self._opened()
        waiting = self._waiting
        while self.end is None:
            out = self._asked - self._answers
            if out and not self._concurrent:
                return  # the answer comes later, and with it the rest
            if out >= len(waiting) or self._said_end:
                return
            if run.last >= 0:
                self._close(True, run.last)
                return
            value = self._fetch()
            if value.__class__ is not Mark:
                self._deliver(value, run)

    def _fetch(self) -> Any:
        """Ask upstream; return the value if it comes at once, or a mark."""
        self._asked = number = self._asked + 1
        above = self._upstream_at_once
        try:
            if above is not None and self._answers == number - 1:
                value = above.at_once(self._number)
                if value is OVER:
                    self._answers = number
                    self._take_end(number, above.end)
                elif value is not LATER:
                    self._answers = number
                return value
            stack = here.stack
            depth = stack.depth
            if depth >= MOST:
                land(self._ask, number)
                return LATER
            self._asking = number
            stack.depth = depth + 1
            try:
                self._upstream(None, partial(self._on_answer, number))
            finally:
                stack.depth = depth
            if not depth and stack.calls:
                descend(make_calls)
        except Exception as error:  # noqa: BLE001  property F10
            self._asking = 0
            self._broke(error)
            return OVER
        if self._asking:
            self._asking = 0
            return LATER
        end, value = self._box
        if end is None and self.end is None:  # the common case, spelt out
            self._answers = number
            return value
        self._box = (None, None)
        return self._check(number, end, value)

    def _ask(self, number: int) -> None:
        """Ask upstream, where there is room on the stack."""
        try:
            self._upstream(None, partial(self._on_answer, number))
        except Exception as error:  # noqa: BLE001  property F10
            self._line.run(self._broke, error)

    def _later(self) -> Answer:
        return partial(self._on_answer, self._asked)

    def _answered(self, number: int, end: bool | Exception | None, value: Any = None, /) -> None:
        if self._asking == number and self._answers == number - 1 and self._line.owner == get_ident():
            self._asking = 0
            self._box = (end, value)
            return
        if end is not None and end is not False and number > self._answers:
            self._said_end = True
        descend(self._line.run, self._arrived, number, end, value)

    def _arrived(self, number: int, end: bool | Exception | None, value: Any) -> None:
        found = self._check(number, end, value)
        if found.__class__ is not Mark:
            self._deliver(found, self._run or self._opened())
        self._go_on()

    def _check(self, number: int, end: bool | Exception | None, value: Any) -> Any:
        """Return the value that an answer carries, unless it is no value, or comes when it should not."""
        if number != self._answers + 1:
            if number <= self._answers:
                self._said_end = False  # no second answer is an end
                twice(number)
            elif self.end is None:
                self._close(PullError("B3", f"request {number} was answered before request {self._answers + 1}"), 0)
            return OVER
        self._answers = number
        if self.end is not None or not (end is None or end is False):
            self._take_end(number, end_of(end))
            return OVER
        return value

    def _deliver(self, value: Any, run: JoinedRun) -> None:
        value = run.go(value)
        if value.__class__ is Mark:
            self._turned(value, run)
            return
        try:
            self._waiting.popleft()(None, value)
        except RecursionError:
            raise  # see protocol.give
        except Exception as error:  # noqa: BLE001
            drop("property F10: an answer function raised", error)

    def _turned(self, mark: Any, run: JoinedRun) -> None:
        """Take it that a value has become nothing, or the end; a value that was halted is dropped."""
        if mark is STOP:
            assert run.at is not None
            self._close(True, run.at)
        elif mark is FAIL:
            assert run.at is not None
            if self.end is None:
                self._close(run.failure(), run.at + 1)
            else:
                drop("pull: a function raised after it had aborted its stream", run.failure())

    def _take_end(self, number: int, end: End | None) -> None:
        if self.end is None:
            end = worst(end)
            self.end = end
            self._hooks.down(0, end)
            self._settle()
        elif end is None and not self._aborted:  # what comes after an abort is dropped; who waits gets the end
            drop("pull: upstream broke the protocol", PullError("B7", f"request {number} got a value after the end"))

    def _broke(self, error: Exception) -> None:
        if self.end is not None:
            read_raised(error)
            return
        self.end = raised(error)
        self._hooks.down(0, self.end)
        heard = bool(self._waiting)
        self._settle()
        if isinstance(error, RecursionError) and not heard:
            raise error  # a caller further out has room on the stack to handle it

    # The end.

    def _close(self, end: End, at: int) -> None:
        """End from a place among the steps: abort upstream, once; who waits is answered when that is confirmed."""
        self.end = end
        self._aborted = self._closing = True
        if self._run is not None:
            self._run.halt()
        self._hooks.up(at, end)
        if self._said_end:  # property A6: there is nothing left to abort
            self._confirmed(at, True)
        else:
            descend(self._abort, end, partial(self._confirmed, at))

    def _abort(self, end: End, confirmed: Answer) -> None:
        try:
            self._upstream(end, confirmed)
        except Exception as error:  # noqa: BLE001  property F10
            confirmed(raised(error))

    def _confirmed(self, at: int, end: bool | Exception | None, value: Any = None, /) -> None:
        descend(self._line.run, self._settle_closed, at, end)

    def _settle_closed(self, at: int, end: bool | Exception | None) -> None:
        if not self._closing:
            return
        self._closing = False
        # Property F4: an error of one's own comes before a failed close, and that before a plain end.
        self.end = end = worst(self.end, end)
        self._hooks.down(at, end)
        self._settle()

    def _settle(self) -> None:
        """Answer everybody with the end, in order."""
        waiting = self._waiting
        while waiting:
            give(waiting.popleft(), self.end)
