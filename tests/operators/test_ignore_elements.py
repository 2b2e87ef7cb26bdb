"""ignore_elements: the end of a stream and none of its elements."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.ignore_elements import IgnoreElements
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form


def test_laws() -> None:
    check_stage(IgnoreElements(), lambda xs: [], st.integers())


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).ignore_elements())
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_runs_upstream_to_its_end(form: Form) -> None:
    items = Tracked([1, 2, 3])
    assert list(form.over(items).ignore_elements()) == []
    assert items.taken == 3


def test_a_cancel_stops_a_run_that_never_emits() -> None:
    seen: list[int] = []

    def look(n: int) -> None:
        seen.append(n)
        if n == 5:
            probe.cancel()

    probe = subscribed(Stream.range(10**9).tap(look).ignore_elements())
    probe.request(1)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert probe.signals == []
