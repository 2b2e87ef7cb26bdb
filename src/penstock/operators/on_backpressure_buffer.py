"""on_backpressure_buffer: ask for everything and hold a bounded number of elements.

Group: deal with what comes too fast
Marble: a.on_backpressure_buffer(2) over -1234-----|, asked 1-----1-1-1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.beside import Flood
from penstock.engine.many.emitter import Overflow
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given
from penstock.errors import OverflowedError
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Results, Tie

T = TypeVar("T")

POLICIES = (Overflow.ERROR, Overflow.DROP, Overflow.LATEST)


@dataclass(frozen=True, slots=True)
class OnBackpressureBuffer(Joint[T, T]):
    """Hold up to `size` elements that downstream has not asked for; `overflow` decides what happens to more.

    Emits when downstream asks and there is an element. Backpressures never: it asks for everything. When `size`
    elements wait and another comes, the stream fails (ERROR), or the new one is left out (DROP), or the oldest one
    (LATEST), and given to `on_drop`. Completes when upstream completes, after what waits. Cancels when downstream
    cancels, and upstream when it fails.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.DEMAND
    size: int
    overflow: Overflow = Overflow.ERROR
    on_drop: Callable[[T], object] | None = None

    def __post_init__(self) -> None:
        count_given("on_backpressure_buffer", "size", self.size, 1)
        if self.overflow not in POLICIES:
            raise TypeError(
                "on_backpressure_buffer: overflow must be Overflow.ERROR, Overflow.DROP or Overflow.LATEST, "
                f"got {self.overflow!r}"
            )
        if self.on_drop is not None:
            function_given("on_backpressure_buffer", "on_drop", self.on_drop)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a queue in front of what follows."""
        return _BufferRun(self, downstream)


class _BufferRun(Flood):
    def __init__(self, step: OnBackpressureBuffer[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self.outlet.most_held = lambda: step.size

    def came(self, element: Any) -> None:
        step, queue = self._step, self.outlet.queue
        dropped: Any = None
        with self.outlet.lock:
            full = len(queue) >= step.size
            if not full:
                queue.append(element)
            elif step.overflow is Overflow.DROP:
                dropped = element
            elif step.overflow is Overflow.LATEST:
                dropped = queue.popleft()
                queue.append(element)
        if full and dropped is None:
            self.fail(
                OverflowedError(
                    f"on_backpressure_buffer: {step.size} elements wait and another came; no subscriber asks for them"
                )
            )
            return
        if dropped is not None and step.on_drop is not None:
            try:
                step.on_drop(dropped)
            except Exception as error:  # noqa: BLE001  rule 1.4
                self.fail(blamed(error, step, step.on_drop))
                return
        self.outlet.wake()
