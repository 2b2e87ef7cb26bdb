"""count: one element, the number of elements."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.count import Count
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(Count(), lambda xs: [len(xs)], st.integers())


def test_nothing_counts_as_zero() -> None:
    assert Stream.empty().count().get() == 0


def test_asks_for_everything_once_it_is_asked() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).count(), 1)
    assert upstream.requests == [UNBOUNDED]
    upstream.next(*range(1000))
    assert probe.signals == []
    upstream.complete()
    assert probe.elements == [1000]
    assert probe.completed


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).count())
    probe.request(1)
    assert probe.wait_for_end() == [3]
