"""publisher_races: trials of signals that overlap late or rarely, and of requests that race them (rules 1.3, 3.8).

What overlaps only now and then is seen only by one who waits for it. So a probe stays inside a signal that comes on
another thread than the one before: whoever sends without waiting for that signal to return comes meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.tck.contract import belongs
from penstock.tck.environment import NotApplicable
from penstock.tck.probe import Probe
from penstock.tck.publisher_case import PublisherCase
from penstock.tck.publisher_trials import publisher_trials
from penstock.tck.trial import Steps

_PATIENCE = 10  # times quiet, for a thread that must get going
_HANDSHAKES = 8


@publisher_trials.add("1.3")
def signals_stay_serial(case: PublisherCase) -> Steps:
    """Stay inside signals all along a long run, and inside the last on_next: no other signal begins meanwhile."""
    publisher, count = case.some(case.environment.limits.elements)
    probe = case.subscribe(publisher)
    probe.on_next_hook = _Staying(case, count)
    probe.request(count)
    case.elements(probe, count)
    case.complete(probe)
    yield
    _were_serial(case)


class _Staying:
    """Stay inside a signal that comes on another thread than the last, ever more rarely, and inside some others."""

    def __init__(self, case: PublisherCase, count: int) -> None:
        self._environment = case.environment
        self._always = {count // 3, count // 2, count - 1, count}
        self._next = 1
        self._last = 0

    def __call__(self, probe: Probe, element: object) -> None:
        me, number = threading.get_ident(), len(probe.elements)
        moved, self._last = me != self._last, me
        if moved and number >= self._next:
            self._next = 2 * number
        elif number not in self._always or probe.signals[-1].inside:
            return
        self._environment.lingers(lambda: probe.overlapped)


@publisher_trials.add("1.3")
def refusal_waits_its_turn(case: PublisherCase) -> Steps:
    """Make a bad request on another thread while on_next runs: on_error comes once that has returned."""
    if not belongs("3.9", case.subject.dialect):
        raise NotApplicable("no request is refused by this text")
    environment = case.environment
    callers: list[Any] = []

    def refuse(probe: Probe, element: object) -> None:
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


def _shake_hands(case: PublisherCase, probe: Probe, count: int) -> None:
    """Ask for two more each time that an on_next is sure to be running on another thread."""
    environment = case.environment
    inside, made = threading.Semaphore(0), threading.Semaphore(0)
    rounds = range(min(_HANDSHAKES, (count - 2) // 2))

    def wait_for_a_request(probe: Probe, element: object) -> None:
        inside.release()
        made.acquire(timeout=_PATIENCE * environment.limits.quiet)

    probe.on_next_hook = wait_for_a_request
    for _ in rounds:
        probe.request(1) if len(probe.elements) >= probe.requested else None
        if not inside.acquire(timeout=environment.limits.timeout):
            break
        probe.request(1)
        made.release()
    probe.on_next_hook = None
    for _ in rounds:
        made.release()
    case.environment.comes(lambda: len(probe.elements) >= probe.requested)


def _ask_one_by_one(probe: Probe, count: int) -> None:
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
