"""desk: the ground of modules that answer in their own time.

A desk keeps the requests that wait, in order, and gives each its value once there is one. It never calls for more than
was asked: `wanted` is called while a request waits and nothing is ready, and tells whether there is nothing to do but
wait; if not, it is called again. An abort drops what is ready, asks `close` to let go of whatever stands behind, and
answers every request when that is confirmed. The first end stays.

Requests and whatever else happens to the module run in its turn; `give`, `finish`, `stop` and `serve` are called there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any

from penstock.engine.words.dropped import drop
from penstock.pull.ground.marks import LATER, OVER, Later
from penstock.pull.ground.protocol import Abort, Answer, End, answer_given, asks, cause, give, worst
from penstock.pull.ground.turn import Turn

Confirm = Callable[[bool | Exception | None], object]


class Desk:
    """A queue of requests that are answered in order: values as they come, then the end for ever."""

    __slots__ = ("_close", "_closing", "_on_end", "_serving", "end", "level", "ready", "turn", "waiting", "wanted")

    def __init__(
        self,
        wanted: Callable[[], bool],
        close: Callable[[End, Confirm], object],
        on_end: Callable[[End], object] | None = None,
    ) -> None:
        self.turn = Turn()
        self.waiting: deque[Answer] = deque()
        self.ready: deque[Any] = deque()
        self.end: End | None = None
        """What follows when nothing is ready any more."""
        self.level = 0
        """How many modules of this package stand above it in a row, since the last landing."""
        self.wanted = wanted
        """What is called when a request waits and nothing is ready."""
        self._close = close
        self._on_end = on_end
        """What is told when the end is first given as an answer."""
        self._closing = False
        self._serving = False

    @property
    def over(self) -> bool:
        """Tell whether no value will be given any more, because it was aborted or has ended."""
        return self._closing or (self.end is not None and not self.ready)

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for a value, or abort."""
        if answer is None and asks(abort):
            answer_given(answer)
        self.turn.run(self.request, abort, answer)

    def request(self, abort: Abort, answer: Answer | None) -> None:
        """Take a request, in the turn."""
        if answer is not None:
            self.waiting.append(answer)
        if asks(abort) or self.over:  # property A6: it is too late for an abort to change anything
            self.serve()
        else:
            self.stop(cause(abort))

    def at_once(self, later: Later) -> Any:
        """Return the next value, OVER, or LATER."""
        turn, waiting = self.turn, self.waiting
        if waiting or turn.queue or self._serving or self._closing:
            self.read(None, later())
            return LATER
        me = get_ident()
        if turn.owner == me:
            self.request(None, later())
            return LATER
        try:
            turn.token.pop()
        except IndexError:
            self.read(None, later())
            return LATER
        turn.owner = me
        self._serving = True
        ready, wanted = self.ready, self.wanted
        try:
            while True:
                if ready:
                    return ready.popleft()
                if self.end is not None and not self._closing:
                    if self._on_end is not None:
                        self._on_end(self.end)
                    return OVER
                if self._closing or (wanted() and not ready and (self.end is None or self._closing)):
                    waiting.appendleft(later())
                    return LATER
                if turn.queue:
                    turn.let_in()
        finally:
            self._serving = False
            if waiting:
                self.serve()  # the reader asked or aborted from inside
            turn.owner = 0
            turn.token.append(True)
            if turn.queue:
                turn.let_in()

    def give(self, value: Any) -> None:
        """Have a value ready for the request that waits longest."""
        if not self._closing and self.end is None:
            self.ready.append(value)
            if not self._serving and self.waiting:
                self.serve()

    def finish(self, end: End) -> None:
        """End after what is ready."""
        if self.end is None:
            self.end = end
            self.serve()

    def fail(self, error: Exception) -> None:
        """End at once, for a function of the module raised; if it had aborted the stream before, that is the end."""
        if self.over:
            drop("pull: a function raised after it had aborted its stream", error)
        else:
            self.stop(error)

    def stop(self, end: End) -> None:
        """End at once: drop what is ready, close what stands behind, then answer everybody."""
        if self._closing:
            return
        self._closing = True
        self.ready.clear()
        self.end = end
        self._close(end, self._closed)

    def _closed(self, confirmation: bool | Exception | None) -> None:
        self._closing = False
        # Property F4: a failed close is told, unless it was an error that closed.
        self.end = worst(self.end, confirmation)
        self.serve()

    def serve(self) -> None:
        """Answer the requests that can be answered."""
        if self._serving:
            return
        self._serving = True
        waiting, ready, queue = self.waiting, self.ready, self.turn.queue
        try:
            while waiting and not self._closing:
                if ready:
                    give(waiting.popleft(), None, ready.popleft())
                elif self.end is not None:
                    if self._on_end is not None:
                        self._on_end(self.end)
                    give(waiting.popleft(), self.end)
                elif self.wanted() and not ready and self.end is None:
                    break
                if queue:
                    self.turn.let_in()
        finally:
            self._serving = False
