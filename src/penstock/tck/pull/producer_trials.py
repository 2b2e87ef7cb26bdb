"""producer_trials: what holds for everything that is read, sources and throughs alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from penstock.spec.pull_interfaces import End
from penstock.spec.shown import shown
from penstock.tck.elements import alike
from penstock.tck.environment import NotApplicable
from penstock.tck.pull.asker import Asker, Reply, depth
from penstock.tck.pull.case import (
    FRAMES,
    MANY,
    Producer,
    ProducerUnderTest,
    Setting,
    ends_with,
    source_trials,
    through_trials,
)
from penstock.tck.trial import Steps

Body = Callable[[Any], "Steps | None"]
ENOUGH = 2 * MANY
_TIMES = (1, 2, 5)  # how many asks are made inside one answer function
_FEW = 3


def producer_trial(property_id: str) -> Callable[[Body], Body]:
    """Register a trial for sources and for throughs."""

    def register(body: Body) -> Body:
        source_trials.add(property_id)(body)
        return through_trials.add(property_id)(body)

    return register


def to_the_end(case: Producer, setting: Setting) -> ProducerUnderTest:
    """Read a fresh one to its end."""
    joint = case.open(setting)
    case.drain(joint, ENOUGH)
    if not joint.asker.ends:
        raise NotApplicable(f"it had not ended after {ENOUGH} asks")
    return joint


def agree(case: Producer, got: list[Any], wanted: list[Any]) -> bool:
    """Tell whether values are the ones that were wanted, or bow out if they differ whatever is done."""
    if alike(got, wanted):
        return True
    if case.differs():
        raise NotApplicable("its values differ from run to run")
    return False


def at_any_time(case: Producer, setting: Setting) -> Iterator[tuple[str, ProducerUnderTest]]:
    """Make one for each moment at which an abort may come."""
    yield "before anything else", case.open(setting)
    joint = case.open(setting)
    case.drain(joint, 1)
    yield "after a value", joint
    yield "while asks wait", case.open_waiting(setting)
    try:
        joint = to_the_end(case, setting)
    except NotApplicable:
        return  # it has no end
    yield "after the end", joint


# The base.


@producer_trial("B1")
def answers_only_what_was_asked(case: Producer) -> Steps:
    """Ask a little, and see that nothing comes which was not asked for."""
    joints = []
    for setting in case.settings:
        joint = case.open(setting)
        case.drain(joint, 2)
        joints.append(joint)
    yield
    for joint in joints:
        got, asked = len(joint.asker.replies), joint.asker.requests
        case.check(got <= asked, joint.setting, f"asked {asked} times, got {got} answers")


@producer_trial("B2")
def every_request_is_answered_once(case: Producer) -> Steps:
    """Ask to the end, one by one, and see each ask answered, and only once."""
    for setting in case.settings:
        joint = case.open(setting)
        case.drain(joint, ENOUGH)
    yield


@producer_trial("B3")
def answers_come_in_order(case: Producer) -> Steps:
    """Ask many times at once, and see the first ask answered first."""
    for setting in case.settings:
        joint = case.open(setting)
        case.drain(joint, ENOUGH)
    yield


@producer_trial("B4")
def asks_may_overlap(case: Producer) -> None:
    """Ask before answers have come, from inside answer functions, and abort meanwhile."""
    for setting in case.settings:
        joint = case.open(setting)
        joint.asker.ask(setting.asks)
        case.answered(joint, "B2" if setting.asks == 1 else "B4", "asked at once")
        for times in _TIMES:
            joint = case.open(setting)
            _ask_from_inside(case, joint, times, max(_FEW, times + 1))
        joint = case.open(setting)
        joint.asker.ask(3)
        joint.asker.abort()
        case.answered(joint, "B4", "asked three times and aborted")


def _ask_from_inside(case: Producer, joint: ProducerUnderTest, times: int, most: int) -> None:
    """Ask so many times from inside each answer function, until an end comes or so many asks were made."""

    def ask_again(asker: Asker, reply: Reply) -> None:
        for _ in range(times):
            if asker.asks < most and not asker.ends:
                asker.ask()

    joint.asker._on_answer = ask_again
    joint.asker.ask()
    case.answered(joint, "B4", f"asked {'again' if times == 1 else f'{times} times'} from inside each answer function")


@producer_trial("B6")
def each_ask_brings_one_value_or_the_end(case: Producer) -> Steps:
    """Count the asks that it takes to see the end."""
    joints = [to_the_end(case, setting) for setting in case.settings]
    yield
    for joint in joints:
        asker = joint.asker
        values, ends, asked = len(asker.values), len(asker.ends), asker.asks
        case.check(
            values + ends == asked,
            joint.setting,
            f"{asked} asks brought {values} values and {ends} ends",
        )


@producer_trial("B7")
def no_value_after_the_end(case: Producer) -> None:
    """Ask again after the end."""
    for setting in case.settings:
        joint = to_the_end(case, setting)
        joint.asker.ask(setting.asks)
        case.answered(joint, "B8", "asked after the end")
        joint.asker.ask(2)
        case.answered(joint, "B8", "asked once more after the end")


@producer_trial("B8")
def the_end_stays(case: Producer) -> None:
    """Ask again after the end, and see the same end, at once."""
    for setting in case.settings:
        joint = to_the_end(case, setting)
        for _ in range(3):
            joint.asker.ask()
            case.answered(joint, "B8", "asked after the end")


@producer_trial("B9")
def values_do_not_depend_on_asking(case: Producer) -> None:
    """Read all values one by one and many at a time, and compare."""
    reference: list[Any] | None = None
    for setting, inside in product(case.settings, (0, *_TIMES)):
        joint = case.open(setting)
        if inside:
            _ask_from_inside(case, joint, inside, len(reference or ()))
        else:
            case.drain(joint, ENOUGH)
        got = joint.asker.values
        if joint.expected is not None:
            reference = joint.expected
        if reference is None:
            reference = got
        shared = min(len(got), len(reference))
        found, wanted = got[:shared], reference[:shared]
        where = f", {inside} asked inside each answer function" if inside else ""
        case.check(agree(case, found, wanted), setting, f"gave {shown(found)}, and not {shown(wanted)}{where}")
        # What a through leaves out at a good end is for property F8.
        if joint.expected is None and joint.asker.ends:
            case.check(len(got) == len(reference), setting, f"gave {len(got)} values, and not {len(reference)}")


@producer_trial("B10")
def an_end_carries_no_value(case: Producer) -> None:
    """Read to the end, and abort what has not ended, and see that no value comes along with an end."""
    for setting in case.settings:
        to_the_end(case, setting)
        joint = case.open(setting)
        case.drain(joint, 1)
        joint.asker.abort()
        case.answered(joint, "A1", "aborted after a value")


@producer_trial("B13")
def stack_is_bounded(case: Any) -> None:
    """Ask for very many values in a loop, and look at the depth of the stack."""
    for setting in case.settings:
        if setting.asks > 1:
            continue
        joint = case.open_endless(setting)
        bound = depth() + FRAMES
        feeds = [joint.feed] if joint.feed is not None else []
        while joint.asker.asks < case.subject.deep and not joint.asker.ends:
            joint.asker.loop(case.subject.deep)
            case.answered(joint, "B2", f"asked {joint.asker.asks} times in a loop")
            seen = max([joint.asker.deepest, *(feed.deepest for feed in feeds)])
            case.check(seen <= bound, setting, f"after {joint.asker.asks} values the stack was {seen} frames deep")
        case.check(not any(isinstance(end, RecursionError) for end in joint.asker.ends), setting, "the stack ran out")


# Abortable.


@producer_trial("A1")
def abort_may_come_at_any_time(case: Producer) -> None:
    """Abort at every moment."""
    for setting in case.settings:
        for moment, joint in at_any_time(case, setting):
            joint.asker.abort()
            blame = {"while asks wait": "A4", "after the end": "A6"}.get(moment, "A1")
            case.answered(joint, blame, f"aborted {moment}")


@producer_trial("A2")
def abort_is_answered_with_an_end(case: Producer) -> None:
    """Abort, and see an end and no value."""
    for setting in case.settings:
        for moment, joint in at_any_time(case, setting):
            number = joint.asker.abort()
            blame = {"while asks wait": "A4", "after the end": "A6"}.get(moment, "A1")
            case.answered(joint, blame, f"aborted {moment}")
            reply = joint.asker.reply_to(number)
            case.check(reply is not None and reply.end is not None, setting, f"an abort {moment} brought no end")


@producer_trial("A3")
def abort_needs_no_answer_function(case: Producer) -> None:
    """Abort without an answer function, and see nothing raised and the stream ended."""
    for setting in case.settings:
        for moment, joint in at_any_time(case, setting):
            joint.asker.indicate()
            joint.asker.ask(2)
            blame = "B8" if moment == "after the end" else "A3"
            case.answered(joint, blame, f"asked after an abort without an answer function, {moment}")


@producer_trial("A4")
def waiting_asks_end_before_the_abort(case: Producer) -> Steps:
    """Abort while asks wait, and see them ended, in order, before the abort is answered."""
    yield from end_what_waits(case, "A4", lambda: True)


@producer_trial("A5")
def an_abort_stays(case: Producer) -> None:
    """Go on after an abort, and see nothing but ends."""
    for setting in case.settings:
        for first in (0, 1):
            joint = case.open(setting)
            case.drain(joint, first)
            joint.asker.abort()
            case.answered(joint, "A1", "aborted")
            joint.asker.ask(setting.asks)
            case.answered(joint, "A5", "asked after an abort")
            joint.asker.abort()
            case.answered(joint, "A5", "aborted again")
            joint.asker.indicate()
            joint.asker.ask()
            case.answered(joint, "A5", "asked after several aborts")


@producer_trial("A6")
def abort_after_the_end_changes_nothing(case: Producer) -> None:
    """Abort what has ended, and see the same end again."""
    for setting in case.settings:
        joint = to_the_end(case, setting)
        end = joint.asker.ends[0]
        number = joint.asker.abort()
        case.answered(joint, "A6", "aborted after the end")
        reply = joint.asker.reply_to(number)
        case.check(reply is not None and reply.end is end, setting, f"an abort after the end brought {shown(reply)}")
        joint.asker.indicate()
        joint.asker.ask()
        case.answered(joint, "B8", "asked after an abort after the end")


# Fault handling.


def end_what_waits(case: Producer, property_id: str, reason: Callable[[], End]) -> Steps:
    """Abort while asks wait, for a reason, and see them ended, in order, before the abort is answered."""
    waited = False
    for setting in case.settings:
        joint = case.open_waiting(setting)
        if not joint.asker.open:
            continue
        waited = True
        why = reason()
        already = len(joint.asker.replies)
        number = joint.asker.abort(why)
        if joint.feed is not None and not case.wait(lambda feed=joint.feed: bool(feed.aborts)):  # type: ignore[misc]
            raise NotApplicable("upstream was not aborted (property A7)")
        case.answered(joint, property_id, "aborted while asks wait")
        for reply in joint.asker.replies[already:]:
            fits = reply.end is not None and (reply.number == number or why is True or ends_with(reply.end, True, why))
            case.check(
                fits, setting, f"aborted with {why!r} while asks wait, and request {reply.number} got {shown(reply)}"
            )
        last = joint.asker.replies[-1].number
        case.check(last == number, setting, "the abort was answered before the asks that waited")
    yield
    if not waited:
        raise NotApplicable("it answers at once: no ask ever waits; `stuck` makes one that does")
