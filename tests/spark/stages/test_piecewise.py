"""piecewise: windows and groups per key of a stream, whose streams live on as the states of what is made of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock import OverflowedError, Stream, flow
from penstock.spark import StageError
from penstock.spark.stages.refusals import check_clocks, check_pieces
from tests.spark.differential import MADE, ROWS, Given
from tests.spark.stages.pieces import in_pieces
from tests.spark.stages.test_timed import Mine, in_batches


def listed(windows: Stream[Stream[Any]]) -> Stream[list[Any]]:
    return windows.concat_map(lambda window: window.to_list())


def test_a_window_goes_on_from_one_micro_batch_to_the_next() -> None:
    found = in_batches(lambda s: listed(s.window(3)), (1, [1, 2]), (2, [3, 4]), (3, [5, 6, 7]), (4, []))
    assert found == [[], ["[1, 2, 3]"], ["[4, 5, 6]"], ["[7]"]]


def test_a_window_of_time_ends_while_no_rows_come_and_lies_on_a_grid() -> None:
    found = in_batches(
        lambda s: listed(s.window(seconds=5)), (1, [1]), (4, [2]), (6, []), (7, [3]), (11, [4]), (12, [])
    )
    assert found == [[], [], ["[1, 2]"], [], ["[3]"], ["[4]"]]


def test_a_session_ends_when_nothing_has_come_for_a_while() -> None:
    found = in_batches(lambda s: listed(s.window(gap=3)), (1, [1]), (3, [2]), (5.9, []), (6, [3]), (20, [4]), (21, []))
    assert found == [[], [], [], ["[1, 2]"], ["[3]"], ["[4]"]]


def test_what_comes_of_a_window_comes_at_once_and_a_rest_that_is_left_is_dropped() -> None:
    found = in_batches(
        lambda s: s.window(4).flat_map(lambda window: window.take(2).enumerate(), concurrency=1),
        (1, [1]), (2, [2, 3]), (3, [4, 5]), (4, []),
    )  # fmt: skip
    assert found == [["(0, 1)"], ["(1, 2)"], ["(0, 5)"], []]


def test_steps_inside_a_window_are_woken_too() -> None:
    def steps(stream: Stream[Any]) -> Stream[Any]:
        return stream.window(gap=10).concat_map(lambda window: window.debounce(2).start_with("new"))

    found = in_batches(steps, (1, [1]), (2, [2]), (5, [3]), (30, [4]), (31, []))
    assert found == [["'new'"], [], ["2"], ["3", "'new'"], ["4"]]


@pytest.mark.parametrize("cuts", [[[1, 2, 3, 4, 1]], [[1, 2], [3], [4], [1]], [[1], [2, 3, 4], [1]]])
def test_groups_end_in_the_order_of_their_beginnings_however_the_stream_is_cut(cuts: list[list[int]]) -> None:
    def steps(stream: Stream[Any]) -> Stream[Any]:
        return stream.group_by(lambda n: n % 3).flat_map(lambda group: group.to_list(), concurrency=8)

    found = in_batches(steps, *enumerate(cuts, 1), (9, []))
    assert [one for made in found for one in made] == ["[1, 4, 1]", "[2]", "[3]"]


def test_groups_are_open_side_by_side_and_one_that_was_left_begins_anew() -> None:
    def steps(stream: Stream[Any]) -> Stream[Any]:
        return stream.group_by(lambda n: n % 2).flat_map(
            lambda group: group.take(2).to_list().map(lambda ns: (group.key, ns)), concurrency=8
        )

    found = in_batches(steps, (1, [1, 2, 3]), (2, [5, 4]), (3, [7, 9]), (4, []))
    assert found == [["(1, [1, 3])"], ["(0, [2, 4])"], ["(1, [5, 7])"], ["(1, [9])"]]


def test_windows_in_groups_in_windows() -> None:
    def steps(stream: Stream[Any]) -> Stream[Any]:
        def sums(window: Stream[int]) -> Stream[int]:
            return window.group_by(lambda n: n % 2).flat_map(
                lambda group: group.window(2).concat_map(lambda pair: pair.sum()), concurrency=4
            )

        return stream.window(5).concat_map(sums)

    found = in_batches(steps, (1, [1, 2, 3]), (2, [4]), (3, [5, 7]), (4, []))
    assert found == [["4"], ["6"], ["5"], ["7"]]


def test_groups_are_bounded_as_in_process() -> None:
    message = (
        r"^group_by: 2 groups are open and an element came for another, 3; end groups when they are done, with take or"
        r" timeout say, or say group_by\(..., groups=n\) with a greater n"
    )
    counted = lambda s: s.group_by(lambda n: n, groups=2).flat_map(lambda group: group.count(), concurrency=9)  # noqa: E731
    with pytest.raises(OverflowedError, match=message):
        in_batches(counted, (1, [1, 2]), (2, [3]), (3, []))
    with pytest.raises(OverflowedError, match=message):
        list(counted(Stream.just(1, 2, 3)))


def test_a_failure_in_a_window_names_its_step_and_key() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        in_batches(lambda s: s.window(2).concat_map(lambda w: w.map(lambda n: 1 // n)), (1, [1, 0]), (2, []))
    first, last = caught.value.__notes__
    assert first.startswith("in map(")
    assert last == "in keyed_by, key (1,)"


def test_a_changed_flow_is_refused() -> None:
    states: dict[Any, dict[Any, Any]] = {}

    def run(make: Any, ends: bool) -> None:
        made = flow(lambda rows: make(rows.map(lambda row: row.n).window(5)).map(lambda one: (0, 0, repr(one))))
        list(in_pieces(made, ROWS, MADE, ["k"], [[Given(1, 0, 1)]], states=states, ends=ends))

    run(lambda windows: windows.concat_map(lambda window: window.sum()), ends=False)
    message = (
        "keyed_by: the checkpoint has the states of sum(total) in window, and the flow has buffer(items); give it"
        " another checkpoint"
    )
    with pytest.raises(StageError, match=f"^{re.escape(message)}"):
        run(lambda windows: windows.concat_map(lambda window: window.buffer(2)), ends=True)


def test_a_window_that_was_closed_leaves_nothing() -> None:
    states: dict[Any, dict[Any, Any]] = {}
    made = flow(lambda rows: listed(rows.map(lambda row: row.n).window(2)).map(lambda one: (0, 0, repr(one))))
    pieces = [[Given(1, 0, 1), Given(2, 0, 1)], [Given(1, 0, 2)]]
    list(in_pieces(made, ROWS, MADE, ["k"], pieces, states=states, ends=False))
    assert [list(held) for held in states.values() if held] == [[("(2,)",)]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda rows: rows.window(2),
            (
                "keyed_by: window gives streams, and these live no longer than a micro-batch: let"
                " flat_map(fn, concurrency=n) or concat_map(fn) follow it, which make elements of each"
            ),
        ),
        (
            lambda rows: rows.window(2).map(lambda window: window.to_list()),
            (
                "keyed_by: window gives streams, and these live no longer than a micro-batch: let"
                " flat_map(fn, concurrency=n) or concat_map(fn) follow it, which make elements of each"
            ),
        ),
        (
            lambda rows: rows.group_by(len).concat_map(lambda group: group.count()),
            (
                "keyed_by: concat_map reads one stream of group_by after the other, and they are open side by side: let"
                " flat_map(fn, concurrency=n) with a greater n follow it"
            ),
        ),
        (
            lambda rows: rows.window(2).concat_map(lambda window: [1, 2]),
            (
                "keyed_by: the function of concat_map behind window must return a Stream that is made of the one it is"
                " given, got [1, 2]"
            ),
        ),
        (
            lambda rows: rows.window(2).concat_map(lambda window: window.merge(Stream.never())),
            (
                "keyed_by: merge cannot go on from one micro-batch to the next: its other inputs would begin anew with"
                " each: join DataFrames, or make one of both with both(left, right) and use pair_with_latest,"
                " pair_latest or pair_within"
            ),
        ),
        (
            lambda rows: rows.window(2).concat_map(lambda window: window.delay(1)),
            "keyed_by: delay would hold what comes of a stream of window beyond its end: put it behind concat_map",
        ),
    ],
)
def test_what_cannot_go_on_is_refused_with_what_can(make: Any, message: str) -> None:
    with pytest.raises(StageError, match=f"^{re.escape(message)}$"):
        check_pieces(flow(make)._chain)


def test_a_clock_of_the_users_is_refused() -> None:
    chain = flow(lambda rows: listed(rows.window(gap=2, clock=Mine())))._chain
    check_pieces(chain)
    with pytest.raises(StageError, match=r"^keyed_by: window has a clock, and where Spark keeps its state the time "):
        check_clocks(chain)
