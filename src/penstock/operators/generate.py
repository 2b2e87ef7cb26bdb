"""generate: emit what a function makes of a state, as far as it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from penstock.engine.arguments import function_given
from penstock.engine.blame import blamed
from penstock.engine.segment import no_element
from penstock.stage import Gate, Opener, Source

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Generate(Source[T], Generic[T, S]):
    """Call `step` with the state for each element asked for; it returns the element and the next state, or None.

    Emits when downstream asks. Backpressures by not calling `step`. Completes when `step` returns None. Cancels at
    once.
    """

    seed: S
    step: Callable[[S], tuple[T, S] | None]
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        function_given("generate", "step", self.step)

    def opener(self) -> Opener[T]:
        """Iterate by calling `step`."""
        return self._open

    def _open(self, _: Gate | None) -> Iterator[T]:
        state: Any = self.seed
        step = self.step
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
