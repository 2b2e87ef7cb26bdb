"""to_list: one element, the list of all elements."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.to_list import ToList
from penstock.testing import Form, check_stage, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(ToList(), lambda xs: [xs], st.integers())


def test_nothing_gives_an_empty_list() -> None:
    assert Stream.empty().to_list().get() == []


def test_each_run_has_a_list_of_its_own() -> None:
    stream = Stream.range(2).to_list()
    stream.get().append(9)
    assert stream.get() == [0, 1]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2).to_list())
    probe.request(1)
    assert probe.wait_for_end() == [[1, 2]]
