"""merging: the ground of joints that deliver from several inputs at once.

Every input has its own credit: it is asked for `window` elements when the subscriber asks for the first, and again by
halves as they are delivered, so at most `window` per input are queued. The first failure ends the whole and cancels the
other inputs, also those whose subscription has not come yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.engine.grounds.cold_paths import nobody
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.upstream import Filled, Queued
from penstock.engine.words.part import chunks_of
from penstock.engine.words.trampoline import run_all
from penstock.spec.interfaces import Subscriber


class Input(Filled["Gather"]):
    """The subscriber of one input."""

    __slots__ = ("queued",)

    def __init__(self, gather: Gather) -> None:
        super().__init__(gather)
        self.queued = 0

    def on_next(self, element: Any, /) -> None:
        """Queue one element."""
        if element is None:
            element_or_raise(element, "on_next")
        self.whole.arrived(self, element)

    def on_chunk(self, elements: list[Any], /) -> None:
        """Queue several elements."""
        self.whole.arrived_together(self, elements)

    def ended(self, error: Exception | None, /) -> None:
        """End the whole with a failure, or this input alone."""
        if error is None:
            self.whole.finished(self)
        else:
            self.whole.fail(error)


class Gather(Queued):
    """A joint that delivers the elements of any number of inputs in the order of their arrival.

    The upstream that it is the subscriber of, if there is one, says what the inputs are.
    """

    def __init__(self, downstream: Subscriber[Any], window: int) -> None:
        super().__init__(downstream)
        self.window = window
        self.asked = False
        """Whether the subscriber has asked for anything."""
        self._inputs: set[Input] = set()
        self._open_ended = True
        self._over = False
        self._origins: deque[Input] = deque()
        """The inputs that the elements in the outlet's queue came from."""
        self.outlet.on_cancel = self.cancel_inputs
        self.outlet.chunk = (window + 1) // 2  # an input may fill up while what it gave is delivered
        self.outlet.most_held = lambda: window * len(self._inputs)
        self._pass_on = downstream.on_next
        self._pass_chunk: Callable[[list[Any]], None] | None = chunks_of(downstream)

    def add(self) -> Input | None:
        """Return the subscriber for one more input, or None when the whole is over."""
        source = Input(self)
        with self.lock:
            if self._over:
                return None
            self._inputs.add(source)
        return source

    def requested(self, _: int, /) -> None:
        """Fill the windows when the subscriber asks for the first time."""
        if not self.asked:
            self.asked = True
            with self.lock:
                inputs = list(self._inputs)
            for source in inputs:
                source.begin()

    def close(self) -> None:
        """Say that no more inputs will be added."""
        with self.lock:
            self._open_ended = False
            over = not self._inputs and not self._over
        if over:
            self.outlet.complete()

    def arrived(self, source: Input, element: Any) -> None:
        """Deliver an element at once, or queue it together with the input it came from."""
        if not source.over and not self.outlet.hand_on(self._pass_on, element, source.taken):
            self._queue(source, [element])

    def arrived_together(self, source: Input, elements: list[Any]) -> None:
        """Deliver several elements at once, or queue them together with the input they came from."""
        if not source.over and not self._handed_on(elements, source.taken):
            self._queue(source, elements)

    def _queue(self, source: Input, elements: list[Any]) -> None:
        count = len(elements)
        with self.lock:
            source.queued += count
            self._origins.extend([source] * count)
            self.outlet.queue.extend(elements)
        self.outlet.wake()

    def passes(self, elements: list[Any]) -> bool:
        """Deliver elements that lie ready, if all of them are asked for and nothing is in their way; tell whether."""
        return not elements or self._handed_on(elements)

    def _handed_on(self, elements: list[Any], taken: Callable[[int], None] | None = None) -> bool:
        outlet, pass_chunk = self.outlet, self._pass_chunk
        return pass_chunk is not None and outlet.hand_on(pass_chunk, elements, taken, len(elements))

    def taken(self, count: int, /) -> None:
        """Credit the inputs whose elements were delivered; one that has ended is used up with its last one."""
        for _ in range(count):
            source = self._origins.popleft()
            with self.lock:
                source.queued -= 1
                last = source.done and not source.queued
            if last:
                self.used_up()
            source.taken(1)

    def used_up(self) -> None:
        """Handle an input that has ended and whose elements are all delivered; joints override this."""

    def finished(self, source: Input) -> None:
        """Forget an input that has completed."""
        with self.lock:
            source.done = True
            used_up = not source.queued
            self._inputs.discard(source)
            over = not self._inputs and not self._open_ended and not self._over
        if over:
            self.outlet.complete()
        if used_up:
            self.used_up()

    def fail(self, error: Exception) -> None:
        """End the whole with an error, after what is queued, and cancel all inputs."""
        with self.lock:
            self._over = True
        self.outlet.complete(error)
        self.cancel_inputs()

    def closed(self) -> None:
        self._pass_on = self._pass_chunk = nobody  # rule 3.13
        self._origins.clear()

    def cancel_inputs(self) -> None:
        """Cancel whatever has not ended; no input is added from now on."""
        with self.lock:
            self._over = True
            inputs = list(self._inputs)
            self._inputs.clear()
        run_all(deque([source.cancel for source in inputs]))
