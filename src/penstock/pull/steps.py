"""steps: the ground of throughs that make of each value one value, or none, or the end.

Adjacent ones become one module. If every step gives one value for one, asks are passed on as they come, so a source
that can work on several is given several. If a step may drop a value or stop, there is one ask at a time upstream, and
no value is pulled that nobody gets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import get_ident
from typing import Any, Final

from penstock.engine.dropped import drop
from penstock.pull.protocol import (
    Abort,
    Answer,
    Done,
    End,
    PullError,
    Read,
    answer_given,
    asks,
    at_fault,
    cause,
    end_of,
    give,
    raised,
    read_raised,
    told,
    twice,
    worst,
)
from penstock.pull.turn import Turn


class Mark:
    """Be an answer of a step that is not a value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


DROP: Final = Mark("DROP")
"""There is nothing for this value."""
STOP: Final = Mark("STOP")
"""There is nothing for this value nor for any other."""

Transform = Callable[[Any], Any]
Open = Callable[[Callable[[], None]], Transform]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Describe what is done with each value.

    `open` starts one run: it is given a function that says "the value I return now is the last", and returns what makes
    of a value another, DROP or STOP. `fn` is the user's function, for messages.
    """

    name: str
    open: Open
    fn: object = None
    one_to_one: bool = False
    on_end: Done | None = None
    stops_at_once: bool = False
    """Whether it lets nothing through at all, so that not even one value is asked for."""


def step_failed(error: Exception, step: Step) -> Exception:
    """Note which function of which step raised."""
    return error if step.fn is None else at_fault(error, step.name, step.fn)


class Fused:
    """Read from upstream through steps."""

    __slots__ = (
        "_aborted", "_answers", "_asked", "_closing", "_concurrent", "_end", "_on_answer", "_on_end", "_pumping",
        "_steps", "_stopping", "_transforms", "_turn", "_upstream", "_waiting",
    )  # fmt: skip

    def __init__(self, upstream: Read, steps: tuple[Step, ...]) -> None:
        self._upstream = upstream
        self._turn = Turn()
        self._waiting: deque[Answer] = deque()
        self._end: End | None = None
        self._aborted = False
        self._closing = False
        """Whether upstream was aborted and has not yet confirmed it; answers wait for that."""
        self._stopping = any(step.stops_at_once for step in steps)
        """Whether the last value was let through; the next ask ends the stream, and can so report a failed close."""
        self._asked = 0
        self._answers = 0
        self._pumping = False
        self._concurrent = all(step.one_to_one for step in steps)
        self._steps = steps
        self._transforms = [step.open(self._last) for step in steps]
        self._on_answer = self._answered
        self._on_end = [step.on_end for step in steps if step.on_end is not None]

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for a value, or abort."""
        if answer is None and asks(abort):
            answer_given(answer)
        turn = self._turn
        me = get_ident()
        if turn.owner != me and turn.token and not turn.queue:  # the common case, spelt out
            try:
                turn.token.pop()
            except IndexError:  # another thread was quicker
                turn.run(self._request, abort, answer)
                return
            turn.owner = me
            try:
                self._request(abort, answer)
            finally:
                turn.leave()
        else:
            turn.run(self._request, abort, answer)

    def _request(self, abort: Abort, answer: Answer | None) -> None:
        if self._end is not None or self._stopping or not (abort is None or abort is False):
            self._last_request(abort, answer)
            return
        self._waiting.append(answer)  # type: ignore[arg-type]
        if self._concurrent:
            self._ask()
        elif self._asked == self._answers and not self._pumping:
            self._pump()

    def _last(self) -> None:
        self._stopping = True

    def _ask(self) -> None:
        self._asked = number = self._asked + 1
        try:
            self._upstream(None, partial(self._on_answer, number))
        except Exception as error:  # noqa: BLE001  property F10
            self._broke(error)

    def _pump(self) -> None:
        """Ask as long as somebody waits and answers come at once."""
        self._pumping = True
        waiting, queue = self._waiting, self._turn.queue
        upstream, on_answer = self._upstream, self._on_answer
        try:
            while waiting and self._end is None and not self._stopping:
                self._asked = number = self._asked + 1
                try:
                    upstream(None, partial(on_answer, number))
                except Exception as error:  # noqa: BLE001  property F10
                    self._broke(error)
                if queue:
                    self._turn.let_in()
                if number != self._answers:
                    break  # the answer comes later, and with it the rest
        finally:
            self._pumping = False
        if waiting and self._stopping and self._end is None and self._asked == self._answers:
            self._close(True)

    def _answered(self, number: int, end: bool | Exception | None, value: Any = None, /) -> None:
        if self._turn.owner != get_ident():
            self._turn.run(self._answered, number, end, value)
            return
        if number != self._answers + 1:
            self._out_of_turn(number)
            return
        self._answers = number
        if self._end is not None or not (end is None or end is False):
            self._take_end(number, end_of(end))
            return
        transform = None
        try:
            for transform in self._transforms:
                value = transform(value)
                if value.__class__ is Mark:
                    break
        except Exception as error:  # noqa: BLE001  property F5
            self._close(step_failed(error, self._steps[self._transforms.index(transform)]))  # type: ignore[arg-type]
            return
        if value.__class__ is not Mark:
            try:
                self._waiting.popleft()(None, value)
            except RecursionError:
                raise  # see protocol.give
            except Exception as error:  # noqa: BLE001
                drop("property F10: an answer function raised", error)
        elif value is STOP:
            self._close(True)
            return
        if not self._pumping and not self._concurrent and self._waiting and self._asked == self._answers:
            self._pump()

    def _take_end(self, number: int, end: End | None) -> None:
        if self._end is None:
            self._settle(worst(end))
        elif end is None and not self._aborted:  # what comes after an abort is dropped; whoever waits gets the end
            drop("pull: upstream broke the protocol", PullError("B7", f"request {number} got a value after the end"))

    def _broke(self, error: Exception) -> None:
        if self._end is None:
            self._settle(raised(error))
        else:
            read_raised(error)

    def _out_of_turn(self, number: int) -> None:
        if number <= self._answers:
            twice(number)
        elif self._end is None:
            self._close(PullError("B3", f"request {number} was answered before request {self._answers + 1}"))

    # The end.

    def _last_request(self, abort: Abort, answer: Answer | None) -> None:
        """Handle a request that cannot be an ask of a live stream."""
        if self._end is not None:
            if answer is None:
                return
            if self._closing or self._waiting:
                self._waiting.append(answer)
            else:
                give(answer, self._end)
            return
        if answer is not None:
            self._waiting.append(answer)
        if not asks(abort):
            self._close(cause(abort))
        elif self._asked == self._answers and not self._pumping:
            self._close(True)

    def _close(self, end: End) -> None:
        """Abort upstream, once; who waits is answered when upstream has confirmed it."""
        self._end = end
        self._aborted = self._closing = True
        self._release(end)
        try:
            self._upstream(end, self._confirmed)
        except Exception as error:  # noqa: BLE001  property F10
            self._turn.run(self._settle_closed, raised(error))

    def _confirmed(self, end: bool | Exception | None, value: Any = None, /) -> None:
        self._turn.run(self._settle_closed, end)

    def _settle_closed(self, end: bool | Exception | None) -> None:
        if not self._closing:
            return
        self._closing = False
        # Property F4: an error of one's own comes before a failed close, and that before a plain end.
        self._settle(worst(self._end, end))

    def _settle(self, end: End) -> None:
        """Answer everybody with the end, in order."""
        self._end = end
        self._release(end)
        waiting = self._waiting
        while waiting:
            give(waiting.popleft(), end)

    def _release(self, end: End) -> None:
        """Tell the steps, once, that it is over."""
        hooks, self._on_end = self._on_end, []
        for hook in hooks:
            told(hook, end)
