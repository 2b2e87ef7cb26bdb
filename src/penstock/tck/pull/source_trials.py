"""source_trials: what holds for sources alone, those made of several inputs included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable
from penstock.tck.planned import PlannedFailure
from penstock.tck.pull.asker import Asker
from penstock.tck.pull.case import LINEAR, ProducerUnderTest, Setting, SourceCase, as_read, source_trials
from penstock.tck.pull.feed import AnswerFeed
from penstock.tck.pull.producer_trials import ENOUGH, agree, to_the_end
from penstock.tck.trial import Steps


class WatchedInput(Iterator[int]):
    """An input that counts how often it is read and closed, and fails where a trial wants it to."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self._count = count
        self._error = error
        self.reads = 0
        self.closes = 0

    def __next__(self) -> int:
        self.reads += 1
        if self.reads <= self._count:
            return self.reads - 1
        if self._error is not None:
            raise self._error
        raise StopIteration

    def close(self) -> None:
        """Count."""
        self.closes += 1


def _over(case: SourceCase, setting: Setting, items: WatchedInput) -> ProducerUnderTest:
    if case.subject.over is None:
        raise NotApplicable("no way was given to put it over an iterator")
    return ProducerUnderTest(setting, Asker(case.environment, as_read(case.subject.over(items))))


@source_trials.add("B5")
def nothing_is_produced_unasked(case: SourceCase) -> Steps:
    """Count what is taken from the iterator below it."""
    for setting in case.settings:
        items = WatchedInput(ENOUGH)
        joint = _over(case, setting, items)
        yield
        case.check(items.reads == 0, setting, f"nothing was asked for, and {items.reads} values were produced")
        case.drain(joint, setting.asks)
        yield
        produced, asked = items.reads, joint.asker.asks
        case.check(produced <= asked, setting, f"{asked} values were asked for, and {produced} were produced")


@source_trials.add("B11")
def cleans_up_once(case: SourceCase) -> Steps:
    """Count how often the iterator below it is closed, by an abort and by the end."""
    for setting in case.settings:
        items = WatchedInput(3)
        joint = _over(case, setting, items)
        case.drain(joint, 1)
        closed = items.closes
        case.check(not closed or bool(joint.asker.ends), setting, "it was closed before it had ended")
        for _ in range(2):
            joint.asker.abort()
            case.answered(joint, "A1", "aborted")
        joint.asker.ask()
        case.answered(joint, "A5", "asked after an abort")
        case.check(items.closes == 1, setting, f"it was aborted, and cleaned up {items.closes} times")
        items = WatchedInput(3)
        joint = _over(case, setting, items)
        case.drain(joint, ENOUGH)
        joint.asker.abort()
        case.answered(joint, "A6", "aborted after the end")
        case.check(items.closes <= 1, setting, f"it ended, and cleaned up {items.closes} times")
    yield


@source_trials.add("B12")
def asks_may_be_late(case: SourceCase) -> Steps:
    """Take a long time between two asks, and see everything as it was."""
    for setting in case.settings:
        whole = case.open(LINEAR)
        case.drain(whole, ENOUGH)
        if len(whole.asker.values) < 2:
            raise NotApplicable("it has not two values")
        joint = case.open(setting)
        joint.asker.ask()
        case.answered(joint, "B2", "asked once")
        yield
        came = len(joint.asker.replies)
        case.check(came == 1, setting, f"asked once, and {came} answers came in time")
        joint.asker.ask()
        case.answered(joint, "B12", "asked again, late")
        got = joint.asker.values
        case.check(agree(case, got, whole.asker.values[:2]), setting, f"asked again, late, and got {shown(got)}")


@source_trials.add("B15")
def two_share_nothing(case: SourceCase) -> None:
    """Read two in turns, and see both give everything."""
    for setting in case.settings:
        alone = case.open(LINEAR)
        case.drain(alone, ENOUGH)
        both = [case.open(setting), case.open(setting)]
        for _ in range(len(alone.asker.replies)):
            for joint in both:
                joint.asker.ask()
                case.answered(joint, "B2", "asked one of two")
        for joint in both:
            got, wanted = joint.asker.values, alone.asker.values
            shared = min(len(got), len(wanted))
            right = agree(case, got[:shared], wanted[:shared]) and len(got) >= min(len(wanted), joint.asker.asks)
            case.check(right, setting, f"one of two gave {shown(got)}, and alone it gives {shown(wanted)}")


