"""probe: records every signal, asks only when told to, and notes every rule that is broken."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from penstock import Stream, Subscription, thread
from penstock.testing import Completed, Failed, Next, Probe, VerificationError, subscribed


class Idle:
    """Be a subscription that does nothing but count."""

    def __init__(self) -> None:
        self.requests: list[int] = []
        self.cancels = 0

    def request(self, n: int, /) -> None:
        self.requests.append(n)

    def cancel(self) -> None:
        self.cancels += 1


def test_asks_for_nothing_until_told() -> None:
    probe = subscribed(Stream.range(3))
    assert probe.signals == []
    probe.request(2)
    assert probe.signals == [Next(0), Next(1)]
    assert not probe.ended
    probe.request()
    assert probe.signals == [Next(0), Next(1), Next(2), Completed()]
    assert probe.completed
    assert probe.ended
    assert probe.breaches == []


def test_makes_its_first_request_in_on_subscribe() -> None:
    idle = Idle()
    Probe[int](request=7).on_subscribe(idle)
    assert idle.requests == [7]


def test_lets_a_test_act_inside_a_signal() -> None:
    seen: list[Subscription] = []
    probe: Probe[int] = Probe(9, on_subscribe=seen.append, on_signal=lambda _: probe.cancel())
    Stream.range(5).subscribe(probe)
    assert probe.elements == [0]
    assert probe.cancelled
    assert seen == [probe.subscription]


def test_keeps_the_error() -> None:
    error = ValueError("lost")
    probe = subscribed(Stream.error(error))
    assert probe.signals == [Failed(error)]
    assert probe.error is error
    assert not probe.completed


def test_waits_for_signals_of_another_thread() -> None:
    probe = subscribed(Stream.range(3).publish_on(thread("elsewhere")))
    probe.request(2)
    assert probe.wait_for(2) == [0, 1]
    probe.request(1)
    assert probe.wait_for_end() == [0, 1, 2]
    assert set(probe.threads) == {"elsewhere"}


def test_waits_for_a_subscription_that_comes_from_another_thread() -> None:
    probe = subscribed(Stream.range(2).subscribe_on(thread()))
    probe.request()
    assert probe.wait_for_end() == [0, 1]


def test_says_what_it_waited_for() -> None:
    probe: Probe[int] = Probe(1, patience=0)
    Stream.range(5).subscribe(probe)
    with pytest.raises(VerificationError, match=r"^probe: expected 2 elements within 0 seconds, got next\(0\)$"):
        probe.wait_for(2)
    with pytest.raises(VerificationError, match=r"^probe: expected the end within 0 seconds, got next\(0\)$"):
        probe.wait_for_end()


def test_cannot_ask_nobody() -> None:
    probe: Probe[int] = Probe(patience=0)
    message = r"^probe: expected on_subscribe before request within 0 seconds, got nothing$"
    with pytest.raises(VerificationError, match=message):
        probe.request(1)


def test_notes_each_rule_that_is_broken() -> None:
    probe: Probe[object] = Probe()
    probe.on_next("early")
    probe.on_subscribe(Idle())
    second = Idle()
    probe.on_subscribe(second)
    with pytest.raises(TypeError, match=r"^rule 2.13: on_subscribe\(None\): None is not allowed here$"):
        probe.on_subscribe(None)  # type: ignore[arg-type]
    probe.request(2)
    probe.on_next(None)
    probe.on_next("much")
    probe.on_error(None)  # type: ignore[arg-type]
    probe.on_complete()
    assert second.cancels == 1
    assert probe.breaches == [
        "rule 1.1: 1 elements came, 0 were requested",
        "rule 1.9: next('early') came before on_subscribe",
        "rule 2.12: on_subscribe was signalled twice",
        "rule 2.13: on_subscribe(None)",
        "rule 2.13: on_next(None)",
        "rule 1.1: 3 elements came, 2 were requested",
        "rule 2.13: on_error(None)",
        "rule 1.7: complete came after the end",
    ]


def test_notes_signals_that_overlap() -> None:
    inside, leave = Barrier(2), Barrier(2)

    def stay(signal: object) -> None:
        if signal == Next("first"):
            inside.wait(5)
            leave.wait(5)

    probe: Probe[str] = Probe(2, on_signal=stay)
    probe.on_subscribe(Idle())
    other = Thread(target=probe.on_next, args=("first",))
    other.start()
    inside.wait(5)
    probe.on_next("second")
    leave.wait(5)
    other.join(5)
    assert probe.breaches == ["rule 1.3: next('second') came while another signal was being handled"]


def test_reads_as_its_signals() -> None:
    assert repr(subscribed(Stream.just("a"), 1)) == "Probe(next('a'), complete)"
    assert repr(Probe()) == "Probe(nothing)"
