"""signal_meter: see the signals between two steps of a run that a listener watches.

A gauge stands behind a step, or behind a woven loop, in front of what follows. It counts what is asked for and what
comes. Now and then it takes the time of two elements in a row, or of two chunks: how long what follows has the first
one (`inside`), and how long it takes from then, or from the next request, until the second one comes (`waited`).

What runs for every element are closures: to count in a variable of theirs takes less than in an attribute. They are not
guarded, since signals are serial (rule 1.3) and so are requests (rule 2.7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.grounds.bystander import Bystander
from penstock.engine.grounds.cold_paths import nobody
from penstock.engine.watching.chain_meter import Counts, Meter, pace_after
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.engine.words.part import Part
from penstock.spec.interfaces import Subscriber
from penstock.stage import Stage


class Gauge(Bystander):
    """The subscriber behind steps[start:stop] of a chain, and the subscription of `downstream`.

    For a source that signals both are 0; for one that is iterated together with stages behind it, `start` is -1. It
    looks at what it `passes` on, elements or `chunks` of them. A function that elements are pushed through counts them
    anyway, so it can look in the gauge's place (`counted`): then nothing stands in between.
    """

    __slots__ = (
        "_counts", "_forget", "_last", "_meter", "_seen", "_start", "_stop",
        "arrives", "chunking", "counted", "delegates", "in_chunks", "on_end", "request", "went",
    )  # fmt: skip

    def __init__(
        self,
        meter: Meter,
        start: int,
        stop: int,
        downstream: Subscriber[Any],
        *,
        counts: bool,
        passes: bool,
        chunks: bool,
        last: bool,
    ) -> None:
        super().__init__(downstream, int(last))  # a stream may be watched many times over
        self._meter = meter
        self._start = max(start, -1)
        self._stop = stop
        self._last = last
        self._counts = counts
        self.on_end: Callable[[], object] = bool
        """What to call when it is over."""
        self.delegates = False
        """Whether what follows looks in its place."""
        self.counted: Callable[[], int] | None = None
        """What tells how many elements came, where what follows counts them."""
        self.chunking = False
        """Whether the element that is being passed on is one of several, whose time is taken here."""
        self._see(passes=passes, chunks=chunks)
        if last:
            meter.run.begin()
        meter.opened(self.read)

    def _see(self, *, passes: bool, chunks: bool) -> None:
        """Put closures in the place of what is called for every element and every request."""
        clock, tick = self._meter.run.clock, self._meter.run.tick
        pass_on, pass_chunk, pass_request, gone = self.on_next, self.on_chunk, super().request, self.gone
        asked = at = alone = passed = waits = 0
        inside = waited = 0.0
        base = left = 1  # elements until the next whose time is taken, and what `left` was when it was set
        turned = clock()
        waiting = passes or chunks  # the first element is waited for as well
        since: float | None = None

        def request(n: int, /) -> None:
            nonlocal asked, since
            if type(n) is int and n > 0:
                asked += n
            if waiting and since is None:
                since = clock()
            pass_request(n)

        def on_next(element: Any, /) -> None:
            nonlocal left
            left -= 1
            try:
                if left > 0:
                    pass_on(element)
                else:
                    timed(pass_on, element, 1)
            except Exception:
                gone()  # rule 2.13: it has cancelled by this
                raise

        def on_chunk(elements: list[Any], /) -> None:
            nonlocal left
            left -= len(elements)
            try:
                if left > 0:
                    pass_chunk(elements)
                else:
                    timed(pass_first if self.delegates else pass_chunk, elements, len(elements))
            except Exception:
                gone()
                raise

        def pass_first(elements: list[Any]) -> None:
            nonlocal alone
            alone += 1
            self.chunking = True
            try:
                pass_on(elements[0])  # alone, so that its time is taken
            finally:
                self.chunking = False
            pass_chunk(elements[1:])

        def timed(deliver: Callable[[Any], None], what: Any, count: int) -> None:
            nonlocal at, base, left, turned
            began, second = clock(), waiting
            arrives(began, second, not second, count)
            base, left = base - left + 1, 1
            deliver(what)
            now = clock()
            went(began, now, not second, count)
            if second:
                so_far = base - left
                pace = pace_after(now - turned, so_far - at)
                base, left = base + pace, left + pace
                at, turned = so_far, now
            tick(now)

        def arrives(now: float, after_another: bool, another_follows: bool = False, count: int = 1) -> None:
            nonlocal since, waiting, waited, waits
            if after_another and since is not None:
                waited += now - since
                waits += count
            waiting, since = another_follows, None

        def went(began: float, now: float, another_follows: bool, count: int = 1) -> None:
            nonlocal since, waiting, inside, passed
            inside += now - began
            passed += count
            waiting = another_follows
            if waiting and since is None and came() < asked:
                since = now

        def came() -> int:
            return base - left if self.counted is None else self.counted()

        def in_chunks() -> int:
            return base - left - alone

        def forget() -> None:
            nonlocal pass_on, pass_chunk
            pass_on = pass_chunk = nobody

        self.request = request  # type: ignore[method-assign]
        self.arrives, self.went, self.in_chunks = arrives, went, in_chunks
        self._forget = forget
        self._seen: Callable[[], tuple[int, int, float, int, float, int]] = lambda: (
            asked, came(), inside, passed, waited, waits,
        )  # fmt: skip
        if passes:
            self.on_next = on_next
        if chunks:
            self.on_chunk = None if pass_chunk is None else on_chunk

    def on_error(self, error: Exception, /) -> None:
        """Count a failure that began here."""
        if isinstance(error, BaseException) and self._meter.run.begins(error):
            self._meter.failed(self._stop)
        super().on_error(error)

    def _over(self, error: BaseException | None, *, whole: bool) -> Subscriber[Any] | None:
        """Keep the numbers and let go of the subscriber."""
        on_end, self.on_end = self.on_end, bool
        on_end()
        self._meter.closed(self.read)
        if self._last:
            self._meter.run.end(error, whole=whole)
        self._forget()
        return super()._over(error, whole=whole)

    def read(self, counts: list[Counts], /) -> None:
        """Add what was counted."""
        step, subscription = counts[self._stop], self._subscription
        asked, came, inside, passed, waited, waits = self._seen()
        if self._counts:  # a loop counts what it passes on
            step.delivered += came
        if passed:
            step.inside += max(0.0, inside / passed - self._meter.run.cost) * came
        if waits:
            step.waited += waited / waits * came
        if isinstance(subscription, Part):
            before = counts[min(self._start + 1, self._stop)]
            before.buffered += subscription.pending()
            most = subscription.most_pending()
            if most is not None:
                before.bound = most + (before.bound or 0)
        self._add_asked(min(asked, UNBOUNDED), counts)

    def _add_asked(self, n: int, counts: list[Counts]) -> None:
        """Add the demand to the last step, and to those before it in the same loop what it makes of that."""
        index = self._stop
        counts[index].requested = add(counts[index].requested, n)
        while index - 1 > self._start:
            step = self._meter.chain.steps[index - 1]
            n = min(step.demand(n), UNBOUNDED) if isinstance(step, Stage) else n
            index -= 1
            counts[index].requested = add(counts[index].requested, n)
