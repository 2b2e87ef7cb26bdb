"""is_empty: whether there is no element at all."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.is_empty import IsEmpty
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(IsEmpty(), lambda xs: [not xs], st.integers())


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).is_empty())
    probe.request(1)
    assert probe.wait_for_end() == [False]
    assert probe.completed


@each_form
def test_nothing_is_empty(form: Form) -> None:
    assert over(form).is_empty().get() is True


def test_asks_for_one_element_and_then_cancels() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).is_empty(), UNBOUNDED)
    assert upstream.requested == 1
    upstream.next("a")
    assert upstream.cancelled
    assert probe.elements == [False]
    assert probe.completed


def test_takes_one_element_from_its_source() -> None:
    items = Tracked(range(9))
    assert Stream.from_iterable(items).is_empty().get() is False
    assert (items.taken, items.open_runs) == (1, 0)


def test_a_failure_is_no_answer() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).is_empty(), 1)
    upstream.fail(ValueError("lost"))
    assert probe.elements == []
    assert repr(probe.error) == "ValueError('lost')"
