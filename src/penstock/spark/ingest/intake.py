"""intake: the subscriber that holds a publisher's rows until Spark has committed them.

Rows are numbered as they come. Elements that have arrived but are not yet in a record batch are `pending`; sealing
makes a batch of them, writes it to the spool if there is one, and only then are they `produced`, which is what Spark
may read. The publisher is asked for `capacity` less what has arrived after the last commit and what it was asked for
already, so never more than `capacity` rows are ahead of Spark. It is asked on a separate thread, since a publisher
may do all its work inside `request`.

An element is put into `pending` without the lock, which would cost more than all the rest: a deque takes it whole, and
the publisher calls one signal at a time. A thread that waits sets `hungry` before it looks at `pending` once more, and
the element is there before `hungry` is read; `full` says at which length there is something to do besides.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.engine.grounds.foreign import cancel
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.words.part import Part
from penstock.spark.ingest.batching import Batching, Reject
from penstock.spark.ingest.lingering import linger
from penstock.spark.ingest.pace import Pace
from penstock.spark.ingest.shelf import Shelf
from penstock.spark.ingest.spool import Spool
from penstock.spark.ingest.supply import IngestError, Place, Places, Track
from penstock.spark.versions.callbacks import answered
from penstock.spark.wire.failure import StoppedShortError
from penstock.spark.wire.schema import Schema
from penstock.spec.interfaces import Publisher, Subscription

SEAL = 10_000
"""Elements that are made into a record batch without waiting for Spark to ask."""


class Intake(Part):
    """A publisher's subscriber that holds its rows and answers what Spark's processes ask."""

    def __init__(
        self,
        schema: Schema,
        capacity: int,
        first: int,
        pace: Pace,
        spool: Spool | None,
        reject: Reject | None,
        track: Track | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._capacity = capacity
        self._pace = pace
        self._spool = spool
        self._track = Track() if track is None else track
        self._stopped = stopped
        self._batching = Batching(schema, self._track, reject, spool is not None, self._uncount)
        self._changed = threading.Condition()
        self._sealing = threading.Lock()
        self._pending: deque[Any] = deque()
        self._full = 0
        """How many pending elements need more done than to keep them: they fill a batch, or are all that was asked."""
        self._sealed = first
        """The number of the first pending row."""
        self.shelf = Shelf()
        self._committed = self._produced = first
        self._needed = first
        """A row that must be produced even beyond capacity: a restarted query repeats the batch that it had planned."""
        self._polls, self._offered = 0, first
        """How often Spark has asked, and up to which row it was offered what is here."""
        self._asked = self._came = 0
        """Elements that were asked for, and those of them that are pending no longer."""
        self._ask = 0
        self._arrow: bool | None = None
        """Whether elements are record batches; unknown before the first."""
        self._hungry = self._over = self._done = self._closed = self._let_go = False
        self._asking = False  # the publisher is being asked, and may do all its work inside of that call
        self.left = False
        """Whether it was let go of with its query; that is no end of the stream, at which anything would be final."""
        self.error: Exception | None = None
        self._subscription: Subscription | None = None
        self.most_ahead = self.rejected = 0
        """The most rows that were ever asked for or held beyond the last commit; how many did not fit."""
        if spool is not None:
            for start, batch in spool.batches():
                self.shelf.add(start, batch)
            self._produced = self._sealed = spool.end
        self.begun = self._sealed
        """The number of the first row that the publisher is asked for."""

    # Starting and asking.

    def start(self, publisher: Publisher[Any], context: Context | None = None) -> None:
        """Subscribe, on a thread that also makes all requests; the context is used nowhere else, or a new one."""
        begin = (copy_context() if context is None else context).run
        threading.Thread(target=begin, args=(self._work, publisher), name="penstock-ingest", daemon=True).start()

    def _work(self, publisher: Publisher[Any]) -> None:
        try:
            publisher.subscribe(self)
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._ask or self._over or self._closed)
                    if self._over or self._closed:
                        break
                    asked, self._ask = self._ask, 0
                    subscription = self._subscription
                    self._asking = True
                assert subscription is not None
                subscription.request(asked)
                self._asking = False
        except Exception as error:  # noqa: BLE001  rule 3.16: a publisher that raises has failed
            self._end(error)
        finally:
            with self._changed:
                cancelled = self._closed and not self._over
                subscription, self._subscription = self._subscription, None
            if cancelled and subscription is not None:
                cancel(subscription)

    def _outstanding(self) -> int:
        """Return how many elements were asked for and have not come; hold the lock."""
        return self._asked - self._came - len(self._pending)

    def _want(self) -> None:
        """Ask for what there is room for; hold the lock."""
        outstanding = self._outstanding()
        arrived = self._here()
        room = max(self._committed + self._capacity, self._needed) - arrived
        if self._arrow is None:
            room = min(room, 1)  # the first element tells whether elements are rows or batches of them
        elif self._arrow:
            room = 1 if room > 0 and not self._pending else 0  # what is pending has rows that are not yet counted
        more = room - outstanding
        if more > 0 and self._subscription is not None and not self._over:
            self._asked += more
            self._ask += more
            self.most_ahead = max(self.most_ahead, arrived - self._committed + outstanding + more)
            self._changed.notify_all()
        self._full = 0 if self._over or self._closed else min(SEAL, self._asked - self._came)

    # What the publisher calls.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription and begin to ask."""
        element_or_raise(subscription, "on_subscribe")
        with self._changed:
            second = self._subscription is not None or self._over
            if not second:
                self._subscription = subscription
                self._want()
        if second:
            subscription.cancel()  # rule 2.5

    def on_next(self, element: Any, /) -> None:
        """Take one row, or one batch of rows."""
        if element is None:
            element_or_raise(element, "on_next")
        pending = self._pending
        pending.append(element)
        if len(pending) >= self._full or self._hungry:
            self._arrived()

    def on_chunk(self, elements: list[Any], /) -> None:
        """Take several elements."""
        self._pending.extend(elements)
        if len(self._pending) >= self._full or self._hungry:
            self._arrived()

    def _arrived(self) -> None:
        """Ask for more, tell who waits, or make a batch."""
        with self._changed:
            if self._over or self._closed:
                self._pending.clear()
                return
            if self._arrow is None and self._pending:
                self._arrow = isinstance(self._track.element(self._pending[0]), pa.RecordBatch)
            full = self._arrow or len(self._pending) >= SEAL
            if not full and self._outstanding() <= 0:
                self._want()
            if not full:
                self._hungry = False  # a thread that still waits after its next look sets it again
                self._changed.notify_all()
        if full:
            self._seal()

    def on_error(self, error: Exception, /) -> None:
        """Take the failure; Spark hears of it after the rows before it."""
        element_or_raise(error, "on_error")
        self._end(error)

    def on_complete(self) -> None:
        """Take the end."""
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        with self._changed:
            if self._over:
                return
            self._over = True
            self._full = 0
        self._seal()
        with self._changed:
            self.error = self.error or error  # first: who sees that it is done without the lock sees this, too
            self._done = not self.left or self.error is not None  # rows that came last may not have been kept
            self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        """End with an error of the intake itself: nothing more is taken from the publisher."""
        with self._changed:
            self.error = self.error or error
            self._done = self._closed = True
            self._full = 0
            self._changed.notify_all()

    # Making batches.

    def _seal(self) -> None:
        """Make what is pending readable."""
        with self._sealing:
            with self._changed:
                elements, first = self._taken(), self._produced
            if not elements or self._let_go:
                return
            try:
                with answered():
                    for batch, places in self._batching.made(elements, first, arrow=bool(self._arrow)):
                        self._add(batch, places)
            except Exception as error:  # noqa: BLE001  a row that does not fit, a disk that is full
                self._fail(error)

    def _taken(self) -> list[Any]:
        """Take all pending elements, counting their rows; hold the lock."""
        take = self._pending.popleft
        elements = [take() for _ in range(len(self._pending))]
        if self._closed:
            return []  # the publisher had not yet heard of the end
        self._came += len(elements)
        if self._arrow:
            found = map(self._track.element, elements)
            self._sealed += sum(one.num_rows if isinstance(one, pa.RecordBatch) else 1 for one in found)
        else:
            self._sealed += len(elements)
        if self._outstanding() <= 0:
            self._want()
        self._full = min(self._full, self._asked - self._came)
        return elements

    def _add(self, batch: pa.RecordBatch, places: Places | None) -> None:
        self.shelf.check(self._produced, batch.num_rows, places)
        if self._spool is not None:
            self._spool.write(batch)
        with self._changed:
            self.shelf.add(self._produced, batch, places)
            self._produced += batch.num_rows
            self._changed.notify_all()

    def _uncount(self, rows: int) -> None:
        """Ask for as many more as do not become rows of Spark's."""
        with self._changed:
            self._sealed -= rows
            self.rejected += rows
            self._want()

    # What Spark's processes ask.

    def poll(self, start: int, most: int | None, seconds: float) -> tuple[int, bool]:
        """Commit up to `start` and wait for rows after it; return where they end and whether the stream has ended."""
        if self._produced < start <= self._needed:
            self._come_to(start)  # a micro-batch that was delivered before a restart is committed without being read
        self.commit(start)
        with self._changed:
            if not self._committed <= start <= self._produced:
                raise IngestError(
                    f"frame: the checkpoint is at row {start}, and rows {self._committed} to {self._produced} are here;"
                    " it belongs to another stream"
                )
            self._pace.ended()
            self._wait(lambda: self._pending or self._produced > start or self._done or self._closed, seconds)
            self._check_held()
            wanted = min(self._pace.limit, most or self._pace.limit)
            linger(self._changed, self._here, lambda: self._here() >= start + wanted or self._none_comes())
        if self._produced - start < wanted:
            self._seal()
        with self._changed:
            self._check_held()
            rows = min(self._produced - start, wanted)
            if rows:
                self._pace.began(rows)
            self._polls += 1
            self._offered = max(self._offered, start + rows)
            return start + rows, self._done and self._produced == start and not self._pending

    def _check_held(self) -> None:
        """Refuse who asks after the query was ended: what has come of the stream by now is not all of it."""
        if self.left:
            raise IngestError("frame: the query was ended before its stream")

    def standing(self) -> tuple[int, bool, bool]:
        """Return how often Spark has asked, whether there is more, and whether all was offered and it ended well."""
        with self._changed:
            more = self.ahead(self._offered)
            return self._polls, more, self._done and self.error is None and not more

    def place(self, row: int) -> Place | None:
        """Return where the stream stands before a row, if it has places."""
        with self._changed:
            return self.shelf.place(row)

    def _wait(self, ready: Callable[[], object], seconds: float | None = None) -> None:
        """Wait for what an element may change; hold the lock."""

        def look() -> object:
            if ready():
                return True
            self._hungry = True
            return ready()  # for what came before it was set

        self._changed.wait_for(look, seconds)

    def _here(self) -> int:
        return self._sealed + len(self._pending)

    def _none_comes(self) -> bool:
        return self._outstanding() <= 0 or self._over or self._closed

    def ahead(self, row: int) -> bool:
        """Tell whether there are rows after `row`."""
        return self._produced > row or bool(self._pending)

    def over(self, row: int) -> bool:
        """Tell whether the publisher has ended, and no rows are left after `row`."""
        return self._done and not self.ahead(row)

    def commit(self, row: int) -> None:
        """Forget the rows before `row` and ask for as many more."""
        with self._changed:
            if row <= self._committed:
                return
            self._committed = min(row, self._produced)
            self.shelf.forget(self._committed)
            self._want()
        if self._spool is not None:
            with self._sealing:
                if not self._let_go:
                    self._spool.forget(row)

    def rows(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        """Return the rows of a range, waiting for those that a restarted query knows and we do not have yet."""
        with self._changed:
            self._pace.reading()
            held = self.shelf.first
            if first < (self._committed if held is None else held):
                raise IngestError(f"frame: rows {first} to {end} are gone; they were committed")
        self.need(end)
        self._come_to(end)
        with self._changed:
            found = self.shelf.between(first, end)
        yield from found

    def need(self, end: int) -> None:
        """Know that the rows before `end` are in a micro-batch that was planned."""
        with self._changed:
            if end > self._needed:
                self._needed = end
                self._want()

    def _come_to(self, end: int) -> None:
        """Wait for the rows before `end`."""
        while True:
            with self._changed:
                self._wait(lambda: self._pending or self._produced >= end or self._done or self._closed)
                if self._produced >= end:
                    return
                if not self._pending and (self._done or self._closed):
                    if self.error is not None:
                        raise self.error
                    self._check_held()
                    here = f"the stream ended at row {self._produced}"
                    kind = StoppedShortError if self._stopped() else IngestError
                    raise kind(f"frame: {here}, and the checkpoint says that there were {end}")
            self._seal()

    def close(self) -> None:
        """Cancel the publisher, wake the threads that wait and let go of the spool."""
        with self._changed:
            self._closed = self.left = True
            self._full = 0
            subscription = self._subscription if self._asking and not self._over else None
            self._changed.notify_all()
        if subscription is not None:
            cancel(subscription)  # its thread comes to that only after all that it was asked for
        with self._sealing:
            self._let_go = True  # a spool that is closed may be another's
            if self._spool is not None:
                self._spool.close()
