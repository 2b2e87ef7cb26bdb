"""races: trials of a processor between two threads, and of one whose subscriber has left (1.3, 2.6, 4.1)."""

from __future__ import annotations

import threading
from typing import Any

from penstock.tck.environment import NotApplicable
from penstock.tck.probe import TrialProbe
from penstock.tck.processor.case import ProcessorCase, in_order, processor
from penstock.tck.trial import Steps

_PATIENCE = 10  # times quiet, for a thread that must get going


@processor.add("1.3")
def one_signal_at_a_time(case: ProcessorCase) -> Steps:
    """Stay inside on_next while it is asked on one other thread and sent elements on another: no signal begins."""
    yield from _one_at_a_time(case, 2)


@processor.add("1.3")
def one_signal_at_a_time_from_the_last(case: ProcessorCase) -> Steps:
    """Stay inside the on_next of all it held while it is asked and sent more on other threads: no signal begins."""
    yield from _one_at_a_time(case, 1)


def _one_at_a_time(case: ProcessorCase, held: int) -> Steps:
    _may_be_asked_elsewhere(case)
    environment, upstream = case.environment, case.upstream
    calls: list[Any] = []

    def stay(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) == 1:
            calls.append(environment.elsewhere(lambda: probe.request(2)))
            environment.lingers(lambda: probe.overlapped or calls[-1].done, times=_PATIENCE)
            if not upstream.signalling:  # else this on_next is inside one of upstream's, which must not overlap either
                calls.append(environment.elsewhere(lambda: case.fill(2)))
                environment.lingers(lambda: probe.overlapped or calls[-1].done, times=_PATIENCE)
            environment.lingers(lambda: probe.overlapped)

    [probe] = case.connected_probes(1)
    probe.on_next_hook = stay
    yield
    case.fill(held)  # what it holds could be sent from any thread
    probe.request(1)
    if not probe.elements and environment.comes(lambda: upstream.demand > 0, due=False):
        upstream.next()
    environment.comes(lambda: bool(probe.elements) and all(call.done for call in calls), due=False)
    yield
    for breach in environment.breaches:
        if breach.rule == "1.3":
            raise AssertionError(breach.message)
    due = min(probe.requested, len(upstream.sent))
    forgotten = not environment.comes(lambda: len(probe.elements) >= due)
    probe.request(len(upstream.sent))
    if environment.comes(lambda: len(probe.elements) >= len(upstream.sent)):
        if forgotten:
            environment.breach("3.8", "elements that were requested while another was handed on did not come")
    else:
        lost = len(upstream.sent) - len(probe.elements)
        environment.breach("4.1", f"{lost} elements that came in while another was handed on did not come out")


@processor.add("2.6")
def late_upstream_is_cancelled(case: ProcessorCase) -> Steps:
    """Give it its upstream once its only subscriber has left: it cancels that, and asks for nothing."""
    if not case.subject.cancels_upstream:
        raise NotApplicable("it does not claim to cancel its upstream when no subscriber is left")
    probe = case.subscribe()
    if probe.subscribed:
        probe.cancel()
        left = "its subscriber had cancelled before"
    else:
        probe.on_subscribe_hook = TrialProbe.cancel
        left = "its subscriber cancelled inside on_subscribe"
    yield
    case.connect()
    case.subscribed(probe)
    case.environment.wait_until(lambda: case.upstream.cancelled, f"its upstream was not cancelled, though {left}")
    yield
    came = [signal for signal in probe.signals if signal.kind != "subscribe"]
    case.environment.check(not came, f"on_{came[0].kind if came else ''} came, though {left}")


@processor.add("2.6")
def early_upstream_is_cancelled(case: ProcessorCase) -> None:
    """Give it its upstream, then a subscriber that leaves inside on_subscribe: it cancels the upstream."""
    if not case.subject.cancels_upstream:
        raise NotApplicable("it does not claim to cancel its upstream when no subscriber is left")
    case.connect()
    probe = case.environment.probe(on_subscribe=TrialProbe.cancel)
    probe.subscribe_to(case.processor)
    case.subscribed(probe)
    case.environment.wait_until(
        lambda: case.upstream.cancelled,
        "its upstream, which came first, was not cancelled, though its subscriber cancelled inside on_subscribe",
    )


@processor.add("4.1")
def elements_pass_between_threads(case: ProcessorCase) -> Steps:
    """Ask on one thread while elements come in on another: all of them come out, in order, and then the end."""
    _may_be_asked_elsewhere(case)
    environment, upstream = case.environment, case.upstream
    [probe] = case.connected_probes(1)
    count = environment.most(environment.limits.elements)
    stopped = threading.Event()

    def send() -> None:
        while len(upstream.sent) < count and not stopped.is_set():
            environment.lingers(lambda: upstream.demand > 0 or stopped.is_set())
            if upstream.demand > 0:
                upstream.next()

    def ask() -> None:
        for _ in range(count):
            probe.request(1)

    sending, asking = environment.elsewhere(send), environment.elsewhere(ask)
    came = environment.comes(lambda: asking.done and sending.done and len(probe.elements) >= count)
    stopped.set()
    got, sent = len(probe.elements), len(upstream.sent)
    message = f"{count} elements were requested on one thread, {sent} were sent to it on another, {got} came out"
    environment.check(came, message)
    upstream.complete()
    environment.wait_until(lambda: probe.ended, "its upstream completed, it did not")
    yield
    in_order(case, probe.elements)


def _may_be_asked_elsewhere(case: ProcessorCase) -> None:
    if not case.subject.concurrent:
        raise NotApplicable("it must not be asked on one thread while elements come on another")
    if case.environment.settle is not None:
        raise NotApplicable("what runs on the caller's own scheduler has no thread to race with")
