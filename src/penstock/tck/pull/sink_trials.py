"""sink_trials: what holds for sinks: how they ask, how they stop, and what they tell."""

from __future__ import annotations

from itertools import product
from typing import Any

from penstock.tck.environment import NotApplicable
from penstock.tck.planned import PlannedFailure
from penstock.tck.pull.asker import depth
from penstock.tck.pull.case import FRAMES, LENGTH, SinkCase, Told, sink_trials
from penstock.tck.pull.feed import AnswerFeed
from penstock.tck.pull.producer_trials import ENOUGH
from penstock.tck.trial import Steps


def _ended(case: SinkCase, feed: AnswerFeed, told: Told) -> None:
    """Wait until the sink has told its end, or aborted; property F9 is to blame if it has not."""
    if not case.wait(lambda: bool(told.calls)):
        message = f"{feed.name} has ended or was aborted, and the end was not told"
        case.environment.breach("F9", message)
        raise NotApplicable(f"{message} (property F9)")


@sink_trials.add("B10")
def an_end_carries_no_value(case: SinkCase) -> None:
    """Pass a value along with the end, and see the same result as without."""
    for setting in case.settings:
        results = []
        for extra in (None, LENGTH):
            feed = case.feed(setting, list(range(3)), end_value=extra)
            told = case.run(feed)
            _ended(case, feed, told)
            results.append(told.calls[0])
        case.check(
            results[0] == results[1], setting, f"an end carried a value: told {results[1]}, and not {results[0]}"
        )


@sink_trials.add("B12")
def answers_may_be_late(case: SinkCase) -> None:
    """Answer at once now and later the next time, and see the same result."""
    for setting in case.settings:
        feed = case.feed(setting, list(range(LENGTH)))
        told = case.run(feed)
        _ended(case, feed, told)
        for late in (2, 3):
            other = case.feed(setting, list(range(LENGTH)), at_once=lambda number, late=late: number % late == 0)
            result = case.run(other)
            came = case.wait(lambda result=result: bool(result.calls))  # type: ignore[misc]
            case.check(came, setting, "upstream answered now and then late: the end was not told")
            same = result.calls[0] == told.calls[0]
            case.check(same, setting, f"upstream answered now and then late: told {result.calls}, and not {told.calls}")


@sink_trials.add("B13")
def stack_is_bounded(case: SinkCase) -> None:
    """Answer very many asks at once, and look at the depth of the stack."""
    for setting in case.settings:
        feed = case.feed(setting, list(range(case.subject.deep)))
        bound = depth() + FRAMES
        told = case.run(feed)
        seen = feed.deepest
        case.check(seen <= bound, setting, f"after {feed.given} values the stack was {seen} frames deep")
        _ended(case, feed, told)


@sink_trials.add("B15")
def two_wirings_share_nothing(case: SinkCase) -> None:
    """Have one sink read two sources, and see it refuse, or tell both ends."""
    for setting in case.settings:
        told = Told(case.environment)
        sink = case.subject.factory(told)
        first, second = case.feed(setting, list(range(3))), case.feed(setting, list(range(3)))
        sink(first.read)
        try:
            sink(second.read)
        except Exception:
            case.settle()
            continue  # it is wired once, and says so
        case.settle()
        both = case.wait(lambda told=told: len(told.calls) >= 2)  # type: ignore[misc]
        case.check(both, setting, f"it read two sources to the end, and told {told.calls}")
        case.check(told.calls[0] == told.calls[1], setting, f"two sources of the same values: told {told.calls}")


@sink_trials.add("A7")
def aborts_once(case: SinkCase) -> Steps:
    """See one that stops by itself abort once, and one that has come to the end not at all."""
    for setting in case.settings:
        feed = case.feed(setting, list(range(3)))
        told = case.run(feed)
        _ended(case, feed, told)
        yield
        case.check(len(feed.aborts) <= 1, setting, f"upstream had ended, and was aborted {len(feed.aborts)} times")
        if case.subject.stopping is not None:
            feed = _stopped_well(case, setting)
            yield
            case.check(len(feed.aborts) == 1, setting, f"it stopped by itself, and aborted {len(feed.aborts)} times")


