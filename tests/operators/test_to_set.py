"""to_set: one element, the set of all elements."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.to_set import ToSet
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    check_stage(ToSet(), lambda xs: [set(xs)], st.integers(0, 4))


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).to_set())
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).to_set())
    probe.request(1)
    assert probe.wait_for_end() == [{1, 2, 3}]
    assert probe.completed


def test_each_run_has_a_set_of_its_own() -> None:
    stream = Stream.range(2).to_set()
    stream.get().add(9)
    assert stream.get() == {0, 1}


@each_form
def test_what_cannot_be_hashed_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, [1]).to_set())
    assert type(error) is TypeError
    assert notes(error) == ["in to_set, step 1 of 1"]
