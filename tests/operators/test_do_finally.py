"""do_finally: calls a function once for each run, however it ends."""

from __future__ import annotations

import pytest

from penstock import Dropped, Stream
from penstock.testing import Form, ManualPublisher, Probe, subscribed
from tests.operators.subjects import each_form, failure_of, over


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^do_finally: fn must be callable, got 1$"):
        Stream.range(3).do_finally(1)  # type: ignore[arg-type]


@each_form
def test_is_called_before_the_end_is_passed_on(form: Form) -> None:
    log: list[str] = []
    probe: Probe[int] = Probe(9, on_signal=lambda signal: log.append(str(signal)))
    over(form, 1).do_finally(lambda: log.append("finally")).subscribe(probe)
    probe.wait_for_end()
    assert log == ["next(1)", "finally", "complete"]


def test_is_called_after_a_failure() -> None:
    calls: list[int] = []
    failure_of(Stream.error(ValueError("lost")).do_finally(lambda: calls.append(1)))
    assert calls == [1]


def test_is_called_after_a_cancel_and_only_once() -> None:
    calls: list[int] = []
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).do_finally(lambda: calls.append(1)), 5)
    upstream.next(1)
    probe.cancel()
    probe.cancel()
    assert calls == [1]
    assert upstream.cancelled


def test_is_called_when_what_follows_has_had_enough() -> None:
    calls: list[int] = []
    assert list(Stream.range(9).do_finally(lambda: calls.append(1)).take(2)) == [0, 1]
    assert calls == [1]


def test_is_called_when_the_subscriber_raises(dropped: list[Dropped]) -> None:
    calls: list[int] = []

    def refuse(_: object) -> None:
        raise KeyError("no")

    probe: Probe[int] = Probe(9, on_signal=refuse)
    Stream.range(3).do_finally(lambda: calls.append(1)).subscribe(probe)
    assert calls == [1]
    assert probe.elements == [0]
    assert [(one.what, repr(one.error)) for one in dropped] == [
        ("rule 2.13: the subscriber raised in on_next", "KeyError('no')")
    ]
    dropped.clear()


def test_each_run_has_its_own_call() -> None:
    calls: list[int] = []
    stream = Stream.range(2).do_finally(lambda: calls.append(1))
    assert list(stream) == list(stream) == [0, 1]
    assert calls == [1, 1]


def test_what_it_raises_is_dropped_not_lost(dropped: list[Dropped]) -> None:
    def fail() -> None:
        raise ValueError("no end")

    assert list(Stream.range(2).do_finally(fail)) == [0, 1]
    assert [(one.what, repr(one.error)) for one in dropped] == [("do_finally: fn raised", "ValueError('no end')")]
    dropped.clear()
