"""switching: throughs that change how a stream ends: catch, abortable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.between import Between
from penstock.pull.ground.desk import Confirm
from penstock.pull.ground.protocol import Abort, Answer, Done, End, PullError, Read, at_fault, failure, told
from penstock.pull.module import PullThrough

A = TypeVar("A")
B = TypeVar("B")


class _Catch(Between):
    def __init__(self, read: Read, fn: Callable[[Exception], Any] | None) -> None:
        super().__init__(read)
        self._fn = fn

    def ended(self, end: End) -> None:
        error = failure(end)
        if error is None or self._fn is None:
            self.desk.finish(True)
            return
        try:
            value = self._fn(error)
        except Exception as other:  # noqa: BLE001  it is the end
            self.desk.finish(other if other is error else at_fault(other, "catch", self._fn))
            return
        if value is not None:
            self.desk.give(value)
        self.desk.finish(True)


def catch(fn: Callable[[Exception], B | None] | None = None) -> PullThrough[A, A | B]:
    """Make a good end of an error, after the value that a function makes of it, if that is not None.

    If the function raises, the stream ends with what it raised, be it the error that it was given.
    """
    if fn is not None:
        function_given("catch", "fn", fn)
    return PullThrough(lambda read: _Catch(read, fn).desk.read, name="catch")


class _Switched(Between):
    def __init__(self, read: Read, on_end: Done | None) -> None:
        super().__init__(read)
        self.aborted: End | None = None
        """How it was switched off before it was wired."""
        self._on_end = on_end

    def request(self, abort: Abort, answer: Answer | None = None, /) -> None:
        if self.aborted is not None:  # this is the first request
            end, self.aborted = self.aborted, None
            self.stop(end)
        self.desk.read(abort, answer)

    def stop(self, end: End) -> None:
        self.desk.turn.run(self._stop, end)

    def _stop(self, end: End) -> None:
        if not self.desk.over:
            self.desk.stop(end)

    def ended(self, end: End) -> None:
        self._tell(end)
        self.desk.finish(end)

    def close(self, end: End, confirm: Confirm) -> None:
        self._tell(end)
        self.reader.abort(end, confirm)

    def _tell(self, end: End) -> None:
        hook, self._on_end = self._on_end, None
        if hook is not None:
            told(hook, end)


class Abortable(PullThrough[A, A]):
    """A through that can be ended from outside, from any thread; wired once."""

    __slots__ = ("_aborted", "_on_end", "_switched")

    def __init__(self, on_end: Done | None) -> None:
        super().__init__(self._wire, name="abortable")
        self._on_end = on_end
        self._aborted: End | None = None
        self._switched: _Switched | None = None

    def _wire(self, read: Read) -> Read:
        if self._switched is not None:
            raise PullError("B15", "abortable reads from a source already; make one for each pipeline")
        self._switched = switched = _Switched(read, self._on_end)
        switched.aborted = self._aborted  # `abort` sets this first, and then looks for what is wired
        return switched.desk.read if self._aborted is None else switched.request

    def abort(self, error: Exception | None = None) -> None:
        """End at once, with an error or well; a reader that waits is answered, and upstream is aborted."""
        if self._aborted is None:
            self._aborted = error if error is not None else True
            if self._switched is not None:
                self._switched.stop(self._aborted)


def abortable(on_end: Done | None = None) -> Abortable[Any]:
    """Make a through with a switch: `abort()` ends the stream from outside; `on_end` is told once how it ended."""
    if on_end is not None:
        function_given("abortable", "on_end", on_end)
    return Abortable(on_end)


__all__ = ["Abortable", "abortable", "catch"]
