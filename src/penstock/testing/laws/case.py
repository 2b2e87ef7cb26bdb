"""case: one operator over one form of upstream and some elements, as each law of the contract sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.stream import Stream
from penstock.testing.laws.forms import Form, UpstreamError
from penstock.testing.laws.promise import Expected, Make, Promise
from penstock.testing.laws.session import Session
from penstock.testing.probe import Probe
from penstock.testing.signals import VerificationError, spoken
from penstock.testing.tracked import Tracked


class BrokenError(VerificationError):
    """The error of a broken law: what was found."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a law is tried on."""

    make: Make
    expected: Expected
    promise: Promise
    form: Form
    items: Sequence[Any]
    session: Session

    def upstream(self, error: Exception | None = None) -> Tracked[Any]:
        """Return fresh items, which fail behind the last of them if there is an error."""
        return Tracked(self.items, error, patience=self.session.patience)

    def over(self, upstream: Tracked[Any]) -> Stream[Any]:
        """Return what the operator makes of these items."""
        return self.make(self.form.over(upstream))

    def probe(self, stream: Stream[Any], request: int = 0) -> Probe[Any]:
        """Subscribe a probe."""
        probe: Probe[Any] = Probe(request, patience=self.session.patience)
        stream.subscribe(probe)
        return probe

    def broken(self, found: str) -> BrokenError:
        """Return what to raise."""
        return BrokenError(f"for {list(self.items)!r} {found}")

    def keeps_rules(self, probe: Probe[Any]) -> None:
        """Raise if a subscriber saw a rule broken."""
        if probe.breaches:
            raise self.broken(probe.breaches[0])

    def ended(self, probe: Probe[Any], what: str) -> None:
        """Wait for the end of a run without further demand; cancel it if that does not come."""
        if not self.comes(probe, lambda: probe.ended):
            found = spoken(probe.signals)
            if probe.subscription is not None:
                probe.cancel()
            raise self.broken(f"{what}, got {found}")
        self.keeps_rules(probe)

    def comes(self, probe: Probe[Any], reached: Any) -> bool:
        """Wait until a condition on a probe holds; tell whether it does."""
        try:
            probe.wait_until(reached, "")
        except VerificationError:
            return False
        return True

    def let_go(self, upstream: Tracked[Any], when: str) -> None:
        """Wait until every run of upstream is closed and nothing else is left running."""
        try:
            upstream.wait_until_closed()
        except VerificationError:
            raise self.broken(f"{upstream.open_runs} runs of upstream were left open after {when}") from None
        left = self.session.left()
        if left:
            raise self.broken(f"{left} after {when}")

    @property
    def failure(self) -> UpstreamError:
        """Return a fresh failure of upstream."""
        return UpstreamError("upstream failed")

    @property
    def passes_failures(self) -> bool:
        """Tell whether a failure of upstream behind these elements must come out."""
        return self.promise.fails is True and not self.expected.settled(self.items)
