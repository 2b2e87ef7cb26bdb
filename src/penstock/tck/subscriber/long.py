"""long: trials of long streams, of large demand, and of elements inside request (rules 2.7, 2.11, 3.8).

What goes wrong after a hundred elements, on every fiftieth, or only when an element comes before request has returned
is seen in none of the short streams of the other trials.
"""

from __future__ import annotations

from penstock.tck.environment import NotApplicable
from penstock.tck.subscriber.case import SubjectSeat, SubscriberCase, blackbox, whitebox
from penstock.tck.subscriber.upstream import ENDS, NOBODY
from penstock.tck.subscriber.whitebox_trials import in_order
from penstock.tck.trial import Steps

_SOME = 5  # elements to be seen: more than a demand that was cut to fewer bits leaves
_TWENTY = 20
_LARGE = (40, 2**31, 2**32 + 1, 2**62)


@whitebox.add("2.7")
@blackbox.add("2.7")
def requests_stay_serial(case: SubscriberCase) -> Steps:
    """Send a long stream and hold requests open that come on another thread than the last: no other one begins."""
    seats = [case.seat(subscribed=False) for _ in ENDS]
    for seat, end in zip(seats, ENDS, strict=True):
        seat.upstream.stays = True
        seat.subscribe()
        _feed_all_it_wants(case, seat)
        yield
        seat.upstream.end(end)
    yield
    for seat in seats:
        case.environment.check(not seat.upstream.overlap, seat.upstream.overlap)


@whitebox.add("2.11")
def long_streams_are_processed_in_order(case: SubscriberCase) -> Steps:
    """Send a long stream, then its end: all of it is processed, in the order sent, and the end once."""
    seat = case.seat()
    _feed_all_it_wants(case, seat)
    for breach in case.environment.breaches:
        raise NotApplicable(f"{breach.message} (rule {breach.rule})")
    seat.took_all()
    seat.upstream.complete()
    case.environment.comes(lambda: bool(seat.reach.ends))
    yield
    in_order(case, seat)
    ends = len(seat.reach.ends)
    if ends > 1:
        case.environment.breach("2.9", f"one end was sent, {ends} were reported as processed")


@whitebox.add("2.11")
def elements_inside_request_are_processed(case: SubscriberCase) -> Steps:
    """Send each element from inside the request for it: all are processed, in the order sent, and then the end."""
    seat, environment = case.seat(subscribed=False), case.environment
    upstream, reach = seat.upstream, seat.reach
    upstream.script(_TWENTY, "on_complete", blame="2.13")
    seat.subscribe()
    seat.ask(_TWENTY)
    if not environment.comes(lambda: upstream.ended or upstream.cancelled):
        raise NotApplicable(f"it asked for {len(upstream.sent)} of {_TWENTY} elements (rule 3.8)")
    for breach in environment.breaches:
        raise NotApplicable(f"{breach.message} (rule {breach.rule})")
    seat.took_all()
    if not upstream.cancelled and not environment.comes(lambda: bool(reach.ends)):
        environment.breach("2.9", "on_complete was sent inside request, but no end was reported as processed")
    yield
    in_order(case, seat)


@whitebox.add("3.8")
def asks_for_large_amounts(case: SubscriberCase) -> None:
    """Make it ask for very much at once: it does not stop asking after the first few elements."""
    for n in _LARGE:
        seat = case.seat()
        seat.need("demand")
        seat.ask(n)
        upstream = seat.upstream
        for _ in range(min(n, _SOME)):
            came = case.environment.comes(lambda: upstream.demand > 0 or upstream.cancelled)  # noqa: B023
            case.environment.check(came, f"it was made to ask for {n} elements, the demand was {upstream.requested}")
            if upstream.cancelled:
                break
            upstream.next()


def _feed_all_it_wants(case: SubscriberCase, seat: SubjectSeat) -> None:
    """Make it ask for as many elements as a trial may take, once, and send them as it asks."""
    count, upstream = case.environment.most(case.environment.limits.elements), seat.upstream
    if seat.reach.sees:
        seat.need("demand")
        seat.ask(count)
    while len(upstream.sent) < count and not upstream.cancelled:
        if upstream.demand <= 0 and not seat.reach.sees:
            if not case.environment.lingers(lambda: upstream.demand > 0):
                return  # it has had what it wanted
        elif not case.environment.comes(lambda: upstream.demand > 0 or upstream.cancelled):
            seat.asks_too_little(count)
        if not upstream.cancelled:
            upstream.next(blame="2.13" if seat.reach.sees else NOBODY)  # from outside that is a matter of rule 3.8
