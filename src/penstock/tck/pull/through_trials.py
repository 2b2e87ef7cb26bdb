"""through_trials: what holds for throughs alone: how they treat the module above them, and what they claim."""

from __future__ import annotations

from typing import Any

from penstock.spec.pull_interfaces import End
from penstock.tck.environment import NotApplicable
from penstock.tck.planned import PlannedFailure
from penstock.tck.pull.case import (
    LENGTH,
    LINEAR,
    Setting,
    ThroughCase,
    ends_with,
    feed_of,
    through_trials,
)
from penstock.tck.pull.producer_trials import ENOUGH, to_the_end
from penstock.tck.trial import Steps

# The base.


@through_trials.add("B5")
def nothing_is_asked_unasked(case: ThroughCase) -> Steps:
    """See upstream asked only while an ask from downstream waits."""
    unasked: list[Setting] = []
    for setting in case.settings:
        joint = case.open(setting)
        feed, asker = feed_of(joint), joint.asker
        wired = feed.asked
        yield
        case.check(feed.asked == wired, setting, "upstream was asked before the reader had asked")

        def look(asker: Any = asker, setting: Setting = setting) -> None:
            if not asker.open:
                unasked.append(setting)

        feed.on_ask = look
        case.drain(joint, setting.asks)
        case.settle()
        yield
        if not case.subject.eager:
            case.check(not unasked, setting, "upstream was asked while no request waited")


@through_trials.add("B12")
def answers_may_be_late(case: ThroughCase) -> None:
    """Answer at once now and later the next time, and see the same values."""
    for setting in case.settings:
        plain = case.open(setting)
        case.drain(plain, ENOUGH)
        for late in (2, 3):
            feed = case.feed(setting, list(range(LENGTH)), at_once=lambda number, late=late: number % late == 0)
            joint = case.wire(setting, feed)
            case.drain(joint, ENOUGH)
            got, wanted = joint.asker.values, plain.asker.values
            shared = min(len(got), len(wanted)) if setting.asks == 1 else 0  # with several asks it is for property B9
            case.check(got[:shared] == wanted[:shared], setting, f"upstream answered now and then late: gave {got}")
            case.check(bool(joint.asker.ends), setting, "upstream answered now and then late: no end came")


@through_trials.add("B10")
def an_end_of_upstream_carries_no_value(case: ThroughCase) -> None:
    """Have upstream pass a value along with its end, and see it ignored."""
    for setting in case.settings:
        feed = case.feed(setting, list(range(LENGTH)), end_value=LENGTH)
        joint = case.wire(setting, feed)
        case.drain(joint, ENOUGH)
        got, wanted = joint.asker.values, case.subject.expects(list(range(LENGTH)))
        case.check(len(got) <= len(wanted), setting, f"upstream's end carried a value: gave {got}, and not {wanted}")


@through_trials.add("B14")
def wiring_requests_nothing(case: ThroughCase) -> None:
    """See no request made when it is given its upstream."""
    for setting in case.settings:
        joint = case.open(setting)
        log = list(feed_of(joint).log)
        case.check(not log, setting, f"it was wired, and made requests: {log}")


@through_trials.add("B15")
def two_wirings_share_nothing(case: ThroughCase) -> None:
    """Wire one through twice, and see it refuse, or both run as if alone."""
    for setting in case.settings:
        values = list(range(LENGTH))
        alone = case.open(LINEAR)
        case.drain(alone, ENOUGH)
        through = case.subject.factory()
        first = case.wire(setting, case.feed(setting, values), through)
        try:
            second = case.wire(setting, case.feed(setting, values), through)
        except Exception:
            continue  # it is wired once, and says so
        for _ in range(2 * LENGTH):
            for joint in (first, second):
                if not joint.asker.ends:
                    joint.asker.ask()
                    case.answered(joint, "B2", "asked one of two wirings")
        wanted = alone.asker.values
        for joint in (first, second):
            got = joint.asker.values
            case.check(
                got == wanted[: len(got)], setting, f"one of two wirings gave {got}, and alone it gives {wanted}"
            )
            enough = len(got) == len(wanted) or not joint.asker.ends
            case.check(enough, setting, f"one of two wirings gave {got}, and alone it gives {wanted}")


# Abortable.


@through_trials.add("A7")
def abort_goes_up_once(case: ThroughCase) -> Steps:
    """Abort while asks wait, and see it passed on at once, once, and answered when it is confirmed."""
    for setting in case.settings:
        for answered in (True, False):
            joint = case.open_waiting(setting)
            feed = feed_of(joint)
            feed.hold_confirmation = True
            if not feed.asked and not joint.asker.open:
                continue  # it lets nothing through at all
            number = 0
            if answered:
                number = joint.asker.abort()
            else:
                joint.asker.indicate()
            passed = case.wait(lambda feed=feed: bool(feed.aborts))  # type: ignore[misc]
            case.check(passed, setting, "aborted while asks wait, and upstream was not aborted")
            yield
            early = answered and joint.asker.reply_to(number) is not None
            case.check(not early, setting, "an abort was answered before upstream had confirmed it")
            joint.asker.abort()
            joint.asker.ask()
            feed.confirm()
            case.answered(joint, "A7" if answered else "A3", "upstream confirmed the abort")
            joint.asker.abort()
            case.answered(joint, "A5", "aborted again")
            case.check(len(feed.aborts) == 1, setting, f"upstream was aborted {len(feed.aborts)} times")


