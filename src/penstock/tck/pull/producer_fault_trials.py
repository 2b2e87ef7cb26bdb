"""producer_fault_trials: what holds for everything that is read where something fails, sources and throughs alike."""

from __future__ import annotations

from contextlib import suppress

from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable
from penstock.tck.planned import PlannedFailure
from penstock.tck.pull.asker import AnswerRaisedError, Asker, Reply
from penstock.tck.pull.case import Producer, ends_with
from penstock.tck.pull.producer_trials import ENOUGH, agree, at_any_time, end_what_waits, producer_trial
from penstock.tck.trial import Steps


@producer_trial("F1")
def a_failure_stays(case: Producer) -> None:
    """Go on after a failure, and see the same error again and again."""
    for setting in case.settings:
        joint = case.open(setting, fails=PlannedFailure("planned to fail"))
        case.drain(joint, ENOUGH)
        if joint.feed is not None and joint.feed.aborts:
            continue  # it stopped by itself before
        case.check(bool(joint.asker.ends), setting, "what was to fail did not end")
        end = joint.asker.ends[0]
        if end is True and joint.feed is not None:
            raise NotApplicable("upstream failed, and it ended well (property F7)")
        case.check(isinstance(end, Exception), setting, "what was to fail ended well")
        joint.asker.ask()
        case.answered(joint, "F1", "asked after a failure")
        joint.asker.abort()
        case.answered(joint, "F1", "aborted after a failure")
        joint.asker.abort(PlannedFailure("too late"))
        case.answered(joint, "F1", "aborted with an error after a failure")
        later = joint.asker.ends[-1]
        case.check(later is end, setting, f"it failed with {end!r}, and later with {later!r}")


@producer_trial("F2")
def an_error_aborts(case: Producer) -> None:
    """Abort with an error at every moment, which a through passes on."""
    for setting in case.settings:
        for moment, joint in at_any_time(case, setting):
            error, ended = PlannedFailure("planned to abort"), joint.asker.ends[:1]
            told = len(joint.feed.aborts) if joint.feed is not None else 0
            number = joint.asker.abort(error)
            case.answered(joint, "F11" if moment == "while asks wait" else "F2", f"aborted with an error {moment}")
            reply = joint.asker.reply_to(number)
            fits = reply is not None and ends_with(reply.end, True, error, *ended)
            case.check(fits, setting, f"an abort with {error!r} {moment} brought {shown(reply)}")
            aborts = joint.feed.aborts[told:] if joint.feed is not None else []
            passed = all(reason is error for reason in aborts)
            case.check(passed, setting, f"an abort with {error!r} {moment} was passed on as {aborts}")
            joint.asker.ask()
            blame = "B8" if moment == "after the end" else "F2"
            case.answered(joint, blame, f"asked after an abort with an error {moment}")


@producer_trial("F3")
def an_error_aborts_unanswered(case: Producer) -> None:
    """Abort with an error and without an answer function at every moment."""
    for setting in case.settings:
        for moment, joint in at_any_time(case, setting):
            joint.asker.indicate(PlannedFailure("planned to abort"))
            joint.asker.ask(2)
            blame = "B8" if moment == "after the end" else "F3"
            case.answered(joint, blame, f"asked after an error without an answer function, {moment}")


@producer_trial("F10")
def no_exception_crosses(case: Producer) -> None:
    """Raise in an answer function, and see the others answered and the values go on."""
    for setting in case.settings:
        plain = case.open(setting)
        case.drain(plain, ENOUGH)
        joint = case.open(setting, checked=False)
        joint.asker._on_answer = _raise_at_first
        asked = max(2, setting.asks)
        while joint.asker.asks < asked and not joint.asker.ends:
            with suppress(AnswerRaisedError):  # it may come back to who raised it
                joint.asker.ask(1 if setting.asks == 1 else asked)
            case.answered(joint, "F10", "asked while an answer function raised")
        got, wanted = joint.asker.by_request, plain.asker.by_request
        shared = min(len(got), len(wanted))
        right = agree(case, got[:shared], wanted[:shared])
        case.check(right, setting, f"after an answer function raised it gave {shown(got)}")


def _raise_at_first(asker: Asker, reply: Reply) -> None:
    if len(asker.replies) == 1:
        raise AnswerRaisedError("planned to raise in an answer function")


@producer_trial("F11")
def waiting_asks_end_before_an_error(case: Producer) -> Steps:
    """Abort with an error while asks wait, and see them ended, in order, before the abort is answered."""
    yield from end_what_waits(case, "F11", lambda: PlannedFailure("planned to abort"))
