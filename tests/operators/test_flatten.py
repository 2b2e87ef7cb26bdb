"""flatten: the items of each element, one element after the other."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.flatten import Flatten
from penstock.testing import Form, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    check_stage(Flatten(), lambda xs: [x for inner in xs for x in inner], st.lists(st.integers(), max_size=3))


@each_form
def test_what_is_not_iterable_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, [1], 2).flatten())
    assert str(error) == "an iterable or a stream must be given, got 2"
    assert notes(error) == ["in flatten, step 1 of 1"]


@each_form
def test_none_among_the_items_is_refused(form: Form) -> None:
    error = failure_of(over(form, [1, None]).flatten())
    assert str(error).startswith("rule 2.13: None is not an element; ")
    assert notes(error) == ["in flatten, step 1 of 1"]


def test_a_failing_element_fails_the_stream_and_is_closed() -> None:
    inner = Tracked([1], ValueError("torn"))
    error = failure_of(Stream.just(inner).flatten())
    assert repr(error) == "ValueError('torn')"
    assert inner.open_runs == 0


def test_stops_in_the_middle_of_an_element_when_nobody_asks() -> None:
    inner = Tracked(range(100))
    probe = subscribed(Stream.just(inner).flatten(), 3)
    assert probe.elements == [0, 1, 2]
    assert inner.taken == 3
