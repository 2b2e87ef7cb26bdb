"""last: the last element alone."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import EmptyError, Stream
from penstock.operators.last import Last
from penstock.testing import Form, check_stage, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(Last(), lambda xs: xs[-1:], st.integers())


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2).last())
    probe.request(1)
    assert probe.wait_for_end() == [2]


def test_an_empty_stream_has_no_last() -> None:
    assert list(Stream.empty().last()) == []
    with pytest.raises(EmptyError, match=r"^empty \| last: the stream completed without an element$"):
        Stream.empty().last().get()
