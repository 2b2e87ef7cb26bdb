"""boundary: hand elements to another thread or loop, in chunks and under credit.

Upstream is asked for `window` elements when the subscriber asks for the first, and for half a window whenever that many
were taken, so no more than `window` elements are ever between the two sides. An element that arrives while the other
side is idle wakes it at once; while it is busy, elements pile up and are taken as one chunk.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.grounds.upstream import Queued
from penstock.engine.places.executors import Worker
from penstock.engine.words.trampoline import asking, cancelling, opening
from penstock.spec.interfaces import Subscriber


class _OnNext(Protocol):  # a Callable would be a method to pyright, with the element for its self
    def __call__(self, element: Any, /) -> None: ...


def _queueing(outlet: Outlet[Any]) -> _OnNext:
    """Return `on_next` for the busiest place of all: a closure, so that nothing is looked up twice."""
    append, wake, turn = outlet.queue.append, outlet.wake, outlet.turn

    def on_next(element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        append(element)
        if turn:
            wake()

    return on_next


class Boundary(Queued):
    """The subscriber in front of a boundary; what follows runs on `worker`."""

    __slots__ = ("_worker", "on_next")

    def __init__(self, downstream: Subscriber[Any], worker: Worker, window: int) -> None:
        super().__init__(downstream, window, worker.submit)
        self._worker = worker
        self.height = 0  # signals change hands here, so the stack of calls begins anew
        outlet = self.outlet
        outlet.on_cancel = partial(cancelling, self.cancel)
        self.on_next = _queueing(outlet)  # type: ignore[method-assign]
        outlet.most_held = lambda: window
        outlet.chunk = (window + 1) // 2

    def closed(self) -> None:
        self._worker.close()

    def subscribed(self) -> None:
        opening(self.outlet.open)

    def requested(self, _: int, /) -> None:
        if not self.begun:
            asking(self.begin)

    def on_chunk(self, elements: list[Any], /) -> None:
        """Queue several elements for the other side."""
        self.outlet.queue.extend(elements)
        self.outlet.wake()
