"""repeat: subscribe again after the end.

Group: handle failure
Marble: a.repeat(2) over -1-2-|
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from penstock.engine.grounds.relay import Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull, reads_nothing
from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.iterators import left_in, open_inner
from penstock.engine.weaving.segment import no_item
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import LeftLoop, LoopGate, Opener, Source, Tie


@dataclass(frozen=True, slots=True)
class Repeat(Source[Any]):
    """Run the stream `times` times, or for ever, as long as `while_` is true after a run.

    Emits when the stream does. Backpressures when downstream does: a further run is started when downstream asks.
    Completes when the last run does; fails with the first failure. Cancels the current run.
    """

    tie: ClassVar[Tie] = Tie.AGAIN
    stream: Chain
    times: int | None = None
    while_: Callable[[], object] | None = None
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.times is not None:
            count_given("repeat", "times", self.times, 0)
        if self.while_ is not None:
            function_given("repeat", "while_", self.while_)

    def length(self) -> int | None:
        """Return zero for no runs, and if nothing has to be read in any of them."""
        bounded = self.times is not None and self.while_ is None
        return 0 if self.times == 0 or (bounded and reads_nothing(self.stream)) else None

    def opener(self) -> Opener[Any] | None:
        """Iterate again and again, if it can be iterated."""
        opener = pull(self.stream, looks=True)
        return None if opener is None else lambda gate: self._again_and_again(opener, gate)

    def _again_and_again(self, opener: Opener[Any], gate: LoopGate | None) -> Iterator[Any]:
        runs = 0
        while self.times is None or runs < self.times:
            if runs and not self.goes_on():
                return
            if gate is None:
                iterator = opener(None)
            else:
                iterator, inner = open_inner(opener, gate)
                if runs + 1 == self.times:
                    gate.left = partial(left_in, inner)
            if hasattr(iterator, "close"):
                yield from iterator  # a loop, which has looked for None
            else:
                for element in iterator:
                    if element is None:
                        raise no_item()
                    yield element
            runs += 1
            if gate is not None and gate.over:
                raise LeftLoop  # a stream that is empty gives no other chance to stop

    def goes_on(self) -> bool:
        """Ask whether there is to be another run."""
        if self.while_ is None:
            return True
        try:
            return bool(self.while_())
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise blamed(error, self, self.while_)  # noqa: B904  it is the same error, unless it was a stop

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Start the first run."""
        run = _RepeatRun(self, downstream)
        if self.times == 0:
            run.end()
        else:
            run.again()


class _RepeatRun(Relay[Any]):
    """A relay that attaches the stream anew when it has completed and downstream asks."""

    def __init__(self, step: Repeat, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self._runs = 0

    def again(self, *, when_asked: bool = False) -> None:
        self._runs += 1
        self.attach(lambda leg: connect(self._step.stream, leg), when_asked=when_asked)

    def completed(self) -> None:
        if self._runs == self._step.times:
            self.end()
            return
        try:
            goes_on = self._step.goes_on()
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.end(error)
            return
        if goes_on:
            self.again(when_asked=self._step.length() is None)
        else:
            self.end()
