"""incoming: the half of a stream that receives: a queue before a subscriber here, filled under its demand.

What the subscriber has asked for is asked of the other side, no more than `window` elements at a time: those that are
on their way and those that wait here are together never more. Elements are decoded where they are delivered, on the
worker of the run; the I/O thread only queues bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Any

from penstock.bridges.rsocket.codecs import Codec
from penstock.bridges.rsocket.errors import FrameError
from penstock.bridges.rsocket.settings import Settings
from penstock.engine.grounds.outlet import Outlet, Submit
from penstock.engine.weaving.blame import text_of
from penstock.engine.words.credit import Credit
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.engine.words.dropped import drop
from penstock.errors import ProtocolError
from penstock.spec.interfaces import Subscriber, Subscription

Call = Callable[[Callable[[], object]], None]


class _Decoding:
    """A subscriber that decodes elements on their way to another one."""

    def __init__(self, downstream: Subscriber[Any], codec: Codec) -> None:
        self._downstream = downstream
        self._codec = codec
        self.refuse: Callable[[Exception], None] = lambda _: None
        self.hears: Callable[[], bool] = lambda: True

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._downstream.on_subscribe(subscription)

    def on_next(self, data: bytes, /) -> None:
        try:
            element = self._codec.decode(data)
            if element is None:
                raise TypeError("None is not an element (rule 2.13)")
        except Exception as error:  # noqa: BLE001  the codec is the user's, and the bytes are a stranger's
            said = text_of(error)
            failure = FrameError(f"rsocket: the other side sent an element that is not {self._codec.mime}: {said}")
            failure.__cause__ = error
            self.refuse(failure)
            return
        self._downstream.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        if self.hears():
            self._downstream.on_error(error)

    def on_complete(self) -> None:
        self._downstream.on_complete()


class Incoming:
    """The queue of what arrives; it asks for more, and says when the subscriber has had enough."""

    def __init__(self, downstream: Subscriber[Any], settings: Settings, submit: Submit, call: Call) -> None:
        decoding = _Decoding(downstream, settings.codec)
        self.outlet: Outlet[Any] = Outlet(decoding, submit)
        decoding.refuse = self.outlet.fail_now
        self.hears = True
        """Whether its subscriber is told of a failure; not one that was cancelled before it could hear of it."""
        decoding.hears = lambda: self.hears
        self.request: Callable[[int], None] | None = None
        """Asks the other side, as soon as there is one; called on the I/O thread."""
        self._call = call
        self._lock = Lock()
        self._credit = Credit(settings.window)
        self._open = 0
        """What the subscriber has asked for and not yet taken."""
        self._ended = False
        self._reported = False
        self._waking = False
        self.outlet.chunk = (settings.window + 1) // 2
        self.outlet.on_request = self._requested
        self.outlet.on_taken = self._taken

    @property
    def ended(self) -> bool:
        """Tell whether the other side has ended it."""
        return self._ended

    # On any thread.

    def _requested(self, n: int) -> None:
        with self._lock:
            self._open = add(self._open, n)
        self._call(self.ask)

    def _taken(self, count: int) -> None:
        with self._lock:
            self._credit.held -= count
            if self._open < UNBOUNDED:
                self._open -= count
        self._call(self.ask)

    # On the I/O thread.

    def ask(self) -> None:
        """Ask the other side for what is asked for here and has room."""
        if self._ended or self.outlet.closed or self.request is None:
            return
        with self._lock:
            wanted = self._credit.ask(self._open)
        if wanted:
            self.request(wanted)

    def first(self, data: bytes) -> None:
        """Queue the element that opens a channel, which was not asked for."""
        with self._lock:
            self._credit.held += 1
        self.outlet.queue.append(data)
        self.outlet.wake()

    def element(self, data: bytes) -> Exception | None:
        """Queue an element; return the breach if it was not asked for."""
        outlet = self.outlet
        if self._ended:
            if not self._reported:  # once, so that the other side cannot fill a log
                self._reported = True
                drop("rule 1.7: the other side sent an element after the end", None, data)
            return None
        if outlet.closed:
            return None  # it was on its way when the subscriber cancelled
        with self._lock:
            excess = not self._credit.owed
            if not excess:
                self._credit.arrived()
        if excess:
            return ProtocolError("1.1", "the other side sent an element that was not requested")
        outlet.queue.append(data)
        if not self._waking:  # once for all frames that have come together: each waking is a switch of threads
            self._waking = True
            asyncio.get_running_loop().call_soon(self._wake)
        return None

    def _wake(self) -> None:
        self._waking = False
        self.outlet.wake()

    def end(self, error: Exception | None = None) -> None:
        """End after what is queued."""
        if self._ended:
            return
        self._ended = True
        if not self.outlet.closed:
            self.outlet.complete(error)
