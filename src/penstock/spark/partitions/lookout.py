"""lookout: an open part that finds out how far it can be read.

It is subscribed on a separate thread, asks for as many rows as it may hold, and tells how far it has come, also while
no task has it. Elements are put among those that wait without the lock, which would cost more than all the rest: a
deque takes one whole, and the publisher calls one signal at a time. A task sets how many it expects before it looks
once more, and the element is there before that number is read.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part
from penstock.spark.partitions.positions import PartName
from penstock.spark.partitions.readers import CHUNK, Open, PartSight, early_end, is_batch, opened
from penstock.spark.versions.callbacks import answered
from penstock.spec.interfaces import Subscription

LINGER = 0.03
"""Seconds without another row after which a task that looks ahead has seen enough."""
Tell = Callable[[PartSight], bool]
"""Tell the driver how far a part is; returns whether the query still runs."""


class Lookout(Part):
    """A part that is subscribed to, for as many rows as it may hold, and that tells how far it has come."""

    def __init__(self, open: Open, part: PartName, row: int, tell: Tell) -> None:  # noqa: A002
        self._open, self._part, self._tell = open, part, tell
        self._changed = threading.Condition()
        self._waiting: deque[Any] = deque()
        self._alert = 1
        """How many waiting elements are worth more than to keep them; elements are put there without the lock."""
        self._goal = 1
        """How many the task waits for that has it."""
        self._parked = False
        self._upto = self._asked = row
        self._outstanding = False
        """Whether a record batch was asked for and has not come."""
        self._over = self._closed = False
        self._error: Exception | None = None
        self._subscription: Subscription | None = None
        self.row = row
        self.arrow: bool | None = None
        self.most_held = 0
        """The most rows that were ever asked for or held beyond what was taken."""
        threading.Thread(target=self._work, name="penstock-part", daemon=True).start()

    # Asking.

    def _work(self) -> None:
        """Subscribe and make all requests: a publisher may do all its work inside `request`."""
        try:
            with answered():
                opened(self._open, self._part, self.row).subscribe(self)
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._want() or self._over or self._closed)
                    if self._over or self._closed:
                        break
                    count = self._want()
                    self._asked += count
                    self._outstanding = True
                    self.most_held = max(self.most_held, self._asked - self.row)
                    subscription = self._subscription
                assert subscription is not None
                subscription.request(count)
        except Exception as error:  # noqa: BLE001  rule 3.16: a publisher that raises has failed
            self._end(error)

    def _want(self) -> int:
        """Return how many elements to ask for; hold the lock."""
        if self._subscription is None:
            return 0
        if self.arrow is None:
            return 0 if self._outstanding else min(1, self._upto - self._asked)
        if self.arrow:
            return 0 if self._outstanding or self.came >= self._upto else 1
        return max(0, self._upto - self._asked)

    @property
    def came(self) -> int:
        """Return the number of the row after the last that is here."""
        if self.arrow:
            return self.row + sum(int(batch.num_rows) for batch in tuple(self._waiting))
        return self.row + len(self._waiting)

    # What the publisher calls.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription."""
        element_or_raise(subscription, "on_subscribe")
        with self._changed:
            refused = self._subscription is not None or self._over or self._closed
            if not refused:
                self._subscription = subscription
                self._changed.notify_all()
        if refused:
            subscription.cancel()  # rule 2.5

    def on_next(self, element: Any, /) -> None:
        """Take a row, or a batch of rows."""
        if element is None:
            element_or_raise(element, "on_next")
        self._waiting.append(element)
        if len(self._waiting) >= self._alert:
            self._arrived()

    def on_chunk(self, elements: list[Any], /) -> None:
        """Take several elements."""
        self._waiting.extend(elements)
        if len(self._waiting) >= self._alert:
            self._arrived()

    def _arrived(self) -> None:
        """Wake the task that waits, ask for more, and tell if no task does it."""
        with self._changed:
            if self._closed:
                self._waiting.clear()
                return
            if self.arrow is None and self._waiting:
                self.arrow = is_batch(self._waiting[0])
            self._outstanding = False
            held = len(self._waiting)
            self._alert = 1 if self.arrow else 2 * held if self._parked else self._goal  # ever fewer messages
            tells, seen = self._parked, self._seen()
            self._changed.notify_all()
        if tells:
            self._say(seen)

    def _say(self, seen: PartSight) -> None:
        """Tell how far it is; be over if none listens any more."""
        heard = False
        with suppress(Exception):  # the driver is away, and so is the query
            heard = self._tell(seen)
        if not heard:
            self.close()

    def on_error(self, error: Exception, /) -> None:
        """Take the failure; a task raises it after the rows before it."""
        element_or_raise(error, "on_error")
        self._end(error)

    def on_complete(self) -> None:
        """Take the end."""
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        with self._changed:
            if self._over:
                return
            self._over, self._error = True, error
            if self.arrow is None and self._waiting:
                self.arrow = is_batch(self._waiting[0])
            tells, seen = self._parked and not self._closed, self._seen()
            self._changed.notify_all()
        if tells:
            self._say(seen)

    # What a task calls.

    def take(self, count: int) -> Iterator[list[Any]]:
        """Return exactly so many rows, waiting for them."""
        end = self.row + count
        with self._changed:
            self._upto = max(self._upto, end)
            self._changed.notify_all()
        while self.row < end:
            with self._changed:
                self._expect(min(CHUNK, end - self.row))
                self._changed.wait_for(lambda: self._is_met() or self._over)
                if not self._waiting:
                    raise early_end(self._part, self.row, end) if self._error is None else self._error
                if self.arrow is None:
                    self.arrow = is_batch(self._waiting[0])
                found = self._taken(end)
            yield found

    def _expect(self, count: int) -> None:
        """Say how many elements a task waits for; hold the lock."""
        self._goal = count
        self._alert = 1 if self.arrow is not False else count

    def _is_met(self) -> bool:
        return len(self._waiting) >= (self._goal if self.arrow is False else 1)

    def _taken(self, end: int) -> list[Any]:
        """Take what waits, not beyond `end`; hold the lock."""
        waiting = self._waiting
        if self.arrow:
            batch = waiting.popleft()
            if batch.num_rows > end - self.row:
                waiting.appendleft(batch.slice(end - self.row))
                batch = batch.slice(0, end - self.row)
            self.row += batch.num_rows
            self._changed.notify_all()
            return [batch]
        count = min(len(waiting), end - self.row)
        rows = [waiting.popleft() for _ in range(count)]
        self.row += count
        return rows

    def look(self, ahead: int, patience: float) -> PartSight:
        """Ask for rows beyond those that were taken and wait for them; it is enough if no more follow at once."""
        until = time.monotonic() + patience
        with self._changed:
            self._upto = max(self._upto, self.row + ahead)
            self._expect(ahead)
            self._changed.notify_all()
            while not self._over and self.came < self._upto and (left := until - time.monotonic()) > 0:
                before = len(self._waiting)
                self._changed.wait(min(LINGER, left))
                if before and len(self._waiting) == before:
                    break
            return self._seen()

    def _seen(self) -> PartSight:
        failed = self._error is not None
        return PartSight(self.came, self._over and not failed, failed)

    def park(self, told: PartSight) -> None:
        """Go on without a task, and tell what comes; `told` is what `look` has returned."""
        with self._changed:
            self._parked = True
            self._alert = len(self._waiting) + 1
            seen = self._seen()
        if seen != told:
            self._say(seen)

    @property
    def error(self) -> Exception | None:
        """Return the failure behind the rows that wait, if there is one."""
        return self._error

    def unpark(self) -> None:
        """Be a task's again."""
        with self._changed:
            self._parked = False

    def close(self) -> None:
        """Cancel the subscription."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            subscription = None if self._over else self._subscription
            self._waiting.clear()
            self._changed.notify_all()
        if subscription is not None:
            try:
                subscription.cancel()
            except Exception as error:  # noqa: BLE001  rule 3.15
                drop("rule 3.15: the publisher's cancel raised", error)


__all__ = ["Lookout", "Tell"]
