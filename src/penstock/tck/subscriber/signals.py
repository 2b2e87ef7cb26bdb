"""signals: trials of what a subscriber does with its signals, both boxes (rules 2.5, 2.6, 2.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable
from penstock.tck.subscriber.case import SubjectSeat, SubscriberCase, blackbox, whitebox
from penstock.tck.subscriber.upstream import ENDS, THIS_TRIAL
from penstock.tck.trial import Steps

_MORE = 8
_SOME = 2


@whitebox.add("2.5")
@blackbox.add("2.5")
def second_subscription_is_cancelled(case: SubscriberCase) -> Steps:
    """Give it a second subscription: it must cancel that one and go on with the first."""
    yield from _second_is_cancelled(case, 0)
    yield from _second_is_cancelled(case, _MORE)


def _second_is_cancelled(case: SubscriberCase, after: int) -> Steps:
    seat, second = case.seat(), case.second_upstream()
    seat.feed(after)
    seat.takes_all()
    if not seat.demanded() and after:
        return  # it has had enough
    yield
    if seat.upstream.cancelled:
        raise NotApplicable("it cancelled its first subscription at once")
    second.subscribe(seat.subject, blame=THIS_TRIAL)
    case.environment.wait_until(lambda: second.cancelled, "the second subscription was not cancelled")
    yield
    case.environment.check(not seat.upstream.cancelled, "the first subscription was cancelled instead of the second")
    case.environment.check(second.requested == 0, "elements were requested of the second subscription")
    seat.upstream.next(blame=THIS_TRIAL)
    seat.took_all()
    if seat.reach.sees and seat.upstream.demand <= 0:
        seat.ask(1)
        case.environment.wait_until(lambda: seat.upstream.demand > 0, "the first subscription was not asked any more")


@whitebox.add("2.6")
@blackbox.add("2.6")
def unneeded_subscription_is_cancelled(case: SubscriberCase) -> None:
    """Tell it that no more is wanted, before and after elements: it must cancel."""
    for count in (0, 2):
        seat = case.seat()
        seat.feed(count)
        seat.takes_all()
        seat.reach.stop_wanting()
        case.environment.wait_until(
            lambda seat=seat: seat.upstream.cancelled,  # type: ignore[misc]
            "no more was wanted, but cancel() was not called",
        )


@whitebox.add("2.13")
@blackbox.add("2.13")
def none_subscription_refused(case: SubscriberCase) -> None:
    """Give on_subscribe None, at first and when it has a subscription: it must raise TypeError."""
    for subscribed in (False, True):
        subject = case.seat(subscribed=subscribed).subject
        _refuses_none("on_subscribe", partial(subject.on_subscribe, None))  # type: ignore[arg-type]


@whitebox.add("2.13")
@blackbox.add("2.13")
def none_element_refused(case: SubscriberCase) -> None:
    """Give on_next None, at first and after elements: it must raise TypeError."""
    for seat in _at_first_and_later(case):
        seat.demanded()
        _refuses_none("on_next", partial(seat.subject.on_next, None))


@whitebox.add("2.13")
@blackbox.add("2.13")
def none_error_refused(case: SubscriberCase) -> None:
    """Give on_error None, at first and after elements: it must raise TypeError."""
    for seat in _at_first_and_later(case):
        _refuses_none("on_error", partial(seat.subject.on_error, None))  # type: ignore[arg-type]


def _at_first_and_later(case: SubscriberCase) -> Iterator[SubjectSeat]:
    yield case.seat()
    seat = case.seat()
    seat.feed(_SOME)
    seat.takes_all()
    if not seat.upstream.cancelled:
        yield seat


def _refuses_none(name: str, call: Callable[[], object]) -> None:
    try:
        call()
    except TypeError:
        return
    except Exception as error:
        raise AssertionError(f"{name}(None) raised {shown(error)} instead of TypeError") from error
    raise AssertionError(f"{name}(None) returned normally instead of raising TypeError")


@whitebox.add("2.13")
@blackbox.add("2.13")
def signals_return_normally(case: SubscriberCase) -> None:
    """Send short streams in every legal order, from outside, from inside request, past a cancel: nothing may raise."""
    for count, end in product((0, 1, 3), ("", *ENDS)):
        seat = case.seat()
        seat.demanded()
        seat.feed(count, blame=THIS_TRIAL)
        if end:
            seat.upstream.end(end)
    for count, end in product((1, 3), ("", *ENDS)):
        seat = case.seat(subscribed=False)
        seat.upstream.script(count, end)
        seat.subscribe()
        _draw(case, seat, count)
        seat.upstream.cut(end)
    for count, end in product((0, 1), ENDS):
        seat = case.seat()
        seat.demanded()
        seat.feed(count, blame=THIS_TRIAL)
        if _cancels(seat):
            seat.upstream.end(end, blame=THIS_TRIAL)


def _draw(case: SubscriberCase, seat: SubjectSeat, count: int) -> None:
    """Make it ask until its script has sent `count` elements."""
    upstream = seat.upstream
    for already in range(count):
        if len(upstream.sent) <= already and not upstream.cancelled:
            seat.ask(1)
        if not seat.reach.sees and already >= case.setup.expects:
            return
        if not case.environment.comes(lambda already=already: len(upstream.sent) > already or upstream.cancelled):  # type: ignore[misc]
            seat.lack("demand")


def _cancels(seat: SubjectSeat) -> bool:
    try:
        seat.reach.trigger_cancel()
    except NotApplicable:
        return False
    return True
