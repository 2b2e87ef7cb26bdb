"""boundary: hand elements to another thread or loop, in chunks and under credit.

Upstream is asked for `window` elements when the subscriber asks for the first, and for half a window whenever that many
were taken, so no more than `window` elements are ever between the two sides. An element that arrives while the other
side is idle wakes it at once; while it is busy, elements pile up and are taken as one chunk.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.grounds.upstream import UpstreamWindow
from penstock.engine.places.executors import Worker
from penstock.engine.words.part import Part
from penstock.engine.words.trampoline import asking, cancelling, opening
from penstock.spec.interfaces import Subscriber, Subscription


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


class Boundary(Part):
    """The subscriber in front of a boundary; what follows runs on `worker`."""

    height = 0  # signals change hands here, so the stack of calls begins anew
    __slots__ = ("_outlet", "_upstream", "on_next")

    def __init__(self, downstream: Subscriber[Any], worker: Worker, window: int) -> None:
        upstream = self._upstream = UpstreamWindow(window)
        outlet = self._outlet = Outlet(downstream, worker.submit)
        outlet.on_request = self._begin
        outlet.on_taken = upstream.credit
        outlet.on_cancel = partial(cancelling, upstream.cancel)
        outlet.on_close = worker.close
        self.on_next = _queueing(outlet)
        outlet.most_held = lambda: window
        outlet.chunk = (window + 1) // 2

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription."""
        if self._upstream.take(subscription):
            opening(self._outlet.open)

    def _begin(self, _: int) -> None:
        if not self._upstream.begun:
            asking(self._upstream.begin)

    def on_chunk(self, elements: list[Any], /) -> None:
        """Queue several elements for the other side."""
        self._outlet.queue.extend(elements)
        self._outlet.wake()

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on, after what is queued."""
        element_or_raise(error, "on_error")
        self._outlet.complete(error)

    def on_complete(self) -> None:
        """Pass the end on, after what is queued."""
        self._outlet.complete()
