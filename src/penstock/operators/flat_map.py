"""flat_map: turn each element into several, from an iterable or a publisher.

Group: change each element
Marble: a.flat_map(lambda n: Stream.just(n, n).delay(2, clock=clock), concurrency=2) over -12----3|
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.merging import Gather
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.runs.drain import READY
from penstock.engine.runs.given import chain_of, connect_to
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Body, Gives, Joint, Sight, Stage

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class FlatMap(Stage[A, B]):
    """Emit the items of the iterable that the function returns for each element, in order.

    Emits when the current iterable has another item. Backpressures when downstream does, in the middle of an iterable
    if need be. Completes when upstream has completed and the last iterable is used up. Cancels when downstream cancels,
    closing the current iterable.
    """

    fn: Callable[[A], Iterable[B]]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.EACH
    loop: ClassVar[Body] = Body(each="{fn}(v)")

    def __post_init__(self) -> None:
        function_given("flat_map", "fn", self.fn)

    def demand(self, n: int) -> int:
        """Ask for one element at a time, since one may become many."""
        return n if n == UNBOUNDED else 1


@dataclass(frozen=True, slots=True)
class FlatMapPublishers(Joint[A, B]):
    """Emit the elements of the publishers that the function returns, up to `concurrency` of them at a time.

    Emits when any of the publishers does. Backpressures when downstream does: each publisher is asked for `prefetch`
    elements, and no more publishers are opened than `concurrency`. Completes when upstream and all publishers have
    completed; fails with the first failure, after what has come by then and ahead of what the others would still give.
    Cancels when downstream cancels, all publishers included.
    """

    fn: Callable[[A], Publisher[B] | Iterable[B] | AsyncIterable[B]]
    concurrency: int = 1
    prefetch: int = 32
    sight: ClassVar[Sight] = Sight.ITEM

    @property
    def reads(self) -> int:
        """Return how many publishers are open at a time."""
        return self.concurrency

    def __post_init__(self) -> None:
        function_given("flat_map", "fn", self.fn)
        count_given("flat_map", "concurrency", self.concurrency, 1)
        count_given("flat_map", "prefetch", self.prefetch, 1)

    def open(self, downstream: Subscriber[B], /) -> Subscriber[A]:
        """Return the subscriber of the elements to be mapped."""
        return _FlatMapRun(self, downstream)


class _FlatMapRun(Gather):
    """A run that subscribes to one publisher per element.

    A publisher that has completed and whose elements are delivered makes room for the next element. That is asked for
    at once, or, if downstream asks for nothing, at its next request: publishers without elements must not make this run
    ahead of demand.
    """

    def __init__(self, step: FlatMapPublishers[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, step.prefetch)
        self._step = step
        self._guard = Lock()
        self._room = step.concurrency

    def subscribed(self) -> None:
        super().subscribed()
        if self.asked:
            self._ask()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        if self.outlet.closed:
            return
        fn = self._step.fn
        try:
            given = fn(element)
            elements = _at_hand(given, self.window)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.fail(blamed(error, self._step, fn))
            return
        if elements is not None and self.passes(elements):
            self.used_up()
            return
        source = self.add()
        if source is None:
            return
        try:
            connect_to("flat_map", given, source)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.fail(blamed(error, self._step, fn))

    def ended(self, error: Exception | None, /) -> None:
        if error is None:
            self.close()
        else:
            self.fail(error)

    def used_up(self) -> None:
        with self._guard:
            self._room += 1
        if self.outlet.demand:
            self._ask()

    def requested(self, n: int, /) -> None:
        super().requested(n)
        self._ask()

    def _ask(self) -> None:
        with self._guard:
            room, self._room = self._room, 0
        if room and not self.outlet.closed:
            self.request(room)

    def cancel_inputs(self) -> None:
        try:
            super().cancel_inputs()  # before upstream, whose groups would find their subscribers unaware
        finally:
            self.cancel()


_SEQUENCES = frozenset((list, tuple, range))


def _at_hand(given: object, most: int) -> list[Any] | None:
    """Return the elements of what a user's function returned, if they lie ready and are no more than `most`."""
    size: int | None
    if type(given) in _SEQUENCES:
        size, items = len(given), iter(given)  # type: ignore[arg-type, call-overload]
    else:
        chain = chain_of(given)
        if chain is None or chain.steps or chain.places or chain.watch is not None:
            return None
        size = chain.source.length()
        opener = None if size is None or size > most else chain.source.opener()
        items = None if opener is None else opener(None)
    if size is None or size > most or items is None or type(items) not in READY:
        return None
    elements = list(items)
    return None if READY[type(items)] and any(element is None for element in elements) else elements
