"""iterated: the ground of sources that are iterated over, alone or through steps.

Where a source has its values at hand, the steps behind it need no requests of their own: source and steps are one loop,
and what follows cannot tell. A drain over such a source is a loop over its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.engine.blame import no_stop
from penstock.engine.dropped import drop
from penstock.engine.segment import close, close_quietly
from penstock.pull.protocol import Abort, Answer, Done, End, answer_given, cause, give, told
from penstock.pull.steps import STOP, Mark, Step, step_failed


class Iterated:
    """Answer each ask with the next item; the iterator is closed at the end, whoever causes it."""

    __slots__ = ("_end", "_iterator", "_next", "_on_abort", "_open")

    def __init__(self, open_items: Callable[[], Iterator[Any]], on_abort: Done | None = None) -> None:
        self._open = open_items
        self._iterator: Iterator[Any] | None = None
        self._next: Callable[[], Any] | None = None
        self._end: End | None = None
        self._on_abort = on_abort

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for the next item, or abort."""
        end = self._end
        if end is None:
            if abort is None or abort is False:
                if answer is None:
                    answer_given(answer)
                try:
                    value = (self._next or self._started())()
                except StopIteration:
                    end = self.ended(True)
                except Exception as error:  # noqa: BLE001  property F1
                    end = self.ended(error)
                else:
                    try:
                        answer(None, value)  # type: ignore[misc]
                    except RecursionError:
                        raise  # see protocol.give
                    except Exception as error:  # noqa: BLE001
                        drop("property F10: an answer function raised", error)
                    return
            else:
                end = self.aborted(cause(abort))
        if answer is not None:
            give(answer, end)

    def _started(self) -> Callable[[], Any]:
        self._next = self.items().__next__
        return self._next

    def items(self) -> Iterator[Any]:
        """Return an iterator over what is left, for somebody who then says how it `ended` or was `aborted`."""
        if self._iterator is None:
            try:
                self._iterator = self._open() if self._end is None else iter(())
            except StopIteration as error:
                raise no_stop(error, "pull: a source that was opened") from error
        return self._iterator

    def ended(self, end: End) -> End:
        """Note how the iteration ended, by itself; return how the stream does."""
        if self._end is None:
            self._end = end
            if end is True:
                self._close()
            else:
                close_quietly(self._iterator)  # what went wrong first is told
        return self._end

    def aborted(self, end: End) -> End:
        """Note that somebody ended it; return how the stream ends: a failed close is told, if nothing worse was."""
        if self._end is None:
            self._end = end
            self._close()
            if self._on_abort is not None:
                told(self._on_abort, end)
        return self._end

    def _close(self) -> None:
        iterator, self._iterator = self._iterator, None
        try:
            close(iterator)
        except Exception as error:  # noqa: BLE001  property F4
            if self._end is True:
                self._end = error
            else:
                drop("pull: a source failed to close", error)

    def through(self, steps: tuple[Step, ...]) -> Iterated | None:
        """Return what the steps make of it as one loop, or None if somebody wants to be told of the end on the way."""
        if not steps or self._on_abort is not None or any(step.on_end is not None for step in steps):
            return None
        return Iterated(lambda: _stepped(self, steps))


def _stepped(source: Iterated, steps: tuple[Step, ...]) -> Iterator[Any]:
    stopping = any(step.stops_at_once for step in steps)

    def last() -> None:
        nonlocal stopping
        stopping = True

    transforms = [step.open(last) for step in steps]
    if stopping:
        _raise(source.aborted(True))
        return
    transform = None
    try:
        for value in source.items():
            for transform in transforms:
                value = transform(value)  # noqa: PLW2901
                if value.__class__ is Mark:
                    break
            else:
                transform = None
                yield value
                if stopping:
                    break
                continue
            if value is STOP:
                break
            transform = None
        else:
            _raise(source.ended(True))
            return
    except GeneratorExit:
        _raise(source.aborted(True))
        raise
    except Exception as error:
        if transform is None:
            source.ended(error)
            raise
        failed = step_failed(error, steps[transforms.index(transform)])
        source.aborted(failed)
        raise failed from failed.__cause__
    _raise(source.aborted(True))


def _raise(end: End) -> None:
    if isinstance(end, Exception):
        raise end
