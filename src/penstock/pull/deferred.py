"""deferred: a source that stands in for another until that is known."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any, TypeVar

from penstock.engine.dropped import drop
from penstock.pull.module import Source, read_of
from penstock.pull.protocol import (
    Abort,
    Answer,
    End,
    PullError,
    Read,
    answer_given,
    asks,
    cause,
    give,
    raised,
    unheard,
    worst,
)
from penstock.pull.turn import Turn

T = TypeVar("T")


class DeferredSource(Source[T]):
    """Keep requests, in order, until there is a source; an abort meanwhile ends it, and the source when it comes."""

    __slots__ = ("_closing", "_end", "_passing", "_resolved", "_target", "_turn", "_waiting")

    def __init__(self, name: str = "defer_source") -> None:
        super().__init__(self._read, name)
        self._turn = Turn()
        self._waiting: deque[Answer] = deque()
        self._target: Read | None = None
        self._resolved = False
        self._passing = False
        """Whether requests that waited are being passed on; others wait behind them."""
        self._end: End | None = None
        """How it ended before the source had all requests; after that the source answers for itself."""
        self._closing = False

    def resolve(self, source: Source[T] | Read) -> None:
        """Say which source it is; what was asked for meanwhile is asked of it."""
        if self._resolved:
            raise PullError("B15", f"{self.name} is resolved already")
        read = read_of(self.name, source)
        self._resolved = True
        self._turn.run(self._pass_on, read)

    def abort(self, error: Exception | None = None) -> None:
        """End, if there is no source yet; abort the source if there is."""
        end: End = error if error is not None else True
        self._read(end, unheard(end))

    def _read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        if answer is None and asks(abort):
            answer_given(answer)
        self._turn.run(self._request, abort, answer)

    def _request(self, abort: Abort, answer: Answer | None) -> None:
        if self._end is None and self._target is not None and not self._passing:
            self._pass(abort, answer)
        elif self._end is None and asks(abort):
            self._waiting.append(answer_given(answer))
        else:
            if answer is not None:
                self._waiting.append(answer)
            if self._end is None:
                self._stop(cause(abort))
            elif not self._closing:
                self._settle()

    def _pass_on(self, read: Read) -> None:
        self._target = read
        if self._end is not None:
            self._pass(self._end, unheard(self._end))
            return
        self._passing = True
        try:
            while self._waiting and self._end is None:
                self._pass(None, self._waiting.popleft())
                if self._turn.queue:
                    self._turn.let_in()
        finally:
            self._passing = False

    def _pass(self, abort: Abort, answer: Answer | None) -> None:
        assert self._target is not None
        once = None if answer is None else _Once(answer)
        try:
            self._target(abort, once)
        except RecursionError:
            raise  # see protocol.give
        except Exception as error:  # noqa: BLE001  property F10
            if once is None:
                drop("property F10: a read raised", error)
            else:
                once(raised(error))

    def _stop(self, end: End) -> None:
        self._end = end
        if self._target is None:
            self._settle()
            return
        self._closing = True
        self._pass(end, partial(self._turn.run, self._closed))

    def _closed(self, end: bool | Exception | None, value: Any = None, /) -> None:
        self._closing = False
        self._end = worst(self._end, end)
        self._settle()

    def _settle(self) -> None:
        assert self._end is not None
        while self._waiting:
            give(self._waiting.popleft(), self._end)


class _Once:
    """Answer once."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Answer) -> None:
        self._answer: Answer | None = answer

    def __call__(self, end: bool | Exception | None, value: Any = None, /) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            give(answer, None if end is False else end, value)


def defer_source() -> DeferredSource[Any]:
    """Make a source that is known later: `resolve(source)`."""
    return DeferredSource()


__all__ = ["DeferredSource", "defer_source"]
