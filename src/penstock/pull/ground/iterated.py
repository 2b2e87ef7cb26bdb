"""iterated: the ground of sources that are iterated over, alone or through steps.

Where a source can be iterated, the steps behind it need no requests: source and steps are one loop, and what follows
cannot tell the difference. A drain over such a source is a loop over its values.

A function of the loop may abort the stream, or ask for more, while the loop runs. A request that comes then waits until
the loop has come to its next value; an abort is noted at once, so that no function gets a value any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.engine.weaving.blame import no_stop
from penstock.engine.weaving.segment import close, close_quietly
from penstock.engine.words.dropped import drop
from penstock.pull.ground.marks import LATER, OVER, Later
from penstock.pull.ground.protocol import Abort, Answer, Done, End, answer_given, asks, cause, give, told, worst
from penstock.pull.ground.turn import Line
from penstock.pull.ground.weaving import Hooks, JoinedRun, Step


class IteratedSource:
    """A source that answers each ask with the next item; the iterator is closed at the end, whatever causes it."""

    __slots__ = (
        "_halted", "_hooks", "_iterator", "_line", "_loop", "_next", "_on_abort", "_open", "_run", "_steps", "end",
        "level",
    )  # fmt: skip

    def __init__(
        self, open_items: Callable[[], Iterator[Any]], on_abort: Done | None = None, steps: tuple[Step, ...] = ()
    ) -> None:
        self._open = open_items
        self._on_abort = on_abort
        self._steps = steps
        self._hooks = Hooks(steps)
        self._line = Line()
        self._run: JoinedRun | None = None
        self._iterator: Iterator[Any] | None = None
        self._loop: Iterator[Any] | None = None
        self._next: Callable[[], Any] | None = None
        self._halted: End | None = None
        """Why it is to end, when the loop that runs has come to its next value."""
        self.end: End | None = None
        self.level = 0

    def through(self, steps: tuple[Step, ...]) -> IteratedSource | None:
        """Return what further steps make of it, in its place; None if it was read already."""
        if self._iterator is not None or self.end is not None or self._halted is not None:
            return None
        return IteratedSource(self._open, self._on_abort, (*self._steps, *steps))

    # Asked for one value after the other.

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for the next item, or abort."""
        if not asks(abort):
            self.halt(cause(abort))
        elif answer is None:
            answer_given(answer)
        line = self._line
        if line.queue:
            line.run(self._request, abort, answer)
            return
        try:
            line.token.pop()
        except IndexError:
            line.run(self._request, abort, answer)
            return
        try:
            if self.end is None and self._halted is None:  # the common case, spelt out
                try:
                    value = (self._next or self._started())()
                except StopIteration:
                    self.exhausted()
                except Exception as error:  # noqa: BLE001  property F1
                    self.failed(error)
                else:
                    if self._halted is None:
                        try:
                            answer(None, value)  # type: ignore[misc]
                        except RecursionError:
                            raise  # see protocol.give
                        except Exception as error:  # noqa: BLE001
                            drop("property F10: an answer function raised", error)
                        return
                    self.aborted(self._halted)
            self._request(abort, answer)
        finally:
            line.token.append(True)
            if line.queue:
                line.let_in()

    def _request(self, abort: Abort, answer: Answer | None) -> None:
        if self.end is None:
            if self._halted is not None:
                self.aborted(self._halted)
            else:
                value = self._pull()
                if value is not OVER:
                    self._answer(answer, value)
                    return
        if answer is not None:
            give(answer, self.end)

    def _answer(self, answer: Answer | None, value: Any) -> None:
        try:
            answer(None, value)  # type: ignore[misc]
        except RecursionError:
            raise  # see protocol.give
        except Exception as error:  # noqa: BLE001
            drop("property F10: an answer function raised", error)

    def at_once(self, later: Later) -> Any:
        """Return the next item, or OVER."""
        line = self._line
        if line.queue or not line.token:
            self.read(None, later())
            return LATER
        try:
            line.token.pop()
        except IndexError:
            self.read(None, later())
            return LATER
        try:
            if self.end is not None:
                return OVER
            value = (self._next or self._started())()
        except StopIteration:
            self.exhausted()
            return OVER
        except Exception as error:  # noqa: BLE001  property F1
            self.failed(error)
            return OVER
        else:
            if self._halted is None:
                return value
            self.aborted(self._halted)
            return OVER
        finally:
            line.token.append(True)
            if line.queue:
                line.let_in()

    def _pull(self) -> Any:
        try:
            value = (self._next or self._started())()
        except StopIteration:
            self.exhausted()
            return OVER
        except Exception as error:  # noqa: BLE001  property F1
            self.failed(error)
            return OVER
        if self._halted is None:
            return value
        self.aborted(self._halted)
        return OVER

    def _started(self) -> Callable[[], Any]:
        self._next = self._items().__next__
        return self._next

    def _items(self) -> Iterator[Any]:
        if self._iterator is not None:
            return self._iterator if self._loop is None else self._loop
        try:
            self._iterator = items = self._open() if self.end is None else iter(())
        except StopIteration as error:
            raise no_stop(error, "pull: a source that was opened") from error
        if self._steps:
            self._run = JoinedRun(self._steps, looped=True)
            self._loop = items = self._run.go(items)
        return items

    # Looped over.

    def start(self) -> Iterator[Any]:
        """Return an iterator over everything, for a sink that then says how that came to its end, and leaves."""
        self._line.begin()
        return self._items()

    def leave(self) -> None:
        """Let in who came while a sink looped."""
        self._line.leave()

    # The end.

    def halt(self, end: End) -> None:
        """Note that it is to end, though the loop may be running: no function gets a value any more."""
        if self.end is None and self._halted is None:
            self._halted = end
            if self._run is not None:
                self._run.halt()

    def exhausted(self) -> End:
        """Take it that the loop came to its end; return how the stream ends."""
        run = self._run
        if self.end is not None:
            return self.end
        if self._halted is not None:
            if run is not None and run.error is not None:
                drop("pull: a function raised after it had aborted its stream", run.failure())
            return self.aborted(self._halted)
        if run is None or run.at is None:
            self.end = True
            self._close()
            self._hooks.down(0, self.end)
            return self.end
        if run.error is not None:
            return self._stopped(run.failure(), run.at + 1)
        return self._stopped(True, run.at)

    def failed(self, error: Exception) -> End:
        """Take it that the source raised; return how the stream ends."""
        if self.end is None:
            self.end = worst(self._halted, error)
            if self.end is not error:
                drop("pull: a source failed to close", error)
            close_quietly(self._iterator)  # what went wrong first is told
            self._hooks.down(0, self.end)
        return self.end

    def aborted(self, end: End) -> End:
        """Take an abort; return how the stream ends: a failed close is told, if nothing worse was."""
        return self._stopped(end, len(self._steps))

    def _stopped(self, end: End, at: int) -> End:
        """End from a place among the steps: those above are aborted, those below are told the end."""
        if self.end is None:
            self.end = end
            self._hooks.up(at, end)
            self._close()
            if self._on_abort is not None:
                told(self._on_abort, end)
            self._hooks.down(at, self.end)
        return self.end

    def _close(self) -> None:
        loop, self._loop = self._loop, None
        iterator, self._iterator = self._iterator, None
        try:
            close(loop)
            close(iterator)
        except Exception as error:  # noqa: BLE001  property F4
            if self.end is True:
                self.end = error
            else:
                drop("pull: a source failed to close", error)
