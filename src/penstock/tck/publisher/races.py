"""races: trials of signals that overlap late or rarely, and of requests that race them (rules 1.3, 3.8).

What overlaps only now and then is seen only by a probe that waits for it. So the probe stays inside a signal that comes
on another thread than the one before: a publisher that does not wait for that signal to return then sends another one.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.tck.contract import belongs
from penstock.tck.environment import NotApplicable, OtherThread
from penstock.tck.probe import TrialProbe
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.trial import Steps

_PATIENCE = 10  # times quiet, for a thread that must get going
_HANDSHAKES = 8
_FEW = 20


@publisher_trials.add("1.3")
def signals_stay_serial(case: PublisherCase) -> Steps:
    """Stay inside signals all along a long run, the last included, and of a later subscriber: no other one begins."""
    publisher, count = case.some(case.environment.limits.elements)
    probe = case.subscribe(publisher)
    probe.on_next_hook = _Staying(case, count)
    probe.request(count)
    case.environment.comes(lambda: len(probe.elements) >= count or probe.ended or probe.overlapped)
    _were_serial(case)  # what overlaps may get lost, too
    case.elements(probe, count)
    case.complete(probe)
    if not case.subject.unicast:
        later, few = case.subscribe(publisher, rule="1.10"), min(count, _FEW)
        later.on_next_hook = _Staying(case, few)
        later.request(few)
        case.environment.comes(lambda: len(later.elements) >= few or later.ended or later.overlapped)
    yield
    _were_serial(case)


class _Staying:
    """A probe that stays inside a signal on another thread than the last, ever more rarely, and inside some others.

    In the middle more is asked for on another thread, as in the beginning of other trials. On a busy machine that
    thread may come to run late, so it is waited for again wherever the probe stays later.
    """

    def __init__(self, case: PublisherCase, count: int) -> None:
        self._environment = case.environment
        self._always = {count // 3, count - 1, count}
        self._middle = max(count // 2, 1)
        self._next = 1
        self._last = 0
        self._asking: OtherThread[None] | None = None

    def __call__(self, probe: TrialProbe, element: object) -> None:
        me, number = threading.get_ident(), len(probe.elements)
        moved, self._last = me != self._last, me
        if number == self._middle:
            self._asking = self._environment.elsewhere(lambda: probe.request(1))
        elif moved and number >= self._next:
            self._next = 2 * number
        elif number not in self._always or probe.signals[-1].inside:
            return
        asking = self._asking
        if asking is not None and asking.thread != me:
            self._environment.lingers(lambda: probe.overlapped or asking.done, times=_PATIENCE)
        self._environment.lingers(lambda: probe.overlapped)


@publisher_trials.add("1.3")
def refusal_waits_its_turn(case: PublisherCase) -> Steps:
    """Make a bad request on another thread while on_next runs: on_error comes once that has returned."""
    if not belongs("3.9", case.subject.dialect):
        raise NotApplicable("no request is refused by this text")
    environment = case.environment
    callers: list[Any] = []

    def refuse(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) == 2 and not probe.signals[-1].inside:
            asking = environment.elsewhere(lambda: probe.request(-1))
            callers.append(asking)
            environment.lingers(lambda: probe.overlapped or asking.done, times=_PATIENCE)
            environment.lingers(lambda: probe.overlapped)

    publisher, count = case.running(4)
    if count < 4:
        raise NotApplicable(f"it has no more than {count} elements")
    probe = case.subscribe(publisher, on_next=refuse)
    probe.request(2)
    case.elements(probe, 2)
    if any(signal.inside for signal in probe.signals if signal.kind == "next"):
        raise NotApplicable("it sends inside request, and requests must not overlap (rule 2.7)")
    environment.comes(lambda: all(asking.done for asking in callers), due=False)
    yield
    _were_serial(case)


def _were_serial(case: PublisherCase) -> None:
    for message in case.breaches("1.3"):
        raise AssertionError(message)


@publisher_trials.add("3.8")
def requests_race_emission(case: PublisherCase) -> Steps:
    """Ask on one thread while elements come on another: all that was asked for comes, and no more."""
    publisher, count = case.running(case.environment.limits.elements)
    probe = case.subscribe(publisher)
    probe.request(1)
    case.elements(probe, 1)
    if next(signal for signal in probe.signals if signal.kind == "next").inside:
        raise NotApplicable("it sends inside request, and requests must not overlap (rule 2.7)")
    if case.environment.settle is not None:
        raise NotApplicable("what runs on the caller's own scheduler has no thread to race with")
    _shake_hands(case, probe, count)
    with _hectic():
        storm = case.environment.elsewhere(lambda: _ask_one_by_one(probe, count))
        case.environment.comes(lambda: storm.done)
        case.environment.comes(lambda: len(probe.elements) >= probe.requested)
    yield
    got, wanted = len(probe.elements), probe.requested
    case.environment.check(
        got >= wanted, f"{wanted} elements were requested on one thread while others came on another, {got} came"
    )


def _shake_hands(case: PublisherCase, probe: TrialProbe, count: int) -> None:
    """Ask for one more each time that an on_next is sure to be running on another thread."""
    environment = case.environment
    begun, answered = 0, 0

    def wait_for_a_request(probe: TrialProbe, element: object) -> None:
        nonlocal begun
        begun += 1
        mine = begun
        environment.pulse()
        environment.lingers(lambda: answered >= mine, times=_PATIENCE)

    probe.on_next_hook = wait_for_a_request
    for turn in range(min(_HANDSHAKES, count // 2)):
        if len(probe.elements) >= probe.requested:
            probe.request(1)
        if not environment.comes(lambda turn=turn: begun > turn, due=False):  # type: ignore[misc]
            break
        probe.request(1)
        answered = turn + 1
        environment.pulse()
    probe.on_next_hook = None
    answered = count
    environment.pulse()
    environment.comes(lambda: len(probe.elements) >= probe.requested)


def _ask_one_by_one(probe: TrialProbe, count: int) -> None:
    for _ in range(count - probe.requested):
        probe.request(1)


@contextmanager
def _hectic() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
