"""expand: turn each element into more of its kind, and those again.

Group: change each element
Marble: a.expand(lambda n: [n // 2] if n > 1 else []) over -8---5---|
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.merging import Gather, Input
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.runs.given import connect_to
from penstock.engine.weaving.blame import blamed, describe, no_stop
from penstock.engine.weaving.segment import close_quietly
from penstock.engine.words.arguments import count_given, function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.several import PLAIN, Made, items_of
from penstock.errors import OverflowedError
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Body, Gives, Joint, Sight, Stage

T = TypeVar("T")


def _overflowed(size: int) -> OverflowedError:
    return OverflowedError(
        f"expand: {size} elements wait to be expanded and another came; raise size, or let fn return fewer"
    )


@dataclass(frozen=True, slots=True)
class Expand(Stage[T, T]):
    """Emit each element, the items that the function returns for it, the items of those, and so on, level by level.

    Emits when the current iterable has another item. Backpressures when downstream does. At most `size` elements wait
    to be expanded; one more fails it with OverflowedError. Completes when upstream has completed and nothing is left to
    expand, for which the function is called once more than was asked for; one element of upstream is expanded to the
    last before the next is asked for. Cancels when downstream cancels, closing the current iterable.
    """

    fn: Callable[[T], Iterable[T]]
    size: int = 10_000
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.EACH
    loop: ClassVar[Body] = Body(each="{levels}(v)")

    def __post_init__(self) -> None:
        function_given("expand", "fn", self.fn)
        count_given("expand", "size", self.size, 1)

    def demand(self, n: int) -> int:
        """Ask for one element at a time, since one may become many."""
        return n if n == UNBOUNDED else 1

    def levels(self, root: T) -> Made:
        """Give an element and all that come of it."""
        return Made(self._levels(root))

    def _levels(self, root: T) -> Iterator[T]:
        fn, size = self.fn, self.size
        waiting = deque((root,))
        items: Iterable[T] = ()
        yield root
        try:
            while waiting:
                try:
                    items = fn(waiting.popleft())
                    if type(items) not in PLAIN:
                        items, _ = items_of(items, None, "expand")
                except StopIteration as stop:  # which this generator could not let through
                    raise no_stop(stop, f"{describe(self)}: the function")  # noqa: B904
                for item in items:
                    if len(waiting) == size:
                        raise _overflowed(size)
                    waiting.append(item)
                    yield item
        finally:
            close_quietly(items)


@dataclass(frozen=True, slots=True)
class ExpandPublishers(Joint[T, T]):
    """Emit each element, those of the publisher that the function returns for it, those of their publishers, and so on.

    Emits when any of the publishers does. Backpressures when downstream does: no more than `concurrency` publishers
    are open, each is asked for `prefetch` elements, and upstream for one when nothing waits. At most `size` elements
    wait to be expanded; one more fails it with OverflowedError. Completes when upstream and all publishers have
    completed; fails with the first failure, after what has come by then and ahead of what the others would still give.
    Cancels when downstream cancels, all publishers included.
    """

    fn: Callable[[T], Publisher[T] | Iterable[T] | AsyncIterable[T]]
    concurrency: int = 1
    size: int = 10_000
    prefetch: int = 32
    sight: ClassVar[Sight] = Sight.ITEM

    def __post_init__(self) -> None:
        function_given("expand", "fn", self.fn)
        count_given("expand", "concurrency", self.concurrency, 1)
        count_given("expand", "size", self.size, 1)
        count_given("expand", "prefetch", self.prefetch, 1)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Return the subscriber of the elements to be expanded."""
        return _ExpandRun(self, downstream)


class _ExpandRun(Gather):
    """A run that subscribes to the publisher of one waiting element after the other.

    An element of upstream is that of an input with one element. A publisher has a place until its elements are
    delivered; `_free` counts the places left. A place goes to an element that waits, or else upstream is asked for one.
    """

    def __init__(self, step: ExpandPublishers[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, step.prefetch)
        self._step = step
        self._done = False
        self._guard = Lock()
        self._waiting: deque[Any] = deque()
        self._arriving = 0
        self._places = self._free = min(step.concurrency, UNBOUNDED)
        self._asked = 0
        self._placing = False
        self._missed = False
        self.outlet.also_held = lambda: len(self._waiting)

    def subscribed(self) -> None:
        super().subscribed()
        self._place()

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        with self._guard:
            self._asked -= 1
        source = self.add()
        if source is not None:  # no subscription, which may wait for others where the stack is deep, so the order stays
            self.arrived(source, element)
            self.finished(source)

    def ended(self, error: Exception | None, /) -> None:
        if error is not None:
            self.fail(error)
            return
        with self._guard:
            self._done = True
            self._free += self._asked  # what was asked for does not come
            self._asked = 0
        self._place()

    def arrived(self, source: Input, element: Any) -> None:
        with self._guard:
            full = len(self._waiting) + self._arriving == self._step.size
            self._arriving += not full
        if full:
            self.fail(_overflowed(self._step.size))
            return
        super().arrived(source, element)
        with self._guard:  # it takes part of the demand before it is expanded for what is left of that
            self._arriving -= 1
            if not self.outlet.closed:  # else what waits was forgotten already
                self._waiting.append(element)
        if self._free:
            self._place()

    def arrived_together(self, source: Input, elements: list[Any]) -> None:
        for element in elements:
            if source.over:
                return
            self.arrived(source, element)

    def requested(self, n: int, /) -> None:
        super().requested(n)
        self._place()

    def used_up(self) -> None:
        with self._guard:
            self._free += 1
        self._place()

    def _place(self) -> None:
        """Give free places to what waits, in a loop however deep the call comes from."""
        with self._guard:
            if self._placing:
                self._missed = True
                return
            self._placing = True
        goes_on = True
        while goes_on:
            self._place_all()
            with self._guard:
                goes_on = self._placing = self._missed
                self._missed = False

    def _place_all(self) -> None:
        """Expand what waits as far as there are places, ask upstream if nothing does, or end."""
        while not self.outlet.closed:
            with self._guard:
                idle = self._free == self._places
                over = self._done and idle and not self._waiting
                # Downstream asks for nothing: publishers without elements must not make this run ahead of demand.
                if (
                    not self._free
                    or not (self.outlet.demand or over or (self._done and not self.outlet.queue))
                    or (self._done and not self._waiting and not over)
                ):
                    return
                element = self._waiting.popleft() if self._waiting else None
                # Who did not answer the last request at once is asked for all that may come, and not one by one.
                places = self._free if self._asked and element is None and not over else 1
                self._free -= places
                self._asked += places if element is None and not over else 0
            if over:
                self.close()
                return
            if element is None:
                self.request(places)
            else:
                self._subscribe_to(element)

    def _subscribe_to(self, element: Any) -> None:
        fn = self._step.fn
        try:
            given = fn(element)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.fail(blamed(error, self._step, fn))
            return
        self._subscribe(given)

    def _subscribe(self, given: object) -> None:
        source = self.add()
        if source is None:
            return
        try:
            connect_to("expand", given, source)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.fail(blamed(error, self._step, self._step.fn))

    def cancel_inputs(self) -> None:
        self.cancel()
        with self._guard:
            self._waiting.clear()
        super().cancel_inputs()
