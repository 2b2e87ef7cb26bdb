"""whitebox_trials: trials of a subscriber that need the probe (rules 2.2, 2.8, 2.11, 3.8)."""

from __future__ import annotations

from penstock.spec.shown import shown
from penstock.tck.elements import same
from penstock.tck.environment import NotApplicable
from penstock.tck.subscriber.case import SubjectSeat, SubscriberCase, whitebox
from penstock.tck.subscriber.upstream import THIS_TRIAL
from penstock.tck.trial import Steps

_MANY = 16
_FEW = 8
_NO_CANCEL = "it was made to cancel, but cancel() was not called"


@whitebox.add("2.2")
def slow_work_does_not_block(case: SubscriberCase) -> None:
    """Hold its work up: the signals must return all the same."""
    if not case.setup.claims.asynchronous:
        raise NotApplicable("it does not claim to be asynchronous")
    seat, environment = case.seat(), case.environment
    seat.demanded()
    seat.reach.hold()
    case.setup.lacks.add("asynchrony")
    try:
        environment.returns(seat.upstream.next, "with its work held up, on_next")
        environment.returns(seat.upstream.complete, "with its work held up, on_complete")
        case.setup.lacks.remove("asynchrony")
    finally:
        seat.reach.release()


@whitebox.add("2.8")
def takes_elements_after_cancel(case: SubscriberCase) -> Steps:
    """Make it cancel with demand left open: what is still owed must be taken without complaint."""
    seat = case.seat()
    seat.ask(3)
    seat.demanded()
    yield
    seat.reach.trigger_cancel()
    if seat.reach.cancels and not case.environment.comes(lambda: seat.upstream.cancelled):
        case.environment.breach("2.6", _NO_CANCEL)
        raise NotApplicable(f"{_NO_CANCEL} (rule 2.6)")
    yield
    if seat.feed_owed(_FEW) == 0:
        raise NotApplicable("it left no demand open when it cancelled")
    yield


@whitebox.add("2.11")
def signals_are_processed_in_order(case: SubscriberCase) -> Steps:
    """Send from one thread after another, and past work that is held up: all is processed, in the order sent."""
    seats = [case.seat()]
    _send_from_threads_in_turn(case, seats[0])
    if case.setup.claims.asynchronous and "asynchrony" not in case.setup.lacks:
        seats.append(case.seat())
        _send_past_held_work(seats[1])
    for seat in seats:
        case.environment.comes(lambda seat=seat: bool(seat.reach.ends))  # type: ignore[misc]
    yield
    for seat in seats:
        in_order(case, seat)


def _send_from_threads_in_turn(case: SubscriberCase, seat: SubjectSeat) -> None:
    for _ in range(_MANY):
        if seat.demanded():
            case.environment.returns(seat.upstream.next, "on_next")
    case.environment.returns(seat.upstream.complete, "on_complete")


def _send_past_held_work(seat: SubjectSeat) -> None:
    seat.ask(_FEW)
    seat.demanded()
    seat.reach.hold()
    seat.feed_owed(_FEW)
    seat.upstream.complete()
    seat.reach.release()


def in_order(case: SubscriberCase, seat: SubjectSeat) -> None:
    """Fail the trial unless all that was sent was processed, once, in that order, and the end after it."""
    seat.need("processing")
    sent, processed = list(seat.upstream.sent), list(seat.reach.processed_elements)
    left = sent.copy()
    for element in processed:
        place = next((place for place, other in enumerate(left) if same(element, other)), None)
        if place is None:
            raise AssertionError(f"{shown(element)} was processed more often than it was sent")
        del left[place]
    case.environment.check(not left or seat.upstream.cancelled, f"{shown(left[:1])} was sent and not processed")
    for first, second in zip(sent, processed, strict=False) if case.setup.claims.ordered else ():
        if not same(first, second):
            raise AssertionError(f"{shown(second)} was processed before {shown(first)}, which was sent earlier")
    after = seat.reach.ended_after[:1]
    case.environment.check(after in ([], [len(processed)]), "the end was processed before all elements were")


@whitebox.add("3.8")
def takes_all_it_asked_for(case: SubscriberCase) -> None:
    """Make it ask twice before anything comes: both requests must count, and all that comes be taken."""
    seat = case.seat()
    seat.need("demand")
    upstream = seat.upstream
    seat.ask(2)
    seat.ask(3)
    for count in range(5):
        came = case.environment.comes(lambda: upstream.demand > 0 or upstream.cancelled)
        case.environment.check(came, f"it was made to ask for 2 elements and for 3, the demand was {count}")
        if upstream.cancelled:
            break
        upstream.next(blame=THIS_TRIAL)
    seat.took_all()
