"""pairwise: each element together with the one before it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.pairwise import Pairwise
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(Pairwise(), lambda xs: list(pairwise(xs)), st.integers())


@each_form
def test_one_element_has_no_pair(form: Form) -> None:
    assert list(over(form, 1).pairwise()) == []


def test_asks_for_one_more_at_the_start_only() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).pairwise(), 1)
    upstream.next(1)
    assert upstream.requests == [1, 1]
    upstream.next(2)
    assert probe.elements == [(1, 2)]
    probe.request(1)
    assert upstream.requests == [1, 1, 1]
