"""asking: the ways in which a subscriber may ask for all that a publisher has, each of which comes to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from penstock.spec.interfaces import Publisher
from penstock.tck.probe import UNBOUNDED, TrialProbe
from penstock.tck.publisher.case import PublisherCase


def asked_in_every_way(
    case: PublisherCase, make: Callable[[], Publisher[Any]], count: int, last: int
) -> Iterator[TrialProbe]:
    """Yield probes that have got `count` elements, or were ended before, and have asked for `last` more.

    They ask one by one, in one go, on another thread, without bound, and inside signals.
    """
    for amounts in (1,) * count, (count,):
        yield asked(case, case.subscribe(make()), (*amounts, last), count)
    yield asked(case, case.subscribe(make()), (count, last), count, elsewhere=True)
    if case.subject.max_elements == 0:
        return  # and so it cannot be seen to hear these
    case.unbounded_works()
    for amounts in (UNBOUNDED,), (1, UNBOUNDED):
        yield asked(case, case.subscribe(make()), amounts, count)
    case.reentry_works()
    probe = case.subscribe(make(), on_next=lambda probe, _: probe.request(1))
    yield asked(case, probe, (1, last), count)
    if case.subject.dialect != "cpp":
        case.entry_works()
        yield case.subscribe(make(), on_subscribe=lambda probe: probe.request(count + last))


def asked(
    case: PublisherCase, probe: TrialProbe, amounts: tuple[int, ...], count: int, *, elsewhere: bool = False
) -> TrialProbe:
    """Let a probe ask for these amounts, each when the one before has come, and return it; it is due `count` in all."""
    for wanted in amounts:
        if not probe.ended:
            if elsewhere:
                case.environment.returns(partial(probe.request, wanted), f"request({wanted}) on another thread")
            else:
                probe.request(wanted)
            due = min(probe.requested, count)
            came = f"{probe.requested} elements were requested, fewer than {due} came"
            case.needs(partial(_came_or_ended, probe, due), "3.8", came)
    return probe


def _came_or_ended(probe: TrialProbe, due: int) -> bool:
    return probe.ended or len(probe.elements) >= due
