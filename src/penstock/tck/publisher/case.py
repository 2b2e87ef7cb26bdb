"""case: the publisher under test, as each trial sees it.

A trial asks for what it needs; what the subject cannot offer ends the trial as not applicable. A trial that depends on
another rule (elements must come before their count can be judged) says so with `needs`: if that fails, the other
rule is noted as broken and the trial bows out, so that one fault shows under one rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock.spec.interfaces import Publisher
from penstock.spec.shown import shown
from penstock.tck.elements import alike
from penstock.tck.environment import Environment, NotApplicable
from penstock.tck.outcome import Limits
from penstock.tck.probe import UNBOUNDED, TrialProbe
from penstock.tck.publisher.sources import CountedSource

Factory = Callable[[int | None], Any]

_RUNS = 5  # in which what differs by chance is likely to differ


@dataclass(frozen=True, slots=True)
class PublisherSubject:
    """What is verified: how to make it, and what it claims or cannot do."""

    factory: Factory
    failing: Callable[..., Any] | None
    over: Callable[[Iterable[Any]], Any] | None
    limits: Limits
    dialect: str
    unicast: bool
    asynchronous: bool
    closes: Callable[[], int] | bool
    max_elements: int | None
    min_elements: int
    finite: bool
    adapt: Callable[[Any], Publisher[Any]]


@dataclass(frozen=True, slots=True)
class PublisherCase:
    """The publishers and probes of one trial."""

    subject: PublisherSubject
    environment: Environment

    # What it can be asked for.

    def some(self, wanted: int, *, least: int = 1) -> tuple[Publisher[Any], int]:
        """Return a publisher that ends after about `wanted` elements, and how many it has."""
        if not self.subject.finite:
            raise NotApplicable("it never ends")
        count = self._clamp(self.environment.most(wanted))
        if count < least:
            raise NotApplicable("it has no elements")
        return self._make(count), count

    def empty(self) -> Publisher[Any]:
        """Return a publisher of no elements."""
        if not self.subject.finite:
            raise NotApplicable("it never ends")
        if self.subject.min_elements > 0:
            raise NotApplicable(f"it has at least {self.subject.min_elements} elements")
        return self._make(0)

    def running(self, wanted: int = 1, *, least: int = 1) -> tuple[Publisher[Any], int]:
        """Return a publisher with `wanted` elements or, if it cannot have that many, as many as it can.

        It does not end by itself once the elements that a trial asks for have come, unless it is bounded.
        """
        wanted = self.environment.most(wanted)
        if self.subject.max_elements is None:
            return self._make(None), wanted
        if self.subject.max_elements < least:
            raise NotApplicable("it has no elements")
        return self._make(self.subject.max_elements), min(wanted, self.subject.max_elements)

    def plenty(self) -> tuple[Publisher[Any], int]:
        """Return a publisher of many elements and how many to ask for: a trial that stops it does not wait for them."""
        most = self.subject.max_elements
        wanted = max(self.environment.limits.elements, 100)
        return self._make(most), wanted if most is None else min(wanted, most)

    def any(self) -> Publisher[Any]:
        """Return any publisher at all."""
        return self._make(self.subject.max_elements)

    def failing(self, after: int) -> Publisher[Any]:
        """Return a publisher that fails, after so many elements if it can choose."""
        make, over = self.subject.failing, self.subject.over
        if make is not None:
            return self._keep(make(after) if _takes_a_number(make) else make())
        if over is not None:
            return self._keep(over(CountedSource(fails_after=after)))
        raise NotApplicable("no failing publisher was given")

    def fails(self) -> bool:
        """Tell whether a failing publisher can be had."""
        return self.subject.failing is not None or self.subject.over is not None

    def over(self, source: Iterable[Any]) -> Publisher[Any]:
        """Return the subject over a source of the kit's own."""
        if self.subject.over is None:
            raise NotApplicable("no way to put it over a source of the kit was given")
        return self._keep(self.subject.over(source))

    def _clamp(self, wanted: int) -> int:
        most = self.subject.max_elements
        return max(wanted if most is None else min(wanted, most), self.subject.min_elements)

    def _make(self, count: int | None) -> Publisher[Any]:
        return self._keep(self.subject.factory(count))

    def _keep(self, made: Any) -> Publisher[Any]:
        publisher = self.subject.adapt(made)
        self.environment.kept.append(publisher)
        return publisher

    # How trials drive it.

    def subscribe(
        self,
        publisher: Publisher[Any],
        *,
        rule: str = "1.9",
        on_subscribe: Callable[[TrialProbe], object] | None = None,
        on_next: Callable[[TrialProbe, Any], object] | None = None,
        on_end: Callable[[TrialProbe], object] | None = None,
    ) -> TrialProbe:
        """Subscribe a fresh probe and wait for its subscription."""
        probe = self.environment.probe(on_subscribe=on_subscribe, on_next=on_next, on_end=on_end)
        probe.subscribe_to(publisher)
        if probe.raised:
            raise NotApplicable(f"subscribe raised {shown(probe.raised[0])} (rule 1.9)")
        self.needs(lambda: probe.subscribed, rule, "on_subscribe did not come")
        return probe

    def needs(self, holds: Callable[[], bool], rule: str, message: str) -> None:
        """Wait for what this trial takes for granted; without it `rule` is broken and the trial cannot be held."""
        if not self.environment.comes(holds):
            self.unmet(rule, message)

    def unmet(self, rule: str, message: str) -> NoReturn:
        """End the trial because `rule` is broken, which it takes for granted."""
        if self.breaches("1.1"):  # elements beyond demand put every count out, and are stopped in the end
            rule = "1.1"
        self.environment.breach(rule, message)
        raise NotApplicable(f"{message} (rule {rule})")

    def elements(self, probe: TrialProbe, count: int) -> None:
        """Wait for the first `count` elements, which were requested."""
        self.environment.comes(lambda: len(probe.elements) >= count or probe.ended)
        if len(probe.elements) < count:
            lack = f"{count} elements were requested and {len(probe.elements)} came"
            self.unmet("3.8", f"{lack}, then on_{probe.ends[0].kind}" if probe.ended else lack)

    def take(self, probe: TrialProbe, count: int) -> None:
        """Request `count` more elements and wait for them."""
        if count:
            due = probe.requested + count
            probe.request(count)
            self.elements(probe, due)

    def complete(self, probe: TrialProbe) -> None:
        """Wait for the completion of a probe that has got everything."""
        if not probe.ended:
            probe.request(1)  # an iterator shows its end only when asked once more
        if not self.environment.comes(lambda: probe.ended):
            probe.request(1)
            lost = self.environment.comes(lambda: probe.ended)
            self.unmet(*(("3.8", "a request(1) was lost") if lost else ("1.5", "no end came after the last element")))

    def reentry_works(self) -> None:
        """See that a request inside on_next counts, which a trial takes for granted."""
        publisher, count = self.running(3)

        def ask(probe: TrialProbe, element: object) -> None:
            if probe.requested < count:
                probe.request(1)

        probe = self.subscribe(publisher, on_next=ask)
        probe.request(1)
        self.needs(lambda: len(probe.elements) >= count, "3.2", "request(1) inside on_next was lost")

    def entry_works(self) -> None:
        """See that a request inside on_subscribe counts, which a trial takes for granted."""
        probe = self.subscribe(self.running()[0], on_subscribe=lambda probe: probe.request(1))
        self.needs(lambda: bool(probe.elements), "3.2", "request(1) inside on_subscribe was lost")

    def unbounded_works(self) -> None:
        """See that a request without bound brings elements, which a trial takes for granted."""
        probe = self.subscribe(self.running()[0], on_next=lambda probe, _: probe.cancel())
        probe.request(UNBOUNDED)
        self.needs(lambda: bool(probe.elements), "3.17", f"request({UNBOUNDED}) brought no element")

    def run_out(self, publisher: Publisher[Any], count: int) -> TrialProbe:
        """Subscribe a fresh probe and take all `count` elements, to the end."""
        probe = self.subscribe(publisher)
        self.take(probe, count)
        self.complete(probe)
        return probe

    def differs(self, count: int) -> bool:
        """Tell whether publishers made alike show their only subscribers different elements, or another order."""
        runs = []
        for _ in range(_RUNS):
            probe = self.subscribe(self.some(count)[0])
            self.take(probe, count)
            runs.append(probe.elements[:count])
        return not all(alike(runs[0], run) for run in runs[1:])

    def fail(self, probe: TrialProbe) -> None:
        """Wait for the failure of a probe on a failing publisher."""
        if not probe.ended:
            probe.request(10)
        self.needs(lambda: probe.ended, "1.4", "the failing publisher sent no on_error")
        if probe.error is None:
            self.unmet("1.4", "the failing publisher sent on_complete instead of on_error")

    # What they look at.

    def silent_since(self, probe: TrialProbe, seen: int, why: str) -> None:
        """Fail the trial if any signal came after the first `seen` ones."""
        self.environment.raise_failure()
        if len(probe.signals) > seen:
            raise AssertionError(f"on_{probe.signals[seen].kind} came {why}")

    def breaches(self, rule: str) -> list[str]:
        """Return what was noted under `rule` in this trial."""
        return [breach.message for breach in self.environment.breaches if breach.rule == rule]


def _takes_a_number(make: Callable[..., Any]) -> bool:
    try:
        inspect.signature(make).bind(0)
    except (TypeError, ValueError):
        return False
    return True
