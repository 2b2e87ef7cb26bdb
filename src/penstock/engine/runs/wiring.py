"""wiring: how a chain is put together for one run.

Wiring goes from the subscriber up to the source, in a loop and not by recursion. Adjacent stages are one segment. The
first segment is iterated where its source can be; everything after the first joint is connected by signals. In long
rows of joints, and in sources nested in sources, signals take a fresh stack now and then (`Landing`), since each of
them adds to the stack; so do the loops of a segment, of which a run has a bounded number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from penstock.engine.grounds.bystander import Bystander
from penstock.engine.grounds.cold_paths import interrupts_told, left_alone
from penstock.engine.grounds.landing import Landing
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.runs.async_run import AsyncRun
from penstock.engine.runs.chain import AWAITED, ITERATED, Chain, cuts, inner_chains
from penstock.engine.runs.counted_run import pushed
from penstock.engine.runs.drain import DrainRun
from penstock.engine.runs.fed_run import FedRun
from penstock.engine.weaving.segment import Trace
from penstock.engine.words.part import Part, height_of
from penstock.engine.words.trampoline import HIGHEST, here, run_deferred
from penstock.errors import InterruptionError
from penstock.spec.interfaces import Subscriber
from penstock.stage import AsyncOpener, Joint, LoopGate, Opener, Source, Stage

MOST_NESTED = 12


def _opener_of(source: Source[Any]) -> Opener[Any] | None:
    """Return how to iterate over a source; sources nested too deep are left to signals."""
    pulls = here.pulls
    if pulls >= MOST_NESTED:
        return None
    here.pulls = pulls + 1
    try:
        return source.opener()
    finally:
        here.pulls = pulls


def reads_nothing(chain: Chain) -> bool:
    """Tell whether a chain is known to end, or to fail, without reading anything; its steps may add elements."""
    pulls = here.pulls
    if pulls >= MOST_NESTED:
        return False
    here.pulls = pulls + 1
    try:
        source: Any = chain.source
        if source.length() == 0 or (source.passes and reads_nothing(source.stream)):
            return True
        head = chain.head
        behind = chain.steps[len(head.stages) :]
        return head.never_asks or any(isinstance(step, Stage) and step.cap == 0 for step in behind)
    finally:
        here.pulls = pulls


def is_empty(chain: Chain) -> bool:
    """Tell whether a chain is known to complete without an element."""
    if not reads_nothing(chain):
        return False
    source: Any = chain.source
    while not _adds(chain) and source.passes:
        chain, source = source.stream, source.stream.source
    # A source that holds chains may read nothing of them and emit what their steps add.
    return not _adds(chain) and not inner_chains(source) and source.opener() is not None


def _adds(chain: Chain) -> bool:
    """Tell whether a step may emit something that no element has led to."""
    return any(isinstance(step, Joint) or step.body.head or step.body.tail for step in chain.steps)


def unseen(chain: Chain) -> bool:
    """Tell whether a chain is a plain collection that was not searched for None yet."""
    return chain.source.plain and chain.source.may_hold_none and not (chain.steps or chain.places or chain.watch)


def pull(chain: Chain, *, waits: bool = False, looks: bool = False) -> Opener[Any] | None:
    """Return how to iterate over a fresh run of the whole chain, or None if it needs signals.

    A thread that `waits` for elements anyway can iterate over more sources than one that must not. Who `looks` for None
    among the elements gets a plain collection as it is.
    """
    if looks and unseen(chain):
        return chain.source.opener()
    segment = chain.head
    if len(segment.stages) < segment.total:
        return None
    opener = _opener_of(chain.source)
    if opener is None and waits:
        opener = chain.source.waiting_opener()
    clean = not chain.source.may_hold_none
    if opener is None or (not segment.total and clean and chain.watch is None):
        return opener

    def open_segment(gate: LoopGate | None) -> Iterator[Any]:
        if gate is not None and reads_nothing(chain):
            gate.finish()
        return segment.open(opener, gate, clean=clean)

    return open_segment


def pull_all(chains: tuple[Chain, ...], *, looks: bool = False) -> list[Opener[Any]] | None:
    """Return how to iterate over each of several chains, or None if any needs signals; see `pull`.

    A chain that reads nothing and yet may fail needs signals: without them the failure would wait for the first
    request.
    """
    openers: list[Opener[Any]] = []
    for chain in chains:
        opener = None if reads_nothing(chain) and not is_empty(chain) else pull(chain, looks=looks)
        if opener is None:
            return None
        openers.append(opener)
    return openers


def pull_async(chain: Chain) -> AsyncOpener[Any] | None:
    """Return how to iterate asynchronously over a fresh run of the whole chain, or None if it needs signals."""
    segment = chain.head
    if len(segment.stages) < segment.total:
        return None
    opener = chain.source.async_opener()
    if opener is None:
        return None
    return lambda gate: segment.open_async(opener, gate or LoopGate())


def connect(chain: Chain, subscriber: Subscriber[Any]) -> None:
    """Start a run of the chain that signals `subscriber`."""
    nested = here.connects
    if nested >= MOST_NESTED:
        # Who is no part of ours has no height, so it is not known how far a signal goes from there in one call.
        front = subscriber if isinstance(subscriber, Part) else Landing(subscriber)
        here.deferred.append(lambda: _connect(chain, front))
        return
    here.connects = nested + 1
    try:
        _connect(chain, subscriber)
    finally:
        try:
            if not nested and here.deferred:
                run_deferred()
        finally:
            here.connects = nested


def refuse(subscriber: Subscriber[Any], error: Exception) -> None:
    """Tell a subscriber that there is nothing to subscribe to (rule 1.9)."""
    outlet: Outlet[Any] = Outlet(subscriber)
    outlet.complete(error)
    outlet.open()


def _interrupt(front: object, error: InterruptionError) -> None:
    """Tell the first part that takes one subscription and one end, subscribed or not, of a KeyboardInterrupt.

    Those before it pass on whatever comes, also a second subscription to a subscriber of the user's.
    """
    while isinstance(front, Part):
        behind = front.stand_aside()
        if behind is front:
            refuse(front, error)  # type: ignore[arg-type]
            left_alone(front)
            return
        front = behind


def _connect(chain: Chain, subscriber: Subscriber[Any]) -> None:
    segment = chain.head
    opener = _opener_of(chain.source)
    async_opener = chain.source.async_opener() if opener is None else None
    connects = opener is None and async_opener is None
    first = 0 if connects else len(segment.stages)
    front = _wire(chain, first, subscriber)
    if front is None:
        return
    if chain.places or chain.watch is not None:
        front = _seen(chain, 0 if connects else ITERATED if async_opener is None else AWAITED, first, front)
    if connects:
        try:
            with interrupts_told(partial(_interrupt, front)):
                chain.source.connect(front)
        except Exception as error:  # noqa: BLE001  rule 1.9: before it signals anything, or never
            refuse(front, error)
    elif opener is not None:
        source = chain.source
        unread = segment.never_asks or source.length() == 0 or (source.passes and reads_nothing(chain))
        DrainRun(segment, opener, 0 if unread else None, front).start()
    elif segment.never_asks or async_opener is None:
        DrainRun(segment, lambda _: iter(()), 0, front).start()  # needs no event loop to end at once
    else:
        AsyncRun(segment, async_opener, front).start()


class Traced(Bystander):
    """The subscriber behind a joint or a source that signals; it notes on their errors where they were built."""

    __slots__ = ("_index", "_trace")

    def __init__(self, downstream: Subscriber[Any], trace: Trace, index: int) -> None:
        super().__init__(downstream)
        self._trace = trace
        self._index = index

    def on_error(self, error: Exception, /) -> None:
        """Note where it was built, and pass the error on."""
        if isinstance(error, BaseException):
            self._trace(error, self._index)
        super().on_error(error)


def _seen(chain: Chain, start: int, stop: int, subscriber: Subscriber[Any]) -> Subscriber[Any]:
    """Put in front of a subscriber what a trace or a listener has to see of steps[start:stop], or of the source."""
    signals = start == stop or (stop > 0 and isinstance(chain.steps[stop - 1], Joint))
    trace = chain.trace
    if trace is not None and signals:  # loops name their steps themselves
        subscriber = Traced(subscriber, trace, stop)
    return subscriber if chain.watch is None else chain.watch.behind(start, stop, subscriber)


def _landed(subscriber: Subscriber[Any]) -> Subscriber[Any]:
    """Return the subscriber, behind a landing if the calls behind it are as many as may be in a row."""
    return Landing(subscriber) if height_of(subscriber) >= HIGHEST else subscriber


def _wire(chain: Chain, first: int, subscriber: Subscriber[Any]) -> Subscriber[Any] | None:
    """Return the subscriber in front of steps[first:]; None, and an error sent, if a joint fails to open."""
    steps, seen = chain.steps, bool(chain.places) or chain.watch is not None
    stop = len(steps)
    subscriber = _landed(subscriber)
    while stop > first:
        step = steps[stop - 1]
        if isinstance(step, Joint):
            stop -= 1
            if seen:
                subscriber = _seen(chain, stop, stop + 1, subscriber)
            try:
                opened = step.open(subscriber)
                if not hasattr(opened, "on_subscribe"):
                    must = f"{type(step).__name__}.open must return a Subscriber"
                    raise TypeError(f"{must}, got {opened!r}; of a relay it is its entrance")
            except Exception as error:  # noqa: BLE001  an executor that has no worker, say
                refuse(subscriber, error)
                return None
            subscriber = _landed(opened)
            continue
        start = stop
        while start > first and isinstance(steps[start - 1], Stage):
            start -= 1
        for part in reversed([start, *(start + end for end in cuts(steps[start:stop])[:-1])]):  # type: ignore[arg-type]
            if seen:
                subscriber = _seen(chain, part, stop, subscriber)
            segment = chain.segment(part, stop)
            subscriber = _landed(pushed(segment, subscriber) or FedRun(segment, subscriber))
            stop = part
    return subscriber
