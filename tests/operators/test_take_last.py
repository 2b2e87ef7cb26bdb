"""take_last: the last elements, once upstream has completed."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.take_last import TakeLast
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, over


@pytest.mark.parametrize("count", [0, 1, 4])
def test_laws(count: int) -> None:
    check_stage(TakeLast(count), lambda xs: xs[len(xs) - min(count, len(xs)) :], st.integers(), examples=15)


def test_refuses_a_negative_count() -> None:
    with pytest.raises(ValueError, match=r"^take_last: count must be >= 0, got -1$"):
        Stream.range(3).take_last(-1)


def test_more_than_there_are_is_all() -> None:
    assert list(Stream.range(3).take_last(10**30)) == [0, 1, 2]


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).take_last(2))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_what_it_holds_waits_for_demand(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).take_last(2))
    probe.request(1)
    assert probe.wait_for(1) == [2]
    assert not probe.ended
    probe.request(1)
    assert probe.wait_for_end() == [2, 3]


@each_form
def test_none_at_all_runs_to_the_end(form: Form) -> None:
    items = Tracked([1, 2])
    assert list(form.over(items).take_last(0)) == []
    assert items.taken == 2


def test_a_failure_drops_what_it_holds() -> None:
    assert type(failure_of(Stream.just(1, 0).map(lambda n: 1 // n).take_last(2))) is ZeroDivisionError


def test_a_take_behind_it_ends_the_run() -> None:
    assert list(Stream.range(9).take_last(4).take(2)) == [5, 6]
