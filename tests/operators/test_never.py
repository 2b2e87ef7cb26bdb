"""never: neither emits nor ends."""

from __future__ import annotations

from penstock import Stream
from penstock.testing import subscribed


def test_stays_silent() -> None:
    probe = subscribed(Stream.never(), 9)
    assert probe.subscription is not None
    assert probe.signals == []


def test_is_silent_after_a_cancel() -> None:
    probe = subscribed(Stream.never(), 9)
    probe.cancel()
    assert probe.signals == []


def test_answers_an_illegal_request() -> None:
    probe = subscribed(Stream.never())
    probe.request(-1)
    assert str(probe.error) == "rule 3.9: request(-1): a request must be positive"


def test_is_ended_by_what_follows_it() -> None:
    assert list(Stream.never().take(0)) == []
