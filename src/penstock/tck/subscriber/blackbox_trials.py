"""blackbox_trials: trials of a subscriber of which only the calls on its subscription are seen (rules 2.8, 3.8)."""

from __future__ import annotations

from penstock.tck.environment import NotApplicable
from penstock.tck.subscriber.case import SubscriberCase, blackbox
from penstock.tck.subscriber.upstream import NOBODY
from penstock.tck.trial import Steps

_FEW = 8


@blackbox.add("2.8")
def takes_elements_after_cancel(case: SubscriberCase) -> Steps:
    """Send until it cancels, then what it left open: that must be taken without complaint."""
    seat = case.seat()
    bound = case.environment.most(case.environment.limits.elements)
    while not seat.upstream.cancelled and len(seat.upstream.sent) < bound and seat.feed(1, blame=NOBODY):
        pass
    yield
    if not seat.upstream.cancelled:
        seat.reach.stop_wanting()
        yield
    if not seat.upstream.cancelled:
        raise NotApplicable(f"it did not cancel within {len(seat.upstream.sent)} elements")
    if seat.feed_owed(_FEW) == 0:
        raise NotApplicable("it left no demand open when it cancelled")
    yield


@blackbox.add("3.8")
def takes_all_it_asked_for(case: SubscriberCase) -> None:
    """Send all it has asked for without a pause: every element must be taken."""
    seat = case.seat()
    if not seat.demanded():
        raise NotApplicable("it cancelled before any element")
    bound = case.environment.most(case.environment.limits.elements)
    while (owed := seat.upstream.demand) > 0 and not seat.upstream.cancelled and len(seat.upstream.sent) < bound:
        seat.upstream.next()
        for breach in case.environment.breaches:
            if owed == 1 or breach.rule != "2.13":
                raise NotApplicable(f"{breach.message} (rule {breach.rule})")
            raise AssertionError(breach.message)  # perhaps for lack of room, which it did not have to ask for