@sink_trials.add("A9")
def no_ask_after_the_end(case: SinkCase) -> Steps:
    """See nothing asked after the end, after a failure, and after it has stopped."""
    for setting in case.settings:
        for end in (True, PlannedFailure("planned to fail upstream")):
            feed = case.feed(setting, list(range(3)), end=end)
            _ended(case, feed, case.run(feed))
        if case.subject.stopping is not None:
            _stopped_well(case, setting)
    yield


@sink_trials.add("F9")
def end_is_told_once(case: SinkCase) -> Steps:
    """See a good end and a failure told, each once, after values and without any."""
    for setting in case.settings:
        for end, count in product((True, PlannedFailure("planned to fail upstream")), (0, 3)):
            feed = case.feed(setting, list(range(count)), end=end)
            told = case.run(feed)
            _ended(case, feed, told)
            yield
            if feed.aborts:
                continue  # it stopped by itself before
            wanted = None if end is True else end
            right = len(told.calls) == 1 and told.calls[0][0] is wanted
            case.check(
                right, setting, f"upstream ended with {end!r}, and was told as {[call[0] for call in told.calls]}"
            )


@sink_trials.add("F9")
def own_stop_is_a_good_end(case: SinkCase) -> Steps:
    """See one that stops by itself tell a good end, when that is confirmed."""
    if case.subject.stopping is None:
        raise NotApplicable("it does not claim to stop by itself")
    for setting in case.settings:
        _, told = _stopped(case, setting)
        yield
        right = len(told.calls) == 1 and told.calls[0][0] is None
        case.check(right, setting, f"it stopped by itself, and told {[call[0] for call in told.calls]}")


def _stopped_well(case: SinkCase, setting: Any) -> AnswerFeed:
    """Have it stop by itself, which this trial takes for granted."""
    try:
        return _stopped(case, setting)[0]
    except AssertionError as failure:
        raise NotApplicable(f"{failure} (property F9)") from failure


def _stopped(case: SinkCase, setting: Any) -> tuple[AnswerFeed, Told]:
    stopping = case.subject.stopping
    assert stopping is not None
    feed = case.feed(setting, list(range(ENOUGH)))  # one that does not stop must come to an end all the same
    feed.hold_confirmation = True
    told = Told(case.environment)
    stopping(told, 2)(feed.read)
    aborted = case.wait(lambda: bool(feed.aborts) or feed.given > LENGTH or bool(told.calls))
    case.check(aborted and feed.aborts[:1] == [True], setting, f"it was to stop after 2 values: aborts {feed.aborts}")
    case.check(not told.calls, setting, "it told its end before upstream had confirmed the abort")
    feed.confirm()
    case.settle()
    _ended(case, feed, told)
    return feed, told


@sink_trials.add("F9")
def own_failure_is_told(case: SinkCase) -> Steps:
    """See one whose function fails abort with that, and tell it."""
    if case.subject.failing is None:
        raise NotApplicable("no way was given to make one whose function fails")
    for setting in case.settings:
        feed, told, error = _failed(case, setting)
        right = bool(feed.aborts) and feed.aborts[0] is error
        case.check(right, setting, f"its function raised, and aborts were sent upstream: {feed.aborts}")
        _ended(case, feed, told)
        yield
        right = len(told.calls) == 1 and told.calls[0][0] is error
        case.check(right, setting, f"its function raised {error!r}, and was told as {[call[0] for call in told.calls]}")


@sink_trials.add("F10")
def no_exception_crosses(case: SinkCase) -> None:
    """Have its function raise, and see that its answer function does not."""
    if case.subject.failing is None:
        raise NotApplicable("no way was given to make one whose function fails")
    for setting in case.settings:
        feed, _, _ = _failed(case, setting)
        case.check(not feed.raised, setting, f"an answer function raised {feed.raised}")


def _failed(case: SinkCase, setting: Any) -> tuple[AnswerFeed, Told, Exception]:
    failing = case.subject.failing
    assert failing is not None
    error = PlannedFailure("planned to fail")
    feed = case.feed(setting, list(range(LENGTH)))
    told = Told(case.environment)
    failing(told, error)(feed.read)
    case.settle()
    case.wait(lambda: bool(told.calls))
    return feed, told, error
