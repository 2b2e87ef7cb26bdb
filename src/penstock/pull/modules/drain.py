"""drain: the loop that every sink is made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import Any, TypeVar

from penstock.engine.words.dropped import drop
from penstock.pull.ground.depth import whole
from penstock.pull.ground.iterated import IteratedSource
from penstock.pull.ground.marks import OVER, Mark, at_once_of
from penstock.pull.ground.protocol import (
    Answer,
    Done,
    End,
    PullError,
    Read,
    at_fault,
    end_of,
    failure,
    raised,
    twice,
    worst,
)
from penstock.pull.ground.turn import Turn
from penstock.pull.module import PullSink, PullSource, read_of

T = TypeVar("T")


class Drain(PullSink[T, None]):
    """A sink that asks for one value after the other; calling it with a source starts it.

    `op` gets each value; if it returns False the source is aborted and the end is a good one; if it raises, the source
    is aborted with that.
    """

    __slots__ = (
        "_aborted", "_answers", "_asked", "_done", "_error", "_looping", "_op", "_outcome", "_over", "_read",
        "_running", "_turn",
    )  # fmt: skip

    def __init__(self, op: Callable[[T], object] | None, done: Done | None, name: str = "drain") -> None:
        super().__init__(self._begin, name, takes_source=True)
        self._op = op
        self._done = [done] if done is not None else []
        self._read: Read | None = None
        self._turn = Turn()
        self._running: IteratedSource | None = None
        """What it loops over, which then hears of the end by itself."""
        self._aborted: End | None = None
        self._over = False
        self._error: Exception | None = None
        self._looping = False
        self._asked = 0
        self._answers = 0
        self._outcome: dict[str, Exception | None] = {}
        """What the start raises, or None once it has returned: whichever came first, from whichever thread."""

    def _begin(self, source: PullSource[T] | Read) -> None:
        """Read to the end, now and as answers come."""
        if self._read is not None:
            raise PullError("B15", f"{self.name} reads from a source already; a sink is wired once")
        self._read = read_of(self.name, source)
        try:
            whole(self._turn.run, self._start, source.iterated if isinstance(source, PullSource) else None)
        finally:
            error, self._outcome["start"] = self._outcome.setdefault("start", None), None
        if error is not None:
            raise error  # property F9: never swallowed

    def abort(self, error: Exception | None = None, done: Done | None = None) -> None:
        """Stop reading and abort the source, with an error or without; `done` is told when that is confirmed."""
        self._turn.run(self._stop, error if error is not None else True, done)

    def _stop(self, end: End, done: Done | None) -> None:
        if done is not None:
            self._done.append(done)
        if self._over:
            self._tell()
        elif self._aborted is None:
            self._abort(end)

    def _start(self, iterated: IteratedSource | None) -> None:
        if self._aborted is not None:
            self._send(self._aborted)
        elif iterated is not None:
            self._run(iterated)
        else:
            self._loop()

    # A source that can be iterated is looped over.

    def _run(self, iterated: IteratedSource) -> None:
        op, queue = self._op, self._turn.queue
        self._running = iterated
        end: End | None = None
        try:
            for value in iterated.start():
                if self._aborted is not None:  # by a function of the stream
                    break
                if op is not None:
                    try:
                        if op(value) is False and self._aborted is None:
                            self._aborted = True
                    except Exception as error:  # noqa: BLE001  property F9
                        self._op_raised(at_fault(error, self.name, op))
                if queue:
                    self._turn.let_in()
                if self._aborted is not None:
                    break
            else:
                end = iterated.exhausted()
            if end is None:
                end = iterated.aborted(self._aborted or True)
        except Exception as error:  # noqa: BLE001  property F1
            end = iterated.failed(error)
        finally:
            if end is None:
                iterated.aborted(True)  # an interrupt passes, and closes on its way
            iterated.leave()
        self._finish(failure(worst(self._aborted, end)))

    # Any other is asked.

    def _loop(self) -> None:
        read, queue, on_answer = self._read, self._turn.queue, self._answered
        assert read is not None
        above, op = at_once_of(read), self._op
        self._looping = True
        returned = False
        try:
            while self._aborted is None and not self._over:
                self._asked = number = self._asked + 1
                try:
                    if above is None:
                        read(None, partial(on_answer, number))
                    else:
                        value = above.at_once(self._later)
                        if value.__class__ is not Mark:
                            self._answers = number
                            if op is not None and self._aborted is None:
                                try:
                                    if op(value) is False and self._aborted is None:
                                        self._abort(True)
                                except Exception as error:  # noqa: BLE001  property F9
                                    self._op_raised(at_fault(error, self.name, op))
                        elif value is OVER:
                            self._answered(number, above.end)
                except Exception as error:  # noqa: BLE001  property F10
                    self._broke(error)
                if queue:
                    self._turn.let_in()
                if self._answers != number:
                    break  # the answer comes later, and with it the rest
            returned = True
        finally:
            self._looping = False
            if not returned and not self._over:  # an interrupt passes, and closes on its way
                self._over = True
                self._abort(True)

    def _later(self) -> Answer:
        return partial(self._answered, self._asked)

    def _taken(self, op: Callable[[T], object], value: T) -> None:
        try:
            if op(value) is False and self._aborted is None:
                self._abort(True)
        except Exception as error:  # noqa: BLE001  property F9
            self._op_raised(at_fault(error, self.name, op))

    def _op_raised(self, error: Exception) -> None:
        if self._aborted is None:
            self._abort(error)
        else:
            drop("pull: a function raised after it had aborted its stream", error)

    def _answered(self, number: int, end: bool | Exception | None, value: Any = None, /) -> None:
        if self._turn.owner != get_ident():
            self._turn.run(self._answered, number, end, value)
            return
        if number != self._asked or self._answers == number:
            twice(number)
            return
        self._answers = number
        if self._aborted is not None:
            return  # it came too late, and is dropped
        if end is not None and end is not False:
            self._finish(failure(end_of(end)))
            return
        if self._op is not None:
            self._taken(self._op, value)
        if not self._looping:
            self._loop()

    def _broke(self, error: Exception) -> None:
        if self._aborted is None:
            self._answers = self._asked
            self._finish(raised(error))
        else:
            drop("property F10: a read raised", error)

    def _abort(self, end: End) -> None:
        self._aborted = end
        if self._running is not None:
            self._running.halt(end)
        elif self._read is not None:
            self._send(end)

    def _send(self, end: End) -> None:
        assert self._read is not None
        try:
            self._read(end, self._closed)
        except Exception as error:  # noqa: BLE001  property F10
            self._turn.run(self._finish, failure(worst(end, raised(error))))

    def _closed(self, end: bool | Exception | None, value: Any = None, /) -> None:
        self._turn.run(self._finish, failure(worst(self._aborted, end)))

    def _finish(self, error: Exception | None) -> None:
        if self._over:
            return
        self._over = True
        self._error = error
        if error is not None and not self._done:
            self._report("pull: a stream failed and its sink has no function to be told", error)
        self._tell()

    def _tell(self) -> None:
        hooks, self._done = self._done, []
        for hook in hooks:
            try:
                hook(self._error)
            except Exception as error:  # noqa: BLE001  property F10
                self._report("pull: a function that was told of the end raised", error)

    def _report(self, what: str, error: Exception) -> None:
        """Raise an error where the sink was started, or, if that is long over, hand it to the hook."""
        if self._outcome.setdefault("start", error) is not error:
            drop(what, error)
