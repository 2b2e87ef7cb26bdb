"""lingering: steps in which the end of a key waits for its time, and those that fill a silence."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Stream, flow
from penstock.run.pieces.stepping import SteppingRun
from tests.spark.differential import MADE, ROWS, Given
from tests.spark.stages.pieces import in_pieces
from tests.spark.stages.test_timed import in_batches


def test_a_delay_holds_each_element_for_its_time() -> None:
    found = in_batches(lambda s: s.delay(3), (1, [1]), (2, [2]), (3.9, []), (4, [3]), (9, [4]), (9, []))
    assert found == [[], [], [], ["1"], ["2", "3"], ["4"]]
    assert in_batches(lambda s: s.delay(0), (1, [1]), (1, [])) == [["1"], []]


def test_a_pace_holds_what_is_too_fast() -> None:
    found = in_batches(lambda s: s.throttle(2, 5), (1, [1, 2, 3, 4, 5]), (5.9, []), (6, [6]), (11, []), (12, [7, 8]))
    assert found == [["1", "2"], [], ["3", "4"], ["5", "6"], []]


def test_a_silence_is_filled_as_often_as_it_lasts_however_late_it_is_seen() -> None:
    assert in_batches(lambda s: s.keep_alive(2, 0), (1, [1]), (4, []), (10, [2]), (11, [])) == [
        ["1"], ["0"], ["0", "0", "0", "2"], [],
    ]  # fmt: skip


def test_a_filler_that_is_none_is_refused_with_its_step() -> None:
    with pytest.raises(TypeError, match=r"^rule 2.13: None is not an element") as caught:
        in_batches(lambda s: s.keep_alive(2, fn=lambda: None), (1, [1]), (4, []), (5, []))
    assert caught.value.__notes__[0].startswith("in keep_alive, step 2 of 3")


def test_at_the_end_what_waits_has_the_gaps_in_time_that_it_would_have_had() -> None:
    # The two that wait are ten seconds apart, so neither takes the place of the other.
    assert in_batches(lambda s: s.delay(60).debounce(5), (1, [1]), (11, [2]), (12, [])) == [[], [], ["1", "2"]]
    assert in_batches(lambda s: s.delay(60).debounce(5), (1, [1]), (2, [2]), (12, [])) == [[], [], ["2"]]
    stamped = in_batches(lambda s: s.throttle(1, 10).timestamp(), (1, [1, 2, 3]), (12, []))
    assert stamped == [["(1.0, 1)"], ["(11.0, 2)", "(21.0, 3)"]]


def test_the_end_of_a_step_before_waits_for_what_is_held() -> None:
    found = in_batches(lambda s: s.take(2).delay(5).end_with(9), (1, [1, 2, 3]), (5, [4]), (6, [5]), (7, []), (8, []))
    assert found == [[], [], ["1", "2", "9"], [], []]
    # A list that the end made is made once, though the key is woken again and again before it is said.
    found = in_batches(lambda s: s.take(3).buffer(2).throttle(1, 5), (1, [1, 2, 3]), (3, [4]), (6, []), (9, []))
    assert found == [["[1, 2]"], [], ["[3]"], []]


def test_a_handled_failure_is_an_end_that_waits_too() -> None:
    def steps(stream: Stream[Any]) -> Stream[Any]:
        return stream.map(lambda n: 6 // n).on_error_return(-1).delay(5)

    assert in_batches(steps, (1, [1, 0, 2]), (3, [3]), (6, [6]), (9, [])) == [[], [], ["6", "-1"], []]


def test_a_step_before_the_end_is_not_woken_any_more() -> None:
    found = in_batches(lambda s: s.keep_alive(1, 0).take(3).delay(9), (1, [1]), (4, []), (11, []), (30, []), (31, []))
    assert found == [[], [], ["1", "0"], ["0"], []]


def test_a_key_whose_end_has_passed_leaves_no_more_than_a_mark() -> None:
    states: dict[Any, dict[Any, Any]] = {}
    made = flow(lambda rows: rows.map(lambda row: row.n).take(1).delay(2).map(lambda one: (0, 0, repr(one))))
    pieces = [[Given(1, 0, 5)], [], [Given(1, 0, 6)]]
    found = list(in_pieces(made, ROWS, MADE, ["k"], pieces, times=[1, 4, 9], states=states, ends=False))
    assert [[row.text for row in piece] for piece in found] == [[], ["5"], []]
    kept = [value for name, held in states.items() if not isinstance(name, tuple) for value in held.values()]
    assert [len(value) for (value,) in kept] == [2]


def test_what_the_end_left_open_is_part_of_the_state() -> None:
    run = SteppingRun(flow(lambda rows: rows.take(2).delay(1))._chain.steps)
    assert run.lingers
    assert run.signature == "take(left) delay(items,last,due) ends"
    assert run.names[-1] == "the ends"
    assert not SteppingRun(flow(lambda rows: rows.take(2).debounce(1))._chain.steps).lingers
