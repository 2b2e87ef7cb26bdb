"""iterating: read a source by an ordinary `for`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, TypeVar, overload

from penstock.engine.places.event_loops import loop_here
from penstock.pull.ground.marks import LATER, OVER, at_once_of
from penstock.pull.ground.protocol import Abort, Answer, End, Read, end_of, failure
from penstock.pull.module import PullSource, read_of

T = TypeVar("T")


class _Wait:
    """The answer to one request, waited for in this thread."""

    __slots__ = ("_arrived", "end", "value")

    def __init__(self) -> None:
        self._arrived = threading.Event()
        self.end: End | None = None
        self.value: Any = None

    def __call__(self, end: bool | Exception | None, value: Any = None, /) -> None:
        if not self._arrived.is_set():
            self.end, self.value = end_of(end), value
            self._arrived.set()

    def wait(self) -> None:
        if not self._arrived.is_set() and loop_here() is not None:
            raise RuntimeError("to_iter: waiting would stop the event loop that runs here; use async for")
        self._arrived.wait()


def _request(read: Read, abort: Abort) -> _Wait:
    answer = _Wait()
    read(abort, answer)
    answer.wait()
    return answer


def _iterated(read: Read) -> Iterator[Any]:
    above = at_once_of(read)
    answer = _Wait()

    def later() -> Answer:
        nonlocal answer
        answer = _Wait()
        return answer

    over = False
    try:
        while True:
            value = LATER
            end: End | None = None
            if above is None:
                read(None, later())
            else:
                value = above.at_once(later)
            if value is LATER:
                answer.wait()
                end, value = answer.end, answer.value
            elif value is OVER and above is not None:
                end = above.end
            if end is not None:
                over = True
                error = failure(end)
                if error is not None:
                    raise error
                return
            yield value
    finally:
        if not over:
            failed = failure(_request(read, True).end)
            if failed is not None:
                raise failed


@overload
def to_iter(source: PullSource[T]) -> Iterator[T]: ...
@overload
def to_iter(source: Read) -> Iterator[Any]: ...
def to_iter(source: Read) -> Iterator[Any]:
    """Iterate over a source, in this thread; closing the iterator aborts it and waits for the confirmation.

    A `for` over a source does the same.

    >>> from penstock import pull
    >>> list(pull.count(3) | pull.map(str))
    ['0', '1', '2', '3']
    """
    return _iterated(read_of("to_iter", source))


__all__ = ["to_iter"]
