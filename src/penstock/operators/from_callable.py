"""from_callable: emit what a function returns.

Group: make a stream
Marble: Stream.from_callable(lambda: 42)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import awaits, function_given
from penstock.stage import Again, LoopGate, Opener, Results, Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FromCallable(Source[T]):
    """Call the function when the first element is asked for, for each subscriber, and emit what it returns.

    Emits when downstream asks. Backpressures by not calling the function. Completes with the element; fails if the
    function raises. Cancels at once; a call under way is not interrupted.
    """

    results: ClassVar[Results] = Results.ONE
    fn: Callable[[], T]

    def __post_init__(self) -> None:
        if awaits(self.fn):
            raise TypeError(
                f"from_callable: fn must not be a coroutine function, got {self.fn!r}; from_awaitable awaits one"
            )
        function_given("from_callable", "fn", self.fn, "from_awaitable awaits one")

    @property
    def again(self) -> Again:
        """Give one element; the function is taken to return the same."""
        return Again.SAME

    def opener(self) -> Opener[T]:
        """Call the function in place of iterating."""
        return self._open

    def _open(self, gate: LoopGate | None) -> Iterator[T]:
        try:
            value = self.fn()
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise blamed(error, self, self.fn)  # noqa: B904  it is the same error, unless it was a stop
        if gate is not None:
            gate.finish()
        yield value
