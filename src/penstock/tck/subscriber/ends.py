"""ends: trials of how a subscriber takes the end, whitebox and blackbox (rules 2.3, 2.4, 2.9, 2.10)."""

from __future__ import annotations

from penstock.tck.subscriber.case import SubjectSeat, SubscriberCase, blackbox, whitebox
from penstock.tck.subscriber.upstream import ENDS, THIS_TRIAL
from penstock.tck.trial import Steps

_BY_TRIGGER = ", when it was made to ask: what makes it ask goes the subscriber's own way, which asks no more then"


@whitebox.add("2.3")
@blackbox.add("2.3")
def on_complete_calls_nothing(case: SubscriberCase) -> None:
    """See no call on the subscription from inside on_complete."""
    _end_calls_nothing(case, "on_complete")


@whitebox.add("2.3")
@blackbox.add("2.3")
def on_error_calls_nothing(case: SubscriberCase) -> None:
    """See no call on the subscription from inside on_error."""
    _end_calls_nothing(case, "on_error")


def _end_calls_nothing(case: SubscriberCase, end: str) -> None:
    for seat in (_at_once(case), _with_demand(case), _after_elements(case)):
        seat.upstream.end(end)
        for call in seat.upstream.calls_inside_ends[:1]:
            raise AssertionError(f"{call.name} was called from inside {end}")


@whitebox.add("2.4")
@blackbox.add("2.4")
def no_calls_after_end(case: SubscriberCase) -> Steps:
    """End it when it is at rest and make it ask again: the subscription must not be called any more."""
    seats = [_after_elements(case) for _ in ENDS]
    yield
    before = [len(seat.upstream.calls) for seat in seats]
    for seat, end in zip(seats, ENDS, strict=True):
        seat.upstream.end(end)
    yield
    by_itself = [len(seat.upstream.calls) for seat in seats]
    for seat in seats:
        if seat.reach.asks_its_own_way:
            seat.ask(1)
    yield
    for seat, end, calls, own in zip(seats, ENDS, before, by_itself, strict=True):
        for number, call in enumerate(seat.upstream.calls):
            if number >= calls and call not in seat.upstream.calls_inside_ends:  # which is a matter of rule 2.3
                raise AssertionError(f"{call.name} was called after {end}{_BY_TRIGGER if number >= own else ''}")


@whitebox.add("2.9")
@blackbox.add("2.9")
def takes_completion_with_demand(case: SubscriberCase) -> Steps:
    """Complete it before and after the elements it asked for."""
    for make in (_with_demand, _after_elements):
        yield from _takes_completion(case, make(case))


@whitebox.add("2.9")
@blackbox.add("2.9")
def takes_completion_without_demand(case: SubscriberCase) -> Steps:
    """Complete it right after on_subscribe, whatever it has asked for."""
    yield from _takes_completion(case, _at_once(case))


def _takes_completion(case: SubscriberCase, seat: SubjectSeat) -> Steps:
    seat.upstream.complete(blame=THIS_TRIAL)
    seat.took_end(None)
    yield
    _once(case, seat)


@whitebox.add("2.10")
@blackbox.add("2.10")
def takes_error_with_demand(case: SubscriberCase) -> Steps:
    """Fail it before and after the elements it asked for."""
    for make in (_with_demand, _after_elements):
        yield from _takes_error(case, make(case))


@whitebox.add("2.10")
@blackbox.add("2.10")
def takes_error_without_demand(case: SubscriberCase) -> Steps:
    """Fail it right after on_subscribe, whatever it has asked for."""
    yield from _takes_error(case, _at_once(case))


def _takes_error(case: SubscriberCase, seat: SubjectSeat) -> Steps:
    error = RuntimeError("upstream failed, as the trial wants it")
    seat.upstream.error(error, blame=THIS_TRIAL)
    seat.took_end(error)
    yield
    _once(case, seat)


def _once(case: SubscriberCase, seat: SubjectSeat) -> None:
    ends = len(seat.reach.ends)
    case.environment.check(ends <= 1, f"one end was sent, {ends} were reported as processed")


def _at_once(case: SubscriberCase) -> SubjectSeat:
    """Return a subject that has got its subscription and nothing else."""
    return case.seat()


def _with_demand(case: SubscriberCase) -> SubjectSeat:
    """Return a subject that has asked for elements and got none."""
    seat = case.seat()
    seat.demanded()
    return seat


def _after_elements(case: SubscriberCase) -> SubjectSeat:
    """Return a subject that has got elements and has taken them."""
    seat = case.seat()
    seat.feed(3)
    seat.takes_all()
    return seat
