"""seat: the outlet of one among several subscribers.

Its subscriber may come later than its elements (`serve`), and brings its own context: whatever is signalled to it is
signalled there, whichever thread brings it. A copy of a context costs as much as a call, two copies are never in each
other's way, and nothing is paid where the contexts are alike.

The lease. Where one giver feeds a seat (`give`; its calls are serial) and everything was asked for, it keeps the turn
between two elements, and delivers without looking at anything. Another thread that needs the turn says `_wanted` first
and then looks whether the giver is `_busy`: if not, the turn is put back; if it is, that is left to the giver. The
giver says `_busy` first and then looks whether the turn is wanted, and looks again when it is busy no more. So no two
have it at a time, and a wish is not forgotten. A lease begins and ends under the lock, and not while there is anything
to do.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from penstock.engine.grounds.cold_paths import nobody, rejected
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.places.context import alike, run_in
from penstock.spec.interfaces import Subscriber


class Seat(Outlet[Any]):
    """The outlet of a subscriber that has its own context."""

    __slots__ = ("_busy", "_context", "_leased", "_wanted", "pass_on", "taken")

    def __init__(self, downstream: Subscriber[Any] | None = None) -> None:
        super().__init__(None)
        self._context: Context | None = None
        self.taken = False
        """Whether its subscriber has come."""
        self.pass_on: Callable[[Any], None] = nobody
        """What takes an element that is handed on."""
        self._leased = False
        self._busy = False
        self._wanted = False
        if downstream is not None:
            self.serve(downstream)

    def serve(self, downstream: Subscriber[Any]) -> None:
        """Take the subscriber and its context."""
        super().serve(downstream)
        self.taken = True
        context, on_next = copy_context(), downstream.on_next
        self._context = context
        self.pass_on = lambda element: context.copy().run(on_next, element)

    def joins(self, run: Context) -> None:
        """Be told in which context elements come: if it is no other, they need not be carried."""
        if self._context is not None and self._downstream is not None and alike(run, self._context):
            self._context = None
            self.pass_on = self._downstream.on_next

    def give(self, element: Any) -> bool:
        """Deliver an element past the queue, if it was asked for and no other thread delivers; tell whether it was."""
        if not self._leased:
            given = self.hand_on(self.pass_on, element)
            if given and self._clear:
                self._lease()
            return given
        self._busy = True
        if self._wanted:
            self._busy = False
            self._give_back()
            return self.hand_on(self.pass_on, element)
        returned = False
        try:
            self.pass_on(element)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 2.13
            rejected("on_next", error)
            return True
        finally:
            if not returned:
                self._abandon()
        self._busy = False
        if self._wanted:
            self._give_back()
        return True

    def flush(self) -> None:
        """Deliver what was queued, one by one and without the lock, unless another thread does already."""
        turn, queue = self._turn, self.queue
        if not turn:  # who has the turn looks at the queue after putting it back
            return
        try:
            turn.pop()
        except IndexError:
            return
        pass_on, taken = self.pass_on, self.on_taken
        returned = False
        try:
            while queue and self.asked > self._taken and not self._cancelled:
                self._taken += 1  # before it leaves the queue: an element without demand must not take its place
                pass_on(queue.popleft())
                if taken is not None:
                    taken(1)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 2.13
            rejected("on_next", error)
            return
        finally:
            if not returned:
                self._abandon()
        turn.append(None)
        if queue or self._done or self._cancelled:
            self._look()

    def _lease(self) -> None:
        """Keep the turn from now on, if there is nothing to do with it."""
        with self.lock:
            if self._turn and not (self.queue or self._done or self.closed):
                try:
                    self._turn.pop()
                except IndexError:
                    return
                self._wanted = False
                self._leased = True

    def _give_back(self) -> None:
        with self.lock:
            if self._leased:
                self._leased = False
                self._turn.append(None)
        self._look()

    def wake(self) -> None:
        """Drain, unless another thread does already."""
        if self._leased:
            with self.lock:
                if self._leased:
                    self._wanted = True
                    if self._busy:
                        return
                    self._leased = False
                    self._turn.append(None)
        super().wake()

    def _schedule(self) -> None:
        context = self._context
        if context is None:
            self._drain()
        else:
            run_in(context, self._drain)

    def _let_go(self) -> Subscriber[Any] | None:
        self.pass_on = nobody  # rule 3.13
        return super()._let_go()
