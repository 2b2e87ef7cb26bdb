"""conflate: merge elements that downstream has not asked for into one.

Group: deal with what comes too fast
Marble: a.conflate(lambda n: [n], lambda ns, n: [*ns, n]) over -1-2-3-4-5|, asked 1---1---1---1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.beside import Flood
from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Tie

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Conflate(Joint[A, B]):
    """Emit what `seed` makes of an element; while downstream asks for nothing, `fn` merges those that follow into it.

    Emits when downstream has asked and an element has come since. Backpressures never: it asks for everything and holds
    one merged element. Completes when upstream completes, after what it holds; fails if a function raises. Cancels when
    downstream cancels.
    """

    tie: ClassVar[Tie] = Tie.DEMAND
    seed: Callable[[A], B]
    fn: Callable[[B, A], B]

    def __post_init__(self) -> None:
        function_given("conflate", "seed", self.seed)
        function_given("conflate", "fn", self.fn)

    def open(self, downstream: Subscriber[B], /) -> Subscriber[A]:
        """Put a slot in front of what follows."""
        return _ConflateRun(self, downstream)


class _ConflateRun(Flood):
    def __init__(self, step: Conflate[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step

    def came(self, element: Any) -> None:
        step, outlet = self._step, self.outlet
        with outlet.lock:  # what is held is taken out, so that no lock is held while the functions run
            held = outlet.queue.pop() if outlet.queue else None
        called: Callable[..., Any] = step.seed if held is None else step.fn
        try:
            merged = step.seed(element) if held is None else step.fn(held, element)
            if merged is None:
                raise no_element()
        except Exception as error:  # noqa: BLE001  rule 1.4
            if held is not None:
                outlet.queue.append(held)
            self.fail(blamed(error, step, called))
            return
        with outlet.lock:
            if not outlet.closed:
                outlet.queue.append(merged)
        outlet.wake()