@through_trials.add("A8")
def stopping_aborts_upstream(case: ThroughCase) -> Steps:
    """Ask one that stops by itself for more, and see upstream aborted before the end is told."""
    if case.subject.stopping is None:
        raise NotApplicable("it does not claim to stop by itself")
    for setting in case.settings:
        feed = case.feed(setting, None)
        joint = case.wire(setting, feed, case.subject.stopping(2))
        feed.hold_confirmation = True
        joint.asker.ask(3)
        stopped = case.wait(lambda feed=feed: bool(feed.aborts))  # type: ignore[misc]
        got = joint.asker.values
        case.check(stopped, setting, f"it was to stop after 2 values, gave {got} and did not abort upstream")
        case.check(feed.aborts == [True], setting, f"it stopped by itself, and aborted upstream with {feed.aborts}")
        yield
        case.check(not joint.asker.ends, setting, "it ended before upstream had confirmed the abort")
        feed.confirm()
        case.answered(joint, "A8", "upstream confirmed that it stops")
        case.check(ends_with(joint.asker.ends[0], True), setting, f"it stopped, and ended with {joint.asker.ends[0]!r}")


@through_trials.add("A9")
def no_ask_after_the_end(case: ThroughCase) -> None:
    """Go on asking after the end and after an abort, and see upstream left alone."""
    for setting in case.settings:
        joint = to_the_end(case, setting)
        joint.asker.ask(setting.asks)
        case.answered(joint, "B8", "asked after the end")
        joint = case.open(setting)
        case.drain(joint, 1)
        joint.asker.abort()
        case.answered(joint, "A1", "aborted after a value")
        joint.asker.ask(setting.asks)
        case.answered(joint, "A5", "asked after an abort")
        case.settle()


@through_trials.add("A10")
def abort_drops_what_is_held(case: ThroughCase) -> None:
    """Abort after a value, and see none of what upstream has given before delivered afterwards."""
    for setting in case.settings:
        joint = case.open(setting, checked=False)
        feed = feed_of(joint)
        joint.asker.ask()
        case.answered(joint, "B2", "asked once")
        held, asked = feed.given > len(joint.asker.values), feed.asked
        number = joint.asker.abort()
        case.answered(joint, "A1", "aborted after a value")
        joint.asker.ask(3)
        case.answered(joint, "A5", "asked after an abort")
        late = [reply.value for reply in joint.asker.replies if reply.number > number and reply.end is None]
        # What it did not hold, or asked for anew, is another matter (properties A5 and A9).
        case.check(
            not (late and held and feed.asked == asked), setting, f"aborted, and {late} was delivered, which it held"
        )


@through_trials.add("A11")
def work_does_not_hold_up_an_abort(case: ThroughCase) -> Steps:
    """Abort while work on a value is under way, and see upstream aborted at once and both requests ended."""
    if case.subject.working is None:
        raise NotApplicable("it does not claim to do work itself")
    for setting in case.settings:
        jobs: list[Any] = []
        feed = case.feed(setting, None)
        joint = case.wire(setting, feed, case.subject.working(lambda value, finished, jobs=jobs: jobs.append(finished)))
        joint.asker.ask()
        if not case.wait(lambda jobs=jobs: bool(jobs)):  # type: ignore[misc]
            raise NotApplicable("it did not begin to work on a value")
        number = joint.asker.abort()
        passed = case.wait(lambda feed=feed: bool(feed.aborts))  # type: ignore[misc]
        case.check(passed, setting, "aborted while work was under way, and upstream was not aborted")
        yield
        for finished in jobs:
            finished(None, "too late")
        case.answered(joint, "A11", "the work under way was finished after the abort")
        ends = [reply for reply in joint.asker.replies if reply.end is not None]
        case.check(
            len(ends) == 2 and ends[-1].number == number, setting, f"after an abort it gave {joint.asker.replies}"
        )


@through_trials.add("A12")
def hook_is_told_once(case: ThroughCase) -> None:
    """End it in every way there is, and see its hook told once, and of the right end."""
    if case.subject.hooked is None:
        raise NotApplicable("it does not claim to tell a function of the end")
    for setting in case.settings:
        reason = PlannedFailure("planned to abort")
        ways: tuple[tuple[str, End, End | None, Exception | None], ...] = (
            ("the end", True, None, None),
            ("a failure", reason, None, reason),
            ("an abort", True, True, None),
            ("an error", True, reason, reason),
        )
        for way, end, abort, wanted in ways:
            told: list[Exception | None] = []
            joint = case.wire(setting, case.feed(setting, [0, 1, 2], end=end), case.subject.hooked(told.append))
            case.drain(joint, ENOUGH if abort is None else 1)
            joint.asker.abort(True if abort is None else abort)
            case.answered(joint, "A1", f"aborted, in trying {way}")
            joint.asker.abort()
            case.answered(joint, "A5", "aborted again")
            right = len(told) == 1 and told[0] is wanted
            case.check(right, setting, f"{way} was to be told as [{wanted!r}], and was told as {told}")