@source_trials.add("F4")
def the_first_reason_stays(case: SourceCase) -> None:
    """Abort with an error what has ended well, and see it ended well."""
    for setting in case.settings:
        joint = to_the_end(case, setting)
        joint.asker.abort(PlannedFailure("too late"))
        case.answered(joint, "A6", "aborted with an error after the end")
        joint = case.open(setting)
        first = PlannedFailure("the first reason")
        joint.asker.abort(first)
        case.answered(joint, "F2", "aborted with an error")
        second = PlannedFailure("another reason")
        number = joint.asker.abort(second)
        case.answered(joint, "A5", "aborted with another error")
        reply = joint.asker.reply_to(number)
        case.check(reply is not None and reply.end is not second, setting, "a later error took the place of the first")


@source_trials.add("F10")
def what_fails_below_does_not_cross(case: SourceCase) -> None:
    """Have the iterator below it raise, at once and later, and see that answered."""
    for setting in case.settings:
        for after in (0, 2):
            error = PlannedFailure("planned to fail below")
            joint = _over(case, setting, WatchedInput(after, error))
            for _ in range(after + 1):
                joint.asker.ask()
                came = case.wait(lambda asker=joint.asker: asker.open <= 0)  # type: ignore[misc]
                case.check(came, setting, f"what is below it raised {error!r}, and an ask was not answered")
            end = next(iter(joint.asker.ends), None)
            case.check(end is error, setting, f"what is below it raised {error!r}, and it ended with {end!r}")


# Several inputs.


def _inputs(case: SourceCase, setting: Setting, *plans: dict[str, Any]) -> tuple[list[AnswerFeed], ProducerUnderTest]:
    if case.subject.combines is None:
        raise NotApplicable("it does not claim to combine several inputs")
    feeds = [
        case.feed(setting, plan.pop("values", range(3)), name=f"input {n}", **plan) for n, plan in enumerate(plans)
    ]
    made = as_read(case.subject.combines([feed.read for feed in feeds]))
    return feeds, ProducerUnderTest(setting, Asker(case.environment, made))


@source_trials.add("A13")
def abort_reaches_every_input(case: SourceCase) -> Steps:
    """Abort, and see every input aborted once and the answer after the last confirmation."""
    for setting in _UNDER_INPUTS:
        feeds, joint = _inputs(case, setting, {}, {}, {})
        case.drain(joint, 1)
        for feed in feeds:
            feed.hold_confirmation = True
        number = joint.asker.abort()
        case.settle()
        reached = [len(feed.aborts) for feed in feeds]
        case.check(reached == [1, 1, 1], setting, f"aborted, and its three inputs were aborted {reached} times")
        for feed in feeds[1:]:
            yield
            reply = joint.asker.reply_to(number)
            case.check(reply is None, setting, "it was confirmed before every input had confirmed it")
            feed.confirm()
            case.settle()
        feeds[0].confirm()
        case.answered(joint, "A13", "aborted, and every input confirmed it")


@source_trials.add("F6")
def failure_of_one_input_aborts_the_others(case: SourceCase) -> Steps:
    """Have the first input fail, and see the others aborted with its error before that is told."""
    for setting in _UNDER_INPUTS:
        error = PlannedFailure("planned to fail")
        feeds, joint = _inputs(case, setting, {"values": (), "end": error}, {}, {})
        feeds[0].blames = False
        for feed in feeds[1:]:
            feed.hold_confirmation = True
        joint.asker.ask()
        case.settle()
        reached = [feed.aborts for feed in feeds]
        right = reached[0] == [] and all(len(each) == 1 and each[0] is error for each in reached[1:])
        case.check(right, setting, f"one input failed, and aborts were sent: {reached}")
        yield
        case.check(not joint.asker.replies, setting, "it ended before the other inputs had confirmed their abort")
        for feed in feeds[1:]:
            feed.confirm()
        case.answered(joint, "F6", "one input failed")
        end = joint.asker.replies[0].end
        case.check(end is error, setting, f"one input failed with {error!r}, and it ended with {end!r}")


_UNDER_INPUTS = tuple(Setting(at_once, 1) for at_once in (True, False))
