"""through_fault_trials: what holds for throughs where something fails: upstream, a function, or what they are in."""

from __future__ import annotations

from penstock.spec.pull_interfaces import End
from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable
from penstock.tck.planned import PlannedFailure
from penstock.tck.pull.case import (
    LENGTH,
    ProducerUnderTest,
    Setting,
    ThroughCase,
    ends_with,
    feed_of,
    through_trials,
)
from penstock.tck.pull.feed import AnswerFeed
from penstock.tck.pull.producer_trials import ENOUGH, to_the_end
from penstock.tck.trial import Steps


@through_trials.add("F4")
def the_first_reason_stays(case: ThroughCase) -> None:
    """Abort with an error what has ended well; have a close fail; and see the first reason, and the failed close."""
    for setting in case.settings:
        joint = to_the_end(case, setting)
        joint.asker.abort(PlannedFailure("too late"))
        case.answered(joint, "A6", "aborted with an error after the end")
        closing = PlannedFailure("planned to fail while closing")
        for reason in (True, PlannedFailure("planned to abort")):
            joint = case.wire(setting, case.feed(setting, list(range(LENGTH)), close_error=closing), checked=False)
            number = joint.asker.abort(reason)
            case.answered(joint, "A1", "aborted before anything else")
            reply = joint.asker.reply_to(number)
            allowed: tuple[End, ...] = (closing,) if reason is True else (reason, True)
            # A value there is for property A2.
            fits = reply is not None and (reply.end is None or ends_with(reply.end, *allowed))
            case.check(fits, setting, f"an abort with {reason!r}, whose close failed, brought {shown(reply)}")


@through_trials.add("F5")
def own_failure_aborts_upstream(case: ThroughCase) -> Steps:
    """Have its function fail, and see upstream aborted with that before it is told."""
    if case.subject.failing is None:
        raise NotApplicable("no way was given to make one whose function fails")
    for setting in case.settings:
        error = PlannedFailure("planned to fail")
        feed = case.feed(setting, None)
        joint = case.wire(setting, feed, case.subject.failing(error))
        feed.hold_confirmation = True
        while not feed.aborts and not joint.asker.ends and joint.asker.asks < ENOUGH:
            joint.asker.ask(setting.asks)
            case.settle()
            if not case.wait(lambda feed=feed, asker=joint.asker: bool(feed.aborts) or not asker.open):  # type: ignore[misc]
                break
        right = len(feed.aborts) == 1 and feed.aborts[0] is error
        case.check(right, setting, f"its function raised, and aborts were sent upstream: {feed.aborts}")
        yield
        case.check(not joint.asker.ends, setting, "it ended before upstream had confirmed the abort")
        feed.confirm()
        case.answered(joint, "F5", "upstream confirmed the abort")
        joint.asker.ask()
        case.answered(joint, "F5", "asked after its function had raised")
        ends = joint.asker.ends
        case.check(
            all(end is error for end in ends), setting, f"its function raised {error!r}, and it ended with {ends}"
        )


@through_trials.add("F6")
def failure_is_passed_on(case: ThroughCase) -> None:
    """Have upstream fail, and see the same error passed on and nothing more sent there."""
    if case.subject.recovers:
        raise NotApplicable("it recovers from failures")
    for setting in case.settings:
        error = PlannedFailure("planned to fail upstream")
        joint = case.wire(setting, case.feed(setting, [0, 1], end=error))
        feed = feed_of(joint)
        feed.blames = False
        case.drain(joint, ENOUGH)
        if feed.aborts:
            case.check(feed.asked <= 2, setting, "upstream failed, and was aborted")
            continue  # it stopped by itself before
        got = joint.asker.ends[:1]
        case.check(
            bool(got) and (got[0] is True or got[0] is error),
            setting,
            f"upstream failed with {error!r}, and it ended with {got}",
        )
        case.check(not feed.aborts, setting, "upstream failed, and was aborted")


@through_trials.add("F7")
def recovers_only_if_it_says_so(case: ThroughCase) -> None:
    """Have upstream fail, and see a good end only from one that says so."""
    for setting in case.settings:
        error = PlannedFailure("planned to fail upstream")
        joint = case.wire(setting, case.feed(setting, [0], end=error))
        feed = feed_of(joint)
        case.drain(joint, ENOUGH)
        if feed.aborts or not joint.asker.ends:
            continue  # it stopped by itself before
        end, got = joint.asker.ends[0], joint.asker.values
        most = len(case.subject.expects([0]))
        if case.subject.recovers:
            case.check(len(got) <= most + 1, setting, f"upstream failed, and it gave {got} before a good end")
        else:
            case.check(end is not True, setting, "upstream failed, and it ended well")


@through_trials.add("F8")
def a_good_end_comes_after_what_is_held(case: ThroughCase) -> None:
    """Read to a good end, and see nothing left out."""
    for setting in case.settings:
        for count in (1, LENGTH, LENGTH + 1):
            values = list(range(count))
            joint = case.wire(setting, case.feed(setting, values))
            case.drain(joint, ENOUGH)
            got, wanted = joint.asker.values, case.subject.expects(values)
            if ends_with(next(iter(joint.asker.ends), None), True):
                case.check(len(got) >= len(wanted), setting, f"upstream gave {values}: gave {got}, and not {wanted}")


@through_trials.add("F10")
def own_exception_does_not_cross(case: ThroughCase) -> None:
    """Have its function raise, and see that neither a read nor an answer function does."""
    if case.subject.failing is None:
        raise NotApplicable("no way was given to make one whose function fails")
    for setting in case.settings:
        error = PlannedFailure("planned to fail")
        feed = case.feed(setting, None)
        joint = case.wire(setting, feed, case.subject.failing(error))
        case.drain(joint, ENOUGH)
        case.settle()
        case.check(not feed.raised, setting, f"an answer function raised {feed.raised}")


@through_trials.add("F12")
def inner_and_outer_are_closed_in_order(case: ThroughCase) -> None:
    """Have an inner source fail, and abort in the middle of one, and look at who was told what, and when."""
    if case.subject.flattens is None:
        raise NotApplicable("it does not claim to flatten sources")
    for setting in case.settings:
        error = PlannedFailure("planned to fail inside")
        outer, _, joint = _nested(case, setting, [0], error)
        case.drain(joint, ENOUGH)
        got = joint.asker.ends[:1]
        case.check(
            bool(got) and got[0] is error, setting, f"an inner source failed with {error!r}, and it ended: {got}"
        )
        told = outer.aborts
        case.check(told == [True], setting, f"an inner source failed, and the outer one was told {told}")
        outer, _, joint = _nested(case, setting, [0, 1, 2], True)
        joint.asker.ask()
        case.answered(joint, "B2", "asked once")
        outer.log.clear()
        joint.asker.abort()
        case.answered(joint, "F12", "aborted in the middle of an inner source")
        wanted = ["inner: abort", "inner: confirm", "outer: abort", "outer: confirm"]
        case.check(outer.log == wanted, setting, f"aborted inside: {outer.log}, and not {wanted}")


def _nested(
    case: ThroughCase, setting: Setting, values: list[int], end: End
) -> tuple[AnswerFeed, AnswerFeed, ProducerUnderTest]:
    assert case.subject.flattens is not None
    inner = case.feed(setting, values, end=end, name="inner")
    outer = case.feed(setting, [inner.read, inner.read], name="outer")
    inner.log = outer.log
    return outer, inner, case.wire(setting, outer, case.subject.flattens())
