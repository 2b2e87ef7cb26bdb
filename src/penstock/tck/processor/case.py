"""case: a processor between an upstream driven by hand and probes below it, as each trial sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.spec.interfaces import Processor
from penstock.spec.shown import shown
from penstock.tck.elements import same
from penstock.tck.environment import Environment, NotApplicable
from penstock.tck.probe import TrialProbe
from penstock.tck.subscriber.upstream import NOBODY, DrivenUpstream
from penstock.tck.trial import Trials


@dataclass(frozen=True, slots=True)
class ProcessorSubject:
    """What is verified: how to make it, and what it claims."""

    factory: Callable[[], Processor[Any, Any]]
    element: Callable[[int], Any]
    multicast: bool
    recovers: bool
    delays_errors: bool
    cancels_upstream: bool
    concurrent: bool


class ProcessorCase:
    """A fresh processor, its upstream, and the probes subscribed to it."""

    def __init__(self, environment: Environment, subject: ProcessorSubject) -> None:
        self.environment = environment
        self.subject = subject
        self.processor = subject.factory()
        self.upstream = DrivenUpstream(environment, subject.element)

    def connect(self) -> None:
        """Give the processor its subscription."""
        self.upstream.subscribe(self.processor)

    def subscribe(self) -> TrialProbe:
        """Subscribe one more probe; its subscription may come only with the upstream's."""
        probe = self.environment.probe()
        probe.subscribe_to(self.processor)
        return probe

    def subscribed(self, *probes: TrialProbe) -> None:
        """Wait until the probes have their subscriptions, which a connected processor owes them."""
        if not self.environment.comes(lambda: all(probe.subscribed for probe in probes)):
            self.environment.breach("1.9", "on_subscribe did not come")
            raise NotApplicable("on_subscribe did not come (rule 1.9)")

    def connected_probes(self, count: int) -> list[TrialProbe]:
        """Connect the processor and subscribe so many probes, or one if it serves no more."""
        probes = [self.subscribe() for _ in range(count if self.subject.multicast else 1)]
        self.connect()
        self.subscribed(*probes)
        return probes

    def pass_on(self, count: int, *probes: TrialProbe) -> None:
        """Send `count` elements as they are asked for and wait until each of the probes has them all."""
        due = len(self.upstream.sent) + count
        while len(self.upstream.sent) < due:
            came = self.environment.comes(lambda: self.upstream.demand > 0)
            sent = len(self.upstream.sent)
            self.environment.check(came, f"{due} elements were requested of it, it asked its upstream for {sent}")
            self.upstream.next()
        self.environment.wait_until(
            lambda: all(len(probe.elements) >= due for probe in probes),
            f"{due} elements were requested of it and sent to it, not all of them came out",
        )

    def passes_on(self, count: int, *probes: TrialProbe) -> None:
        """Send `count` elements and see that they come out, which a trial takes for granted."""
        try:
            self.pass_on(count, *probes)
        except AssertionError as lost:
            self.environment.breach("4.1", str(lost))
            raise NotApplicable(f"{lost} (rule 4.1)") from lost

    def fill(self, bound: int) -> int:
        """Send what it asks for without being asked, up to `bound`; return how many elements that was."""
        filled = 0
        while self.upstream.demand > 0 and filled < bound:
            self.upstream.next()
            filled += 1
        return filled

    def close(self) -> None:
        """End the stream, so that the processor can let go of what it holds."""
        if self.upstream.subscribed and not self.upstream.ended and not self.environment.stuck:
            self.upstream.complete(blame=NOBODY)


def in_order(case: ProcessorCase, elements: list[object]) -> None:
    """Fail the trial unless what came out is what went in."""
    sent = case.upstream.sent
    for place, (first, second) in enumerate(zip(sent, elements, strict=False)):
        if not same(first, second):
            raise AssertionError(f"element {place} went in as {shown(first)} and came out as {shown(second)}")
    case.environment.check(len(elements) == len(sent), f"{len(sent)} elements went in, {len(elements)} came out")


processor: Trials[ProcessorCase] = Trials("processor")
