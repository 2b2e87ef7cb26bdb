"""on_backpressure_drop: leave out elements that downstream has not asked for.

Group: deal with what comes too fast
Marble: a.on_backpressure_drop() over -1-2-3-4-5|, asked 1----1---1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.beside import Flood
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Results, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnBackpressureDrop(Joint[T, T]):
    """Let an element through if it was asked for, else leave it out and give it to `on_drop`.

    Emits when upstream emits and downstream has asked. Backpressures never: it asks for everything and holds nothing.
    Completes when upstream completes; fails if `on_drop` raises. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.DEMAND
    on_drop: Callable[[T], object] | None = None

    def __post_init__(self) -> None:
        if self.on_drop is not None:
            function_given("on_backpressure_drop", "on_drop", self.on_drop)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a door in front of what follows."""
        return _DropRun(self, downstream)


class _DropRun(Flood):
    def __init__(self, step: OnBackpressureDrop[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step

    def came(self, element: Any) -> None:
        outlet, on_drop = self.outlet, self._step.on_drop
        with outlet.lock:
            # Demand is no room: who asks for everything may still be slow to take it.
            taken = bool(outlet.demand) and not outlet.queue
            if taken:
                outlet.queue.append(element)
        if taken:
            outlet.wake()
        elif on_drop is not None:
            try:
                on_drop(element)
            except Exception as error:  # noqa: BLE001  rule 1.4
                self.fail(blamed(error, self._step, on_drop))
