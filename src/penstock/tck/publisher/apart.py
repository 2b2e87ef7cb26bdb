"""apart: trials of subscriptions beside each other, of which none may feel what another does (rule 1.11)."""

from __future__ import annotations

from typing import Any

from penstock.spec.interfaces import Publisher
from penstock.tck.contract import belongs
from penstock.tck.environment import NotApplicable
from penstock.tck.probe import UNBOUNDED, TrialProbe
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.trial import Steps

_ENOUGH = 20


@publisher_trials.add("1.11")
def demand_is_kept_apart(case: PublisherCase) -> Steps:
    """Let one subscriber ask inside the on_next of another, and a third for everything: each gets its own, no more."""
    company = _Company(case)
    first, second = company.joined(), company.joined()

    def ask_for_second(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) == 1 and not second.requested:
            second.request(1)

    first.on_next_hook = ask_for_second
    first.request(3)
    yield
    _get_their_own(case, (first, second), 3)
    third = company.joined()
    third.on_next_hook = lambda probe, element: probe.cancel() if len(probe.elements) == 4 else None
    third.request(UNBOUNDED)
    yield
    _get_their_own(case, (first, second), 5)


@publisher_trials.add("1.11")
def cancel_is_kept_apart(case: PublisherCase) -> Steps:
    """Cancel one subscriber before it asked, another after: the third gets all it asks for."""
    company = _Company(case)
    first, second, third = (company.joined() for _ in range(3))
    first.cancel()
    yield
    _get_their_own(case, (second, third), 2, ", another one having cancelled")
    second.cancel()
    yield
    _get_their_own(case, (third,), 4, ", another one having cancelled")


@publisher_trials.add("1.11")
def refusal_is_kept_apart(case: PublisherCase) -> Steps:
    """Have one subscriber refused for its request: the others go on."""
    if not belongs("3.9", case.subject.dialect):
        raise NotApplicable("no request is refused by this text")
    company = _Company(case)
    first, second = company.joined(), company.joined()
    _get_their_own(case, (first, second), 2)
    third = company.joined()
    third.request(-1)
    case.needs(lambda: third.ended, "3.9", "request(-1) brought no on_error")
    yield
    for probe in (first, second):
        ended = f"on_{probe.ends[0].kind} came" if probe.ended else ""
        case.environment.check(not probe.ended, f"{ended} because another subscriber was refused its request(-1)")
    _get_their_own(case, (first, second), 4, ", another one having been refused its request(-1)")


@publisher_trials.add("1.11")
def what_one_left_is_not_the_next_ones(case: PublisherCase) -> Steps:
    """Leave demand behind, at the end and by cancel: who subscribes later gets what it asks for and nothing else."""
    if case.subject.unicast:
        raise NotApplicable("it serves one subscriber only")
    company = _Company(case)
    first, second = company.joined(), company.joined()
    yield
    if first.elements:
        raise NotApplicable("elements came that were not asked for (rule 1.1)")
    first.on_next_hook = lambda probe, element: probe.cancel() if len(probe.elements) == 1 else None
    first.request(_ENOUGH)
    second.request(2 * _ENOUGH)
    case.elements(first, 1)
    case.environment.comes(lambda: second.ended or len(second.elements) >= 2 * _ENOUGH)
    second.cancel()
    yield
    third = company.joined()
    yield
    got = len(third.elements)
    case.environment.check(got == 0, f"{got} elements came to a subscriber that had not asked for any")
    third.request(1)
    case.environment.comes(lambda: bool(third.elements) or third.ended)
    case.environment.check(
        bool(third.elements) or third.ended, "one element was requested by a later subscriber and none came"
    )


class _Company:
    """The subscribers of one publisher, or of one each where it serves one only."""

    def __init__(self, case: PublisherCase) -> None:
        most = case.subject.max_elements
        if most is not None and most < _ENOUGH:
            raise NotApplicable(f"it has no more than {most} elements")
        self._case = case
        self._publisher = self._made()
        self._rule = "1.9"

    def joined(self) -> TrialProbe:
        """Subscribe one more probe."""
        probe = self._case.subscribe(self._publisher, rule=self._rule)
        if self._case.subject.unicast:
            self._publisher = self._made()
        else:
            self._rule = "1.10"
        return probe

    def _made(self) -> Publisher[Any]:
        """Return a publisher that serves several, as a finite one does in the other trials of this rule."""
        case = self._case
        return (case.some if case.subject.finite else case.running)(_ENOUGH)[0]


def _get_their_own(case: PublisherCase, probes: tuple[TrialProbe, ...], due: int, since: str = "") -> None:
    """Let all of them ask until so many elements are due to each: one that is behind may hold the others up."""
    for probe in probes:
        if probe.requested < due:
            probe.request(due - probe.requested)
    for probe in probes:
        case.environment.comes(lambda probe=probe: len(probe.elements) >= due or probe.ended)  # type: ignore[misc]
        got = len(probe.elements)
        case.environment.check(got >= due, f"{due} elements were requested by a subscriber and {got} came{since}")
