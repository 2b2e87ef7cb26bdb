"""pushable: a source that is filled from outside, from any thread."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.engine.words.queued import look
from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.desk import Confirm, Desk
from penstock.pull.ground.protocol import Done, End, told
from penstock.pull.module import PullSource

T = TypeVar("T")


class Pushable(PullSource[T]):
    """A source of what was pushed; what was not asked for yet is kept, without bound, in `buffer`."""

    __slots__ = ("_desk", "_on_close")

    def __init__(self, on_close: Done | None = None) -> None:
        self._desk = Desk(self._wait, self._close, self._tell)
        super().__init__(self._desk.read, "pushable")
        self._on_close = on_close

    @property
    def buffer(self) -> tuple[T, ...]:
        """Return what was pushed and not yet read."""
        return tuple(look(self._desk.ready))

    def push(self, value: T) -> None:
        """Add a value; after the end or an abort it is ignored."""
        self._desk.turn.run(self._desk.give, value)

    def end(self, error: Exception | None = None) -> None:
        """End, well or with an error, after what was pushed."""
        self._desk.turn.run(self._desk.finish, error if error is not None else True)

    def abort(self, error: Exception | None = None) -> None:
        """End at once; what was pushed and not yet read is dropped."""
        self.read(error if error is not None else True, None)

    def _wait(self) -> bool:
        return True

    def _close(self, end: End, confirm: Confirm) -> None:
        self._tell(end)
        confirm(True)

    def _tell(self, end: End) -> None:
        hook, self._on_close = self._on_close, None
        if hook is not None:
            told(hook, end)


def pushable(on_close: Done | None = None) -> Pushable[Any]:
    """Make a source to be filled by `push` and `end`; `on_close` is told once, when the end is read, or an abort."""
    if on_close is not None:
        function_given("pushable", "on_close", on_close)
    return Pushable(on_close)


__all__ = ["Pushable", "pushable"]
