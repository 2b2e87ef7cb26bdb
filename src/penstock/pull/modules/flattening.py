"""flattening: throughs that make several values of one: flatten, flat_map, queue_through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from threading import get_ident
from typing import Any, TypeVar

from penstock.pull.ground.arguments import function_given
from penstock.pull.ground.between import Between
from penstock.pull.ground.desk import Confirm
from penstock.pull.ground.protocol import End, Read, at_fault, failure, worst
from penstock.pull.ground.reader import SourceReader
from penstock.pull.module import PullSource, PullThrough, read_of
from penstock.pull.modules.sources import from_iter
from penstock.pull.modules.throughs import map as each

A = TypeVar("A")
B = TypeVar("B")


_WHOLE = frozenset({int, float, str, bytes, bool, type(None)})
_WHOLE_TOO = (str, bytes, bytearray, Mapping)
"""What is a value, though it could be iterated over."""
_ROWS = (list, tuple)


class _Flatten(Between):
    """A reader of one inner source after the other."""

    def __init__(self, read: Read) -> None:
        super().__init__(read)
        self._inner: SourceReader | None = None
        self._inner_failed = False

    def wanted(self) -> bool:
        if self._inner is None:
            self.reader.ask()
            if self._inner is None:
                return self.reader.asking
        self._inner.ask()
        return self._inner is not None and self._inner.asking

    def arrived(self, value: Any) -> None:
        if type(value) in _WHOLE:
            self.desk.give(value)
        elif isinstance(value, _ROWS):
            self.desk.ready.extend(value)
            self.desk.serve()
        elif isinstance(value, PullSource) or callable(value):
            self._read(value)
        elif isinstance(value, Iterable) and not isinstance(value, _WHOLE_TOO):
            self._read(from_iter(value))
        else:
            self.desk.give(value)

    def _read(self, source: Any) -> None:
        try:
            read = read_of("flatten", source)
        except Exception as error:  # noqa: BLE001  property F5
            self.desk.stop(error)
            return
        self._inner = SourceReader(read, self.desk.give, self._inner_ended, self.desk.turn)
        self.desk.serve()

    def _inner_ended(self, end: End) -> None:
        self._inner = None
        if failure(end) is None:
            self.desk.serve()
        else:
            self._inner_failed = True
            self.desk.stop(end)

    def close(self, end: End, confirm: Confirm) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.abort(end, partial(self._inner_closed, end, confirm))
        else:
            # Property F12: what an inner source failed with is no fault of the outer one.
            self.reader.abort(True if self._inner_failed else end, confirm)

    def _inner_closed(self, end: End, confirm: Confirm, first: bool | Exception | None) -> None:
        self.reader.abort(end, lambda second: confirm(worst(first, second)))


def flatten() -> PullThrough[Any, Any]:
    """Give the values of the sources, lists and other iterables that come, in turn; a plain value as it is."""
    return PullThrough(lambda read: _Flatten(read).desk.read, name="flatten")


def flat_map(fn: Callable[[A], Iterable[B] | PullSource[B]]) -> PullThrough[A, B]:
    """Give the values of what a function makes of each value: a list, another iterable, or a source."""
    function_given("flat_map", "fn", fn)
    return PullThrough((each(fn) | flatten()).apply, name="flat_map")


class Queue:
    """The queue for what a function has to give for one value: nothing, or any number of values, or the end."""

    __slots__ = ("_queued",)

    def __init__(self, queued: _Queued) -> None:
        self._queued = queued

    def put(self, value: Any) -> None:
        """Give a value."""
        self._queued.put(value)

    def end(self, error: Exception | None = None) -> None:
        """End the stream here, after what was put; upstream is aborted."""
        self._queued.stop(error if error is not None else True)


class _Queued(Between):
    def __init__(
        self, read: Read, write: Callable[[Queue, Any], object], end: Callable[[Queue], object] | None
    ) -> None:
        super().__init__(read)
        self._write = write
        self._end = end
        self._queue = Queue(self)
        self._busy = False
        self._stopped: End | None = None

    def put(self, value: Any) -> None:
        if self.desk.turn.owner == get_ident():
            self._put(value)
        else:
            self.desk.turn.run(self._put, value)

    def _put(self, value: Any) -> None:
        if self._stopped is None and self.desk.end is None:
            self.desk.ready.append(value)
            self._go_on()

    def stop(self, end: End) -> None:
        self.desk.turn.run(self._stop, end)

    def _stop(self, end: End) -> None:
        if self._stopped is None:
            self._stopped = end
            self._go_on()

    def _go_on(self) -> None:
        """Serve, unless a function of the user's is at work: what comes of it is looked at when it returns."""
        if self._busy:
            return
        if self._stopped is not None and self.reader.end is None:
            # Property A8: downstream is told when upstream has confirmed it; what was put is given meanwhile.
            self.reader.abort(self._stopped, self._closed)
        self.desk.serve()

    def _closed(self, confirmation: bool | Exception | None) -> None:
        self.desk.finish(worst(self._stopped, confirmation))

    def close(self, end: End, confirm: Confirm) -> None:
        self.reader.abort(end, lambda confirmation: confirm(worst(self._stopped, confirmation)))

    def arrived(self, value: Any) -> None:
        self._call(self._write, self._queue, value)

    def ended(self, end: End) -> None:
        if end is True and self._end is not None:
            self._call(self._end, self._queue)
        self.desk.finish(worst(self._stopped, end))

    def _call(self, fn: Callable[..., object], *arguments: Any) -> None:
        self._busy = True
        try:
            fn(*arguments)
        except Exception as error:  # noqa: BLE001  property F5
            self.desk.fail(at_fault(error, "queue_through", fn))
            return
        finally:
            self._busy = False
        self._go_on()


def queue_through(
    write: Callable[[Queue, A], object], end: Callable[[Queue], object] | None = None
) -> PullThrough[A, Any]:
    """Give what `write(queue, value)` puts into the queue, and at a good end what `end(queue)` puts there.

    If upstream fails, what is in the queue is given first, then the error; `end` is not called.
    """
    function_given("queue_through", "write", write)
    if end is not None:
        function_given("queue_through", "end", end)
    return PullThrough(lambda read: _Queued(read, write, end).desk.read, name="queue_through")


__all__ = ["Queue", "flat_map", "flatten", "queue_through"]
