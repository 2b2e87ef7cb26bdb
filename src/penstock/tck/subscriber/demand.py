"""demand: trials of how a subscriber asks, whitebox and blackbox (rules 2.1, 2.7, 3.1, 3.9)."""

from __future__ import annotations

import threading

from penstock.tck.environment import NotApplicable
from penstock.tck.subscriber.case import LACKS, SubscriberCase, blackbox, whitebox
from penstock.tck.trial import Steps

_FEW = 8
_HELD_REQUESTS = 3


@whitebox.add("2.1")
@blackbox.add("2.1")
def asks_before_elements(case: SubscriberCase) -> None:
    """See it ask for elements, and take them once they come."""
    try:
        _asks_and_takes(case)
    except NotApplicable as reason:
        for what in case.setup.lacks:
            raise AssertionError(LACKS[what]) from reason
        raise


def _asks_and_takes(case: SubscriberCase) -> None:
    seat, environment = case.seat(), case.environment
    upstream = seat.upstream
    for count in range(case.setup.expects):
        if count == 0:
            seat.demanded()
        else:
            seat.ask(1)
            asked = environment.comes(lambda: upstream.demand > 0 or upstream.cancelled)
            environment.check(asked, f"it asked for {count} elements and then neither asked for more nor cancelled")
        if upstream.cancelled:
            break
        upstream.next()
    if seat.reach.sees and not environment.comes(seat.has_taken_all):
        seat.lack("processing")


@whitebox.add("2.7")
@blackbox.add("2.7")
def subscription_calls_are_serial(case: SubscriberCase) -> Steps:
    """Hold requests open while elements go on coming: no other request may begin meanwhile."""
    seat = case.seat(subscribed=False)
    seat.upstream.lingering = _HELD_REQUESTS
    seat.subscribe()
    seat.ask(2)
    seat.feed(_FEW)
    yield
    case.environment.check(not seat.upstream.overlap, seat.upstream.overlap)
    if case.setup.claims.concurrent:
        _ask_on_two_threads(case)


def _ask_on_two_threads(case: SubscriberCase) -> None:
    """Make the subject ask on one thread while on others an element comes and, if it claims that, it is made to ask."""
    seat, environment = case.seat(), case.environment
    upstream = seat.upstream
    seat.demanded()
    upstream.lingering = 1
    asking = environment.elsewhere(lambda: seat.ask(1))
    environment.comes(lambda: upstream.asking or asking.done)
    others = [environment.elsewhere(upstream.next)]
    if case.setup.claims.overlapping:
        others.append(environment.elsewhere(lambda: seat.ask(1)))
    environment.comes(lambda: all(call.done for call in (asking, *others)))
    environment.check(not upstream.overlap, upstream.overlap)


@whitebox.add("3.1")
@blackbox.add("3.1")
def uses_only_its_own_subscription(case: SubscriberCase) -> Steps:
    """Signal one of two subscribers: the subscription of the other must not be called for it."""
    for older in (True, False):
        one, other = case.seat(), case.seat()
        signalled, silent = (one, other) if older else (other, one)
        case.environment.rest()  # here, so that no subject of another trial is made meanwhile
        calls, here = len(silent.upstream.calls), threading.get_ident()
        for _ in range(3):
            signalled.ask(1)
            if signalled.upstream.demand > 0 and not signalled.upstream.cancelled:
                signalled.upstream.next()
        yield
        for call in silent.upstream.calls[calls:]:
            if call.thread == here:  # on another one the silent subscriber may be asking by itself
                other_one = "the subscription of another subscriber, which had no signal"
                raise AssertionError(f"{call.name} was called on {other_one}")


@whitebox.add("3.9")
@blackbox.add("3.9")
def requests_are_positive(case: SubscriberCase) -> Steps:
    """Let it run for a while and end: every request it makes must be a positive number."""
    seat = case.seat()
    seat.feed(_FEW)
    yield
    seat.upstream.complete()
