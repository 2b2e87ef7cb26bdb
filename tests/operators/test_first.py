"""first: the first element alone, and no second one is asked for."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import EmptyError, Stream
from penstock.engine.demand import UNBOUNDED
from penstock.operators.first import First
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(First(), lambda xs: xs[:1], st.integers())


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2).first())
    probe.request(1)
    assert probe.wait_for_end() == [1]


def test_asks_for_one_element_and_then_cancels() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).first(), UNBOUNDED)
    assert upstream.requested == 1
    upstream.next("a")
    assert upstream.cancelled
    assert probe.elements == ["a"]


def test_takes_one_element_from_its_source() -> None:
    items = Tracked(range(9))
    assert Stream.from_iterable(items).first().get() == 0
    assert (items.taken, items.open_runs) == (1, 0)


def test_an_empty_stream_has_no_first() -> None:
    assert list(Stream.empty().first()) == []
    with pytest.raises(EmptyError, match=r"^empty \| first: the stream completed without an element$"):
        Stream.empty().first().get()
