"""The kit fails every broken module of pull-stream, under the property it breaks and no other that it could help."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest

import penstock.tck.pull.sink
import penstock.tck.pull.source
import penstock.tck.pull.through  # noqa: F401 - they register the trials
from penstock.spec import PROPERTIES
from penstock.tck import Status, verify_pull_sink, verify_pull_source, verify_pull_through
from penstock.tck.outcome import Limits
from penstock.tck.pull.case import sink_trials, source_trials, through_trials
from tests.tck.pull import broken_pull as broken
from tests.tck.pull import broken_pull_sound as sound

LIMITS = Limits(elements=500, timeout=5, quiet=0.01)
SOURCE, THROUGH, SINK = "pull_source", "pull_through", "pull_sink"


class World:
    """Run what is due: the schedule of the supplies, and what some modules do when everything has come to rest."""

    def __init__(self):
        self.schedule = deque()

    def settle(self):
        broken.GivesUpOnTheSlow.rests += 1
        awake, broken.AsksBeforeItIsAsked.awake = broken.AsksBeforeItIsAsked.awake, []
        for begin in awake:
            begin()
        while self.schedule:
            self.schedule.popleft()()


def verify_source(kind, *, late=False, **options):
    """Verify a module that passes everything on, over a supply, as a source."""
    world = World()
    schedule = world.schedule if late else None

    def made(count, error=None):
        return kind(sound.Supply(count, schedule, error))

    if issubclass(kind, sound.Sound):
        options["stuck"] = lambda: kind(Never())
    else:
        options["over" if issubclass(kind, sound.Over) else "combines"] = kind
        made = sound_source
    return verify_pull_source(
        made,
        failing=lambda count: made(count, error=OSError("planned")),
        limits=LIMITS,
        settle=world.settle,
        subject=kind.__name__,
        **options,
    )


def sound_source(count, error=None):
    return sound.Sound(sound.Supply(count, None, error))


class Never(sound.Supply):
    """Have nothing yet, for ever."""

    def __init__(self):
        super().__init__(None)

    def next(self):
        """Wait."""


def fails_at_second(error):
    def fn(value):
        if value == 1:
            raise error
        return value

    return fn


def verify_through(kind, **options):
    """Verify a through of that kind, with what its ground claims."""
    world = World()
    factory = kind
    if kind is broken.CountsForAllWirings:
        factory = None
    elif issubclass(kind, sound.Take):
        options |= {"stopping": lambda count: lambda read: kind(read, count)}
        factory = lambda read: kind(read, 1000)  # noqa: E731
    elif issubclass(kind, sound.Map):
        options |= {"failing": lambda error: lambda read: kind(read, fails_at_second(error))}
        factory = lambda read: kind(read, lambda value: value)  # noqa: E731
    elif issubclass(kind, sound.Ahead):
        options |= {"eager": True}
    elif issubclass(kind, sound.Work):
        options |= {"working": lambda start: lambda read: kind(read, start)}
        factory = lambda read: kind(read, lambda value, finished: finished(None, value))  # noqa: E731
    elif issubclass(kind, sound.Hooked):
        options |= {"hooked": lambda hook: lambda read: kind(read, hook)}
        factory = lambda read: kind(read, lambda end: None)  # noqa: E731
    elif issubclass(kind, sound.Flatten):
        options |= {"flattens": lambda: kind}
        factory = Singles
    return verify_pull_through(
        kind if factory is None else lambda: factory,
        limits=LIMITS,
        settle=world.settle,
        subject=kind.__name__,
        **options,
    )


class Singles:
    """Make a source of each value, and flatten that."""

    kind = sound.Flatten

    def __new__(cls, read):
        def supply(value):
            def inner(abort, answer=None):
                nonlocal value
                given, value = value, None
                if answer is not None:
                    answer(True) if given is None or abort not in {None, False} else answer(None, given)

            return inner

        return cls.kind(sound.Map(read, supply))


def verify_sink(kind, **options):
    def stopping(done, count):
        seen = []

        def op(value):
            seen.append(value)
            return len(seen) < count

        return kind(op, done)

    def failing(done, error):
        return kind(fails_at_second(error), done)

    world = World()
    return verify_pull_sink(
        lambda done: kind(None, done),
        stopping=stopping,
        failing=failing,
        limits=LIMITS,
        settle=world.settle,
        subject=kind.__name__,
        **options,
    )


@dataclass(frozen=True)
class Broken:
    """One broken module, the property it breaks, the test that says so, and what it cannot help breaking with it."""

    kind: type
    property: str
    test: str
    also: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)

    def verify(self):
        verify = {SOURCE: verify_source, THROUGH: verify_through, SINK: verify_sink}[self.test.partition(".")[0]]
        return verify(self.kind, **self.options)


LATE = {"late": True}


def both(kind, property_id, test, *, also=(), late=True):
    """List a module that breaks a property as a source and as a through."""
    return [
        Broken(kind, property_id, f"{SOURCE}.{test}", also, LATE if late else {}),
        Broken(kind, property_id, f"{THROUGH}.{test}", also),
    ]


BROKEN = [
    *both(broken.Pushes, "B1", "answers_only_what_was_asked"),
    *both(broken.AnswersTwice, "B2", "every_request_is_answered_once"),
    # with several asks, what is never answered is overtaken
    Broken(broken.ForgetsTheFourth, "B2", "pull_source.every_request_is_answered_once", (), LATE),
    Broken(broken.ForgetsTheFourth, "B2", "pull_through.every_request_is_answered_once", ("B3", "B4")),
    *both(broken.AnswersTheSecondFirst, "B3", "answers_come_in_order"),
    # what has lost its place is overtaken by all that comes later, aborts included
    Broken(broken.HasOneSlot, "B4", "pull_source.asks_may_overlap", ("B3", "A3", "A4", "F3", "F11"), LATE),
    Broken(broken.HasOneSlot, "B4", "pull_through.asks_may_overlap", ("B3", "A3", "A4", "A7", "F3", "F11")),
    *both(broken.TurnsAwayWhoAsksInside, "B4", "asks_may_overlap"),
    *both(broken.AnswersWithNeither, "B6", "each_ask_brings_one_value_or_the_end"),
    *both(broken.DropsWhoAskedInsideBefore, "B4", "asks_may_overlap", also=("B3",)),
    Broken(broken.ReadsAhead, "B5", "pull_source.nothing_is_produced_unasked"),
    Broken(broken.AsksForOneMore, "B5", "pull_through.nothing_is_asked_unasked"),
    Broken(broken.AsksBeforeItIsAsked, "B5", "pull_through.nothing_is_asked_unasked"),
    *both(broken.TellsTheEndWithTheLast, "B6", "each_ask_brings_one_value_or_the_end"),
    *both(broken.StartsAnew, "B7", "no_value_after_the_end"),
    Broken(broken.AnswersAsksAfterTheEndNoMore, "B8", "pull_source.the_end_stays", (), LATE),
    # of many asks most come after the end
    Broken(broken.AnswersAsksAfterTheEndNoMore, "B8", "pull_through.the_end_stays", ("B4",)),
    *both(broken.ChangesItsEnd, "B8", "the_end_stays"),
    *both(broken.ChangesValuesWhenManyWait, "B9", "values_do_not_depend_on_asking"),
    *both(broken.SkipsAValueForWhoAsksInside, "B9", "values_do_not_depend_on_asking"),
    *both(broken.SkipsAValueWhereManyAskInside, "B9", "values_do_not_depend_on_asking"),
    *both(broken.EndsWithAValue, "B10", "an_end_carries_no_value"),
    Broken(broken.TakesTheValueOfAnEnd, "B10", "pull_through.an_end_of_upstream_carries_no_value"),
    Broken(broken.ClosesTwice, "B11", "pull_source.cleans_up_once"),
    Broken(broken.NeverCloses, "B11", "pull_source.cleans_up_once"),
    Broken(broken.GivesUpOnTheSlow, "B12", "pull_source.asks_may_be_late"),
    Broken(broken.ExpectsWhatItKnows, "B12", "pull_through.answers_may_be_late"),
    *both(broken.PilesUp, "B13", "stack_is_bounded", late=False),
    Broken(broken.AsksWhenWired, "B14", "pull_through.wiring_requests_nothing"),
    Broken(broken.SharesWithTheOneBefore, "B15", "pull_source.two_share_nothing"),
    Broken(broken.CountsForAllWirings, "B15", "pull_through.two_wirings_share_nothing"),
    *both(broken.ForgetsAFirstAbort, "A1", "abort_may_come_at_any_time"),
    *both(broken.AnswersAnAbortWithAValue, "A2", "abort_is_answered_with_an_end"),
    *both(broken.CallsAnAnswerThatIsNotThere, "A3", "abort_needs_no_answer_function", late=False),
    *both(broken.IgnoresAnAbortWithoutAnswer, "A3", "abort_needs_no_answer_function"),
    *both(broken.AnswersAnAbortFirst, "A4", "waiting_asks_end_before_the_abort"),
    *both(broken.GivesWaitingAsksAValue, "A4", "waiting_asks_end_before_the_abort"),
    *both(broken.ForgetsTheAbort, "A5", "an_abort_stays"),
    *both(broken.IgnoresAbortsAfterTheEnd, "A6", "abort_after_the_end_changes_nothing"),
    Broken(broken.PassesEveryAbortOn, "A7", "pull_through.abort_goes_up_once"),
    # whoever does not wait for the confirmation does not see what it says
    Broken(broken.ConfirmsByItself, "A7", "pull_through.abort_goes_up_once", ("F4",)),
    Broken(broken.WaitsForItsAsk, "A7", "pull_through.abort_goes_up_once"),
    Broken(broken.StopsWithoutAbort, "A8", "pull_through.stopping_aborts_upstream"),
    Broken(broken.StopsBeforeItIsConfirmed, "A8", "pull_through.stopping_aborts_upstream"),
    Broken(broken.AsksAfterTheEnd, "A9", "pull_through.no_ask_after_the_end"),
    Broken(broken.DeliversWhatItHolds, "A10", "pull_through.abort_drops_what_is_held", also=("A5",)),
    Broken(broken.WaitsForItsWork, "A11", "pull_through.work_does_not_hold_up_an_abort"),
    Broken(broken.TellsTwice, "A12", "pull_through.hook_is_told_once"),
    Broken(broken.TellsNobodyOfAnAbort, "A12", "pull_through.hook_is_told_once"),
    Broken(broken.LeavesTheLastOpen, "A13", "pull_source.abort_reaches_every_input"),
    Broken(broken.ConfirmsWithTheFirst, "A13", "pull_source.abort_reaches_every_input"),
    *both(broken.ForgetsTheError, "F1", "a_failure_stays"),
    *both(broken.ForgetsTheErrorItConfirmed, "F1", "a_failure_stays"),
    Broken(broken.AnswersWithAnotherError, "F2", "pull_source.an_error_aborts", (), LATE),
    # nor is another error the first reason
    Broken(broken.AnswersWithAnotherError, "F2", "pull_through.an_error_aborts", ("F4",)),
    Broken(broken.AbortsWithoutTheReason, "F2", "pull_through.an_error_aborts"),
    *both(broken.IgnoresAnErrorWithoutAnswer, "F3", "an_error_aborts_unanswered"),
    *both(broken.TakesTheLaterError, "F4", "the_first_reason_stays"),
    Broken(broken.HidesAFailedClose, "F4", "pull_through.the_first_reason_stays"),
    Broken(broken.FailsWithoutAbort, "F5", "pull_through.own_failure_aborts_upstream"),
    Broken(broken.FailsBeforeItIsConfirmed, "F5", "pull_through.own_failure_aborts_upstream"),
    Broken(broken.WrapsErrors, "F6", "pull_through.failure_is_passed_on"),
    Broken(broken.AbortsTheInputThatFailed, "F6", "pull_source.failure_of_one_input_aborts_the_others"),
    Broken(broken.LeavesTheOthersAlone, "F6", "pull_source.failure_of_one_input_aborts_the_others"),
    Broken(broken.SwallowsErrors, "F7", "pull_through.recovers_only_if_it_says_so"),
    Broken(broken.DropsTheLast, "F8", "pull_through.a_good_end_comes_after_what_is_held"),
    *both(broken.StopsWhereAnAnswerRaised, "F10", "no_exception_crosses"),
    Broken(broken.LetsItsIteratorRaise, "F10", "pull_source.what_fails_below_does_not_cross"),
    Broken(broken.LetsItRaise, "F10", "pull_through.own_exception_does_not_cross"),
    *both(broken.AnswersAnErrorFirst, "F11", "waiting_asks_end_before_an_error"),
    *both(broken.GivesWaitingAsksAValueOnError, "F11", "waiting_asks_end_before_an_error"),
    Broken(broken.AbortsTheOuterWithTheError, "F12", "pull_through.inner_and_outer_are_closed_in_order"),
    Broken(broken.ClosesTheOuterFirst, "F12", "pull_through.inner_and_outer_are_closed_in_order"),
    Broken(broken.CountsTheValueOfAnEnd, "B10", "pull_sink.an_end_carries_no_value"),
    Broken(broken.LosesWhatComesLate, "B12", "pull_sink.answers_may_be_late"),
    Broken(broken.AsksFromInside, "B13", "pull_sink.stack_is_bounded"),
    Broken(broken.ReadsTwo, "B15", "pull_sink.two_wirings_share_nothing"),
    Broken(broken.AbortsTwice, "A7", "pull_sink.aborts_once"),
    Broken(broken.AbortsWhatHasEnded, "A7", "pull_sink.aborts_once"),
    Broken(broken.AsksOnceMore, "A9", "pull_sink.no_ask_after_the_end"),
    Broken(broken.TellsTheEndTwice, "F9", "pull_sink.end_is_told_once"),
    Broken(broken.TellsNoEndOfNothing, "F9", "pull_sink.end_is_told_once"),
    Broken(broken.KeepsErrorsToItself, "F9", "pull_sink.end_is_told_once"),
    Broken(broken.ReportsItsStop, "F9", "pull_sink.own_stop_is_a_good_end"),
    Broken(broken.LeavesWithoutAbort, "F9", "pull_sink.own_stop_is_a_good_end"),
    Broken(broken.AsksOnAndOn, "F9", "pull_sink.own_stop_is_a_good_end"),
    Broken(broken.KeepsItsFailureToItself, "F9", "pull_sink.own_failure_is_told"),
    Broken(broken.LetsItsFunctionRaise, "F10", "pull_sink.no_exception_crosses"),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: f"{case.property} {case.kind.__name__} {case.test}")
def test_fails_the_property_that_is_broken(case):
    report = case.verify()
    outcome = report.outcome(case.test)
    assert (outcome.rule, outcome.status) == (case.property, Status.FAILED), outcome
    assert outcome.detail
    assert outcome.hint
    assert {failed.rule for failed in report.failed} == {case.property, *case.also}, report.failed


def test_every_trial_is_failed_by_a_broken_module():
    trials = [*source_trials.members, *through_trials.members, *sink_trials.members]
    assert {trial.name for trial in trials} == {case.test for case in BROKEN}


def test_every_property_is_broken_by_some_module():
    assert {case.property for case in BROKEN} == {each.id for each in PROPERTIES}


SOUND = [
    *(pytest.param(verify_source, kind, {"late": late}) for kind in (sound.Sound,) for late in (False, True)),
    pytest.param(verify_source, sound.Over, {}),
    pytest.param(verify_source, sound.Cat, {}),
    *(
        pytest.param(verify_through, kind, {})
        for kind in (sound.Sound, sound.Take, sound.Map, sound.Ahead, sound.Work, sound.Hooked, sound.Flatten)
    ),
    pytest.param(verify_sink, sound.Drain, {}),
]


@pytest.mark.parametrize(("verify", "kind", "options"), SOUND)
def test_passes_the_sound_ones_that_the_broken_ones_are_made_of(verify, kind, options):
    report = verify(kind, **options)
    assert report.ok, report.failed
