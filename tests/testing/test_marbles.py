"""marbles: a diagram becomes a stream over virtual time, and a stream over virtual time becomes a diagram."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Stream, VirtualClock
from penstock.testing import Completed, Failed, MarbleError, Next, expected, marble, record, subscribed, timeline

CELL = st.one_of(
    st.just("-"),
    st.sampled_from("abc"),
    st.text("abc", min_size=2, max_size=3).map(lambda text: f"({text})"),
)
DIAGRAM = st.builds(
    lambda cells, end: "".join(cells) + end,
    st.lists(CELL, min_size=1, max_size=8),
    st.sampled_from(["", "|", "#", "(a|)", "(bc#)"]),
)


@given(DIAGRAM, st.sampled_from([1.0, 0.1, 3.0]))
def test_what_is_drawn_is_what_was_written(diagram: str, unit: float) -> None:
    clock = VirtualClock(start=0.3)
    assert record(marble(diagram, clock=clock, unit=unit), clock, unit=unit) == diagram


@given(DIAGRAM)
def test_a_timeline_is_what_a_diagram_means(diagram: str) -> None:
    clock = VirtualClock()
    assert timeline(marble(diagram, clock=clock), clock) == expected(diagram)


def test_a_diagram_says_what_happens_when() -> None:
    assert expected("--a-b-(cd)|", values={"a": 1}, unit=0.5) == [
        (1.0, Next(1)),
        (2.0, Next("b")),
        (3.0, Next("c")),
        (3.0, Next("d")),
        (3.5, Completed()),
    ]
    error = KeyError("lost")
    assert expected(" -  # ", error=error) == [(1.0, Failed(error))]


def test_a_marble_stream_starts_anew_for_each_subscriber() -> None:
    clock = VirtualClock()
    stream = marble("a-b|", clock=clock)
    first = subscribed(stream, 9)
    clock.advance(1)
    second = subscribed(stream, 9)
    clock.advance(1)
    assert (first.elements, second.elements) == (["a", "b"], ["a"])
    assert clock.pending == 3


def test_what_nobody_asks_for_waits() -> None:
    clock = VirtualClock()
    probe = subscribed(marble("ab(cd)|", clock=clock))
    clock.advance(9)
    assert probe.signals == []
    probe.request(3)
    assert probe.elements == ["a", "b", "c"]
    probe.request(1)
    assert probe.completed


def test_a_cancel_takes_the_timers_off_the_clock() -> None:
    clock = VirtualClock()
    probe = subscribed(marble("a----b|", clock=clock), 1)
    probe.cancel()
    assert clock.pending == 0


def test_record_stops_after_so_many_units_and_cancels() -> None:
    clock = VirtualClock()
    assert record(Stream.interval(2, clock=clock), clock, units=5) == "--0-1-"
    assert clock.pending == 0


def test_record_stops_when_nothing_more_can_happen() -> None:
    assert record(Stream.never(), VirtualClock()) == "-"


def test_record_asks_for_as_much_as_it_is_told() -> None:
    clock = VirtualClock()
    assert record(marble("abc|", clock=clock), clock, request=2) == "ab--"


def test_record_names_elements_by_values() -> None:
    clock = VirtualClock()
    values = {"x": 10, "y": True, "z": 1}
    assert record(marble("xyz#", clock=clock, values=values), clock, values=values) == "xyz#"


@pytest.mark.parametrize("element", [10, "|", ""])
def test_record_needs_names_of_one_character(element: object) -> None:
    message = f"record: values must name {element!r} by one character, got {{}}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        record(Stream.just(element), VirtualClock())


@pytest.mark.parametrize(
    ("diagram", "why"),
    [
        ("a|b", "nothing may follow the end, at character 3"),
        ("#-", "nothing may follow the end, at character 2"),
        ("(a|b)", "nothing may follow the end, at character 4"),
        ("a)", ") does not match, at character 2"),
        ("((a))", "( does not match, at character 2"),
        ("(ab", "( does not match, at character 3"),
        ("(a-b)", "no time passes inside a group, at character 3"),
    ],
)
def test_refuses_what_is_no_diagram(diagram: str, why: str) -> None:
    message = f"marble: diagram must be cells as documented, got {diagram!r}: {why}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        marble(diagram, clock=VirtualClock())


def test_fails_with_its_own_error_unless_told() -> None:
    assert timeline(marble("#", clock=VirtualClock()), VirtualClock()) == [(0.0, Failed(MarbleError("#")))]
    assert MarbleError("#") != ValueError("#")
    assert hash(MarbleError("a")) == hash(MarbleError("b"))
