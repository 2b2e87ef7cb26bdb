"""parallel: let several workers run the same steps on different elements.

Group: change where it runs
Marble: a.parallel(2, lambda rail: rail.map(lambda n: n * 10), executor=inline()) over -1-2-3-4-|
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.cold_paths import interruption, too_late
from penstock.engine.grounds.outlet import Outlet, accepts, element_or_raise
from penstock.engine.places.context import worker_of
from penstock.engine.places.errand import place_ended, send
from penstock.engine.places.executors import Executor, Worker, pool
from penstock.engine.weaving.blame import operator_name
from penstock.engine.weaving.segment import Segment, close_quietly
from penstock.engine.words.arguments import count_given
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Joint, LeftLoop, LoopGate, Sight, Stage, Step

A = TypeVar("A")
B = TypeVar("B")

MOST_RESULTS = 256
"""How many results of one share of the elements may wait before its worker turns to another."""


@dataclass(frozen=True, slots=True)
class Parallel(Joint[A, B]):
    """Run the steps on `rails` workers of the executor, each on a share of the elements.

    Emits when a result is there: in the order of the elements if `ordered`, else as they come. Backpressures when
    downstream does: at most `prefetch` elements are under way, from being asked for to their last result being
    delivered. Completes when upstream has completed and all work is done; fails with the first failure, after the
    results before it if `ordered`. Cancels all work after the element that each worker is at, and lets the workers go.
    """

    rails: int
    steps: tuple[Step, ...]
    executor: Executor | None = None
    ordered: bool = True
    prefetch: int = 256
    sight: ClassVar[Sight] = Sight.ITEM

    @property
    def steady(self) -> bool:
        """Tell whether results come in the order of the elements."""
        return self.ordered

    def __post_init__(self) -> None:
        count_given("parallel", "rails", self.rails, 1)
        for step in self.steps:
            if not isinstance(step, Stage) or step.sight is not Sight.ITEM:
                raise TypeError(
                    f"parallel: flow must be made of steps that treat each element alone and need no signals, got "
                    f"{operator_name(step)}; put it before or after parallel"
                )
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise TypeError(f"parallel: executor must be an Executor, got {self.executor!r}")
        count_given("parallel", "prefetch", self.prefetch, 1)

    def open(self, downstream: Subscriber[B], /) -> Subscriber[A]:
        """Put the workers in front of what follows."""
        return _ParallelRun(self, downstream)


class _Share:
    """A part of the elements on their way through the steps."""

    __slots__ = ("error", "finished", "loop", "resting", "results", "size")

    def __init__(self, loop: Iterator[Any], size: int) -> None:
        self.loop = loop
        self.size = size
        self.results: list[Any] = []
        self.resting = False
        """Whether there are more results to come when these are taken."""
        self.finished = False
        self.error: Exception | None = None


class _ParallelRun(Part):
    """A run that hands out shares of what waits to workers that are free, and delivers their results.

    What waits is divided evenly among the rails, so a lone element goes to a worker at once, and many go as few large
    shares. A worker takes up to MOST_RESULTS results of a share; if there are more, the share rests until those were
    taken downstream. `_line` holds the shares in the order of their elements, `_ledger` what is delivered and not yet
    taken: how many results, and how many elements may be asked for when they are. The lock guards all of it, and is
    held neither while the steps run nor while results are delivered.
    """

    def __init__(self, step: Parallel[Any, Any], downstream: Subscriber[Any]) -> None:
        self.height = height_of(downstream) + 1
        self._step = step
        self._segment = Segment([each for each in step.steps if isinstance(each, Stage)])
        self._gate = LoopGate()
        self._lock = Lock()
        self._pile: deque[Any] = deque()
        self._line: list[_Share] = []
        self._again: deque[_Share] = deque()
        self._ledger: deque[list[int]] = deque()
        self._owed = step.prefetch
        self._half = (step.prefetch + 1) // 2
        rails = min(step.rails, step.prefetch)  # no more elements are under way than that
        executor = pool(rails) if step.executor is None else step.executor
        self._workers: list[Worker] = []
        try:
            for _ in range(rails):
                self._workers.append(worker_of(executor))
        except Exception:
            self._close()
            raise
        self._free = list(self._workers)
        self._upstream: Subscription | None = None
        self._done = False
        self._ended = False
        self._failure: Exception | None = None
        self._outlet: Outlet[Any] = Outlet(downstream)
        self._outlet.on_request = self._ask
        self._outlet.on_taken = self._taken
        self._outlet.on_cancel = self._stop
        self._outlet.on_close = self._close
        self._outlet.also_held = lambda: len(self._pile)
        self._outlet.most_held = lambda: step.prefetch

    # Signals from upstream.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        self._outlet.open()
        self._ask(0)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        self._pile.append(element)
        if self._free:
            self._hand_out()

    def on_chunk(self, elements: list[Any], /) -> None:
        self._pile.extend(elements)
        if self._free:
            self._hand_out()

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        if self._gate.over:
            too_late(error)
            return
        self._failure = error
        self.on_complete()

    def on_complete(self) -> None:
        self._done = True
        self._deliver()

    # Work.

    def _hand_out(self) -> None:
        """Give shares of what waits to the workers that are free."""
        while True:
            with self._lock:
                share = self._next_share() if self._free else None
                if share is None:
                    return
                worker = self._free.pop()
            try:
                send(worker.submit, partial(self._work, worker, share), partial(self._lost, share))
            except Exception as error:  # noqa: BLE001  an executor of the user's, or one without a thread
                self._undone(share, error)

    def _lost(self, share: _Share) -> None:
        if not self._gate.over:  # else it came behind a closed worker
            self._undone(share, place_ended())

    def _undone(self, share: _Share, error: Exception) -> None:
        close_quietly(share.loop)
        self._outlet.complete(error)
        self._stop()

    def _next_share(self) -> _Share | None:
        """Take a share that goes on, or make one of what waits."""
        if self._gate.over:
            self._pile.clear()
            return None
        if self._again:
            return self._again.popleft()
        count = -(-len(self._pile) // len(self._workers))
        if not count:
            return None
        take = self._pile.popleft
        elements = [take() for _ in range(count)]
        share = _Share(self._segment.open(lambda _: iter(elements), self._gate), count)
        self._line.append(share)
        return share

    def _work(self, worker: Worker, share: _Share | None) -> None:
        """Work on a share, then on the next, until there is none."""
        while share is not None and not self._gate.over:
            self._work_on(share)
            self._deliver()
            with self._lock:
                share = self._next_share()
                if share is None:
                    self._free.append(worker)
        if self._pile or self._again:
            self._hand_out()  # it came while this worker was leaving

    def _work_on(self, share: _Share) -> None:
        gate, results = self._gate, share.results
        error: Exception | None = None
        returned = False
        try:
            for result in islice(share.loop, MOST_RESULTS):
                results.append(result)
                if gate.over:
                    close_quietly(share.loop)
                    break
            returned = True
        except LeftLoop:
            returned = True
        except Exception as failure:  # noqa: BLE001  rule 1.4: the loop has said already who raised
            error = failure
            returned = True
        finally:
            if not returned:  # it passes, and ends this thread
                error = interruption()
            with self._lock:
                share.error = error
                share.resting = error is None and len(results) == MOST_RESULTS
                share.finished = not share.resting
                late = gate.over
            if late:
                too_late(error)
            if not returned:
                self._deliver()

    # Results.

    def _deliver(self) -> None:
        """Pass results on: from the head of the line, or from all of it where the order does not matter."""
        with self._lock:
            if self._gate.over or self._ended:
                return
            failure = self._collect()
            self._ended = over = failure is not None or (self._done and not self._line and not self._pile)
            if over and failure is None:
                failure, self._failure = self._failure, None  # rule 3.13: its frames know the subscriber
        if over:
            self._outlet.complete(failure)
            self._stop()
        else:
            self._outlet.wake()
            self._ask(0)

    def _collect(self) -> Exception | None:
        """Move what is there into the outlet's queue; return a failure that is reached."""
        line, queue = self._line, self._outlet.queue
        place = 0
        while place < len(line):
            share = line[place]
            if share.finished or share.resting:
                results, share.results = share.results, []
                queue.extend(results)
                if results or share.finished:
                    self._ledger.append([len(results), share.size if share.finished else 0])
                if share.error is not None:
                    failure, share.error = share.error, None
                    return failure
            if share.finished:
                del line[place]
            elif self._step.ordered:
                break
            else:
                place += 1
        self._settle(0)
        return None

    def _settle(self, count: int) -> None:
        """Strike what was taken off the ledger; the elements it stood for may be asked for."""
        ledger = self._ledger
        while ledger and ledger[0][0] <= count:
            taken, elements = ledger.popleft()
            count -= taken
            self._owed += elements
        if ledger:
            ledger[0][0] -= count

    def _taken(self, count: int) -> None:
        with self._lock:
            self._settle(count)
            if not self._ledger:
                for share in self._line:
                    if share.resting and not share.results:
                        share.resting = False
                        self._again.append(share)
            goes_on = bool(self._again)
        if goes_on:
            self._hand_out()
        self._ask(0)

    def _ask(self, _: int) -> None:
        """Ask for more once half of what may be under way is done with, and downstream asks."""
        with self._lock:
            upstream = self._upstream
            if upstream is None or self._done or self._gate.over:
                return
            if self._owed < self._half or not (self._outlet.demand or self._outlet.queue):
                return
            owed, self._owed = self._owed, 0
        upstream.request(owed)

    # The end.

    def _stop(self) -> None:
        """Start nothing more and end what is under way."""
        with self._lock:
            if self._gate.over:
                return
            self._gate.over = True
            resting = [share.loop for share in self._line if share.resting or share in self._again]
            untold = [share.error for share in self._line]
            for kept in (self._pile, self._line, self._again, self._ledger):
                kept.clear()
            failure, self._failure = self._failure, None
        for error in (*untold, failure):
            too_late(error)
        for loop in resting:
            close_quietly(loop)
        if self._upstream is not None and not self._done:
            self._upstream.cancel()
        self._close()

    def _close(self) -> None:
        for worker in self._workers:
            worker.close()
