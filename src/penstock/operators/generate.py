"""generate: emit what a function makes of a state, as far as it is asked.

Group: make a stream
Marble: Stream.generate(1, lambda n: (n, 2 * n) if n < 10 else None)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.arguments import Missing, function_given, initial_given
from penstock.stage import Again, LoopGate, Opener, Source

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Generate(Source[T], Generic[T, S]):
    """Call `step` with the state for each element asked for; it returns the element and the next state, or None.

    The first state is `seed`, the same for all runs, or what `create` makes for each.

    Emits when downstream asks. Backpressures by not calling `step`. Completes when `step` returns None. Cancels at
    once.
    """

    seed: S | Literal[Missing.MISSING]
    step: Callable[[S], tuple[T, S] | None]
    create: Callable[[], S] | None = None
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        function_given("generate", "step", self.step, "from_async_iterable takes an asynchronous generator")
        initial_given("generate", "seed", self.seed, self.create)

    @property
    def again(self) -> Again:
        """Give the same: the function is taken to make the same of the same state."""
        return Again.SAME

    def opener(self) -> Opener[T]:
        """Iterate by calling `step`."""
        return self._open

    def _open(self, _: LoopGate | None) -> Iterator[T]:
        step, create = self.step, self.create
        state: Any = self.seed
        if create is not None:
            try:
                state = create()
            except Exception as error:  # noqa: BLE001  rule 1.4
                raise blamed(error, self, create)  # noqa: B904  it is the same error, unless it was a stop
        while True:
            try:
                made = step(state)
                if made is None:
                    return
                if type(made) is not tuple or len(made) != 2:
                    made = _pair(made)
                element, state = made
                if element is None:
                    raise no_element()
            except Exception as error:  # noqa: BLE001  rule 1.4
                raise blamed(error, self, step)  # noqa: B904  it is the same error, unless it was a stop
            yield element


def _pair(made: object) -> tuple[Any, Any]:
    """Return what is a pair after all, a named one say."""
    if not isinstance(made, tuple) or len(made) != 2:
        raise TypeError(f"generate: step must return (element, state) or None, got {made!r}")
    return made
