"""plain: hand-written modules among ours: what they ask for from inside an answer is asked when that has returned.

A hand-written sink asks for the next value where it is given the last one, and a hand-written source answers where it
is asked: without a module between them each value would take a few frames of the stack, and the stack is short.
"""

from __future__ import annotations

from functools import partial
from threading import get_ident
from typing import Any

from penstock.pull.ground.between import Between
from penstock.pull.ground.depth import level_above
from penstock.pull.ground.marks import at_once_of
from penstock.pull.ground.protocol import Abort, Answer, Read, asks, give, raised, read_raised
from penstock.pull.ground.turn import Line


class Plain:
    """A hand-written source, read by one request after the other; none is made while another one has not returned."""

    __slots__ = ("_left", "_line", "_overtaken", "_read", "level")

    def __init__(self, read: Read) -> None:
        self.level = level_above(read)
        self._read = read
        self._line = Line()
        self._overtaken = False
        """Whether an abort waits behind asks: they are not made any more, and end with it (property A4)."""
        self._left: list[Answer] = []
        """Who asked and was overtaken."""

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for a value, or abort."""
        if self._line.owner == get_ident():
            if asks(abort) or self._line.queue:
                self._overtaken = self._overtaken or not asks(abort)
                self._line.run(self._afterwards, abort, answer)
            else:
                self._read(abort, answer)  # property A7: at once, also from inside an answer
        else:
            self._line.run(self._read, abort, answer)

    def _afterwards(self, abort: Abort, answer: Answer | None) -> None:
        """Make a request whose caller has returned, so that no error can be raised to it."""
        if self._overtaken and asks(abort) and answer is not None:
            self._left.append(answer)
            return
        if self._left:
            answer = partial(_answer_all, [*self._left, answer])
            self._left.clear()
        self._overtaken = False
        once = None if answer is None else AnswerOnce(answer)
        try:
            self._read(abort, once)
        except RecursionError:
            raise  # see protocol.give
        except Exception as error:  # noqa: BLE001  property F10
            if once is None or once.answered:
                read_raised(error)
            else:
                once(raised(error))


def _answer_all(answers: list[Answer | None], end: bool | Exception | None, value: Any = None, /) -> None:
    for answer in answers:
        if answer is not None:
            give(answer, end, value)


class AnswerOnce:
    """An answer function that answers once."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Answer) -> None:
        self._answer: Answer | None = answer

    @property
    def answered(self) -> bool:
        """Tell whether it has answered."""
        return self._answer is None

    def __call__(self, end: bool | Exception | None, value: Any = None, /) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            give(answer, None if end is False else end, value)


def flat(read: Any) -> Any:
    """Return what reads the same without nesting, if it is hand-written; ours do not nest."""
    ours = at_once_of(read) is not None or isinstance(getattr(read, "__self__", None), Plain | Between)
    if ours or not callable(read):
        return read
    return Plain(read).read
