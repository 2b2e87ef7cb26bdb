"""processed: a stream that goes through a Processor, penstock's or another library's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.engine.grounds.foreign import subscribe_to
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.watching.observe import observed
from penstock.engine.words.single_use import SingleUse
from penstock.spec.dialects.dotnet import PublisherFromDotnet, SubscriberFromDotnet
from penstock.spec.dialects.strangers import cure_for, library_of
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.spec.predicates import is_processor
from penstock.stage import Source


@dataclass(frozen=True, slots=True)
class Via(Source[Any]):
    """The elements of a processor, which is subscribed to the stream together with the processor's first subscriber.

    Emits when the processor does, which is held to the contract. Backpressures by asking the processor. Completes and
    fails when the processor does. Cancels the processor's subscription. A processor has one upstream, so further runs
    subscribe to the processor alone, which says whether it serves them (rule 1.11).
    """

    stream: Chain
    processor: Any
    fed: SingleUse = field(default_factory=SingleUse, compare=False, repr=False)
    """Whether the processor has its upstream, which it has once, whatever stream it is in."""

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the processor, then the processor to the stream."""
        front, back = _sides(self.processor)
        subscribe_to(back, downstream)
        if self.fed.first():
            connect(observed(self.stream), front)


def _sides(processor: Any) -> tuple[Subscriber[Any], Publisher[Any]]:
    if is_processor(processor, "jvm"):
        return processor, processor
    return SubscriberFromDotnet(processor), PublisherFromDotnet(processor)


def processes(given: object) -> bool:
    """Tell whether something is a Processor that a stream can go through; refuse one that it cannot."""
    if library_of(given) is None and (is_processor(given, "jvm") or is_processor(given, "dotnet")):
        return True
    if library_of(given) == "py4j":
        raise TypeError(f"via: a stream goes through a Processor of Python's, got {given!r}{cure_for(given)}")
    if is_processor(given, "cpp") and not callable(given):
        raise TypeError(
            f"via: a processor must have on_subscribe to get its upstream by, got {given!r}; an operator of the C++ "
            "text is a function: via(lambda stream: from_cpp(operator(to_cpp(stream))))"
        )
    return False
