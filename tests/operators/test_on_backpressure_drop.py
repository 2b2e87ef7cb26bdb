"""on_backpressure_drop: what nobody has asked for is left out."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, subscribed
from tests.operators.subjects import each_form, notes, over, place


@each_form
def test_who_asks_for_everything_gets_everything(form: Form) -> None:
    probe: Probe[int] = Probe(UNBOUNDED)
    over(form, 1, 2, 3).on_backpressure_drop().subscribe(probe)
    assert probe.wait_for_end() == [1, 2, 3]


def dropping(on_drop: Any = None, request: int = 0) -> tuple[ManualPublisher[int], Any]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, subscribed(Stream.from_publisher(upstream).on_backpressure_drop(on_drop), request)


def test_asks_for_everything_and_holds_nothing() -> None:
    dropped: list[int] = []
    upstream, probe = dropping(dropped.append)
    assert upstream.requests == [UNBOUNDED]
    upstream.next(1)
    probe.request(2)
    upstream.next(2, 3, 4)
    probe.request(1)
    upstream.next(5)
    upstream.complete()
    assert probe.elements == [2, 3, 5]
    assert dropped == [1, 4]
    assert probe.completed


def test_the_end_needs_no_request() -> None:
    upstream, probe = dropping()
    upstream.next(1)
    upstream.fail(ValueError("lost"))
    assert probe.elements == []
    assert repr(probe.error) == "ValueError('lost')"


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    def look(_: int) -> None:
        raise ValueError("bad")

    upstream, probe = dropping(look)
    upstream.next(1)
    assert upstream.cancelled
    assert repr(probe.error) == "ValueError('bad')"
    name = look.__qualname__.replace("<locals>.", "")
    assert notes(probe.error) == [f"in on_backpressure_drop({name}), {place(look)}"]


def test_a_cancel_reaches_upstream() -> None:
    upstream, probe = dropping(request=3)
    probe.cancel()
    assert upstream.cancelled


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^on_backpressure_drop: on_drop must be callable, got 5$"):
        Stream.range(3).on_backpressure_drop(5)  # type: ignore[arg-type]
