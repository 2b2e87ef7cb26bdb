"""outgoing: the half of a stream that sends: a subscriber of a publisher here, under the demand of the other side.

What the other side has asked for is the demand; of that, no more than `window` elements are asked of the publisher and
not yet written. Elements are encoded where they are emitted; the I/O thread only writes bytes. The publisher is asked,
and cancelled while it rests, on the worker of its run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any

from penstock.bridges.rsocket.settings import Settings
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.places.executors import Task, Worker
from penstock.engine.words.credit import Credit
from penstock.engine.words.demand import add
from penstock.engine.words.dropped import drop
from penstock.spec.interfaces import Subscription

_GRACE = 1.0
"""Seconds that a publisher in the middle of a request has before a cancel that should come behind it does not wait."""


class Outgoing:
    """A subscriber that takes elements under demand, encodes them, and hands them to `send` on the I/O thread."""

    def __init__(
        self,
        settings: Settings,
        worker: Worker,
        call: Callable[[Callable[[], object]], None],
        send: Callable[[bytes], None],
        end: Callable[[Exception | None], None],
    ) -> None:
        self._codec = settings.codec
        self._largest = settings.largest
        self._credit = Credit(settings.window)
        self._worker = worker
        self._call = call
        self._send = send
        self._end = end
        self._lock = Lock()
        self._demand = 0
        """What the other side has asked for and was not yet written to it."""
        self._encoded: deque[bytes] = deque()
        self._subscription: Subscription | None = None
        self._over = False
        self._ended = False
        self._error: Exception | None = None
        self._flushing = False
        self._asking = False
        self.came_late = False
        """Whether the subscription came when nothing was to be sent any more."""

    # What the publisher says, on any thread.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription and ask for what was asked for here."""
        element_or_raise(subscription, "on_subscribe")
        with self._lock:
            refused = self._subscription is not None or self._over
            if not refused:
                self._subscription = subscription
        if refused:
            self.came_late = self._subscription is None
            subscription.cancel()  # rule 2.5
        else:
            self._worker.submit(self._ask)

    def on_next(self, element: Any, /) -> None:
        """Encode an element and have it sent."""
        element_or_raise(element, "on_next")
        try:
            data = self._codec.encode(element)
            if not isinstance(data, bytes):
                raise TypeError(f"rsocket: the codec must encode to bytes, got {data!r}")
            if len(data) > self._largest:
                cure = "raise `largest` on both sides"
                raise ValueError(f"rsocket: an element must have <= {self._largest} bytes, got {len(data)}; {cure}")
        except Exception as error:  # noqa: BLE001  the codec is the user's
            self._cancel()
            self.on_error(error)
            return
        with self._lock:
            if self._over or self._ended:
                return
            self._credit.arrived()
            self._encoded.append(data)
        self._schedule()

    def on_error(self, error: Exception, /) -> None:
        """Fail after what waits."""
        element_or_raise(error, "on_error")
        self._finish(error)

    def on_complete(self) -> None:
        """End after what waits."""
        self._finish(None)

    def _finish(self, error: Exception | None) -> None:
        with self._lock:
            late = self._over or self._ended
            self._ended = True
            if not late:
                self._error = error
        if not late:
            self._schedule()
        elif error is not None and not self._over:
            drop("an error came after the end or the cancel", error)

    def _schedule(self) -> None:
        with self._lock:
            if self._flushing:
                return
            self._flushing = True
        self._call(self.flush)

    # On the worker.

    def _ask(self) -> None:
        while True:
            with self._lock:
                subscription = self._subscription
                if subscription is None or self._over or self._ended:
                    return
                wanted = self._credit.ask(self._demand)
                if not wanted:
                    return
                self._asking = True
            try:
                subscription.request(wanted)
            except Exception as error:  # noqa: BLE001  rule 3.16
                self._finish(error)
            finally:
                self._asking = False

    def _cancel(self) -> None:
        with self._lock:
            subscription, self._subscription = self._subscription, None
        if subscription is not None:
            try:
                subscription.cancel()
            except Exception as error:  # noqa: BLE001  rule 3.15
                drop("rule 3.15: cancel raised", error)

    # On the I/O thread.

    def grant(self, n: int) -> None:
        """Add to the demand."""
        with self._lock:
            self._demand = add(self._demand, n)
        self._worker.submit(self._ask)

    def written(self, count: int, /) -> None:
        """Count elements as gone, and have more asked for."""
        with self._lock:
            self._credit.held -= count
            self._demand -= count
            more = self._demand and not self._over and not self._ended
        if more:
            self._worker.submit(self._ask)

    def stop(self, *, at_once: bool = False, behind: Callable[[Task], None] | None = None) -> None:
        """Send nothing more and cancel the publisher, on the worker or a new thread unless `at_once` is said.

        With `behind`, which submits to the worker, the cancel comes behind something else, unless the worker is stuck.
        """
        with self._lock:
            if self._over:
                return
            self._over = True
            self._encoded.clear()
            asking = self._asking
        passed = Event()
        if at_once:
            self._cancel()
        elif behind is not None:
            self._worker.submit(passed.set)
            behind(self._cancel)
        elif not asking:
            self._worker.submit(self._cancel)
        if asking and not at_once:
            # The worker is inside the publisher: a cancel must not wait for its return. Nor must it be made here, since
            # it may call functions of the user's.
            grace = 0.0 if behind is None else _GRACE
            Thread(
                target=self._cancel_unless, args=(passed, grace), name="penstock-rsocket-cancel", daemon=True
            ).start()

    def _cancel_unless(self, passed: Event, grace: float) -> None:
        if not passed.wait(grace):
            self._cancel()

    def flush(self) -> None:
        """Send what waits, and the end behind it."""
        with self._lock:
            self._flushing = False
            encoded = [] if self._over else list(self._encoded)
            self._encoded.clear()
            ended = self._ended and not self._over
            if ended:
                self._over = True
                self._subscription = None
        for data in encoded:
            self._send(data)
        if ended:
            error, self._error = self._error, None
            self._end(error)
