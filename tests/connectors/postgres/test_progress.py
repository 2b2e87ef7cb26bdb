"""progress: the server is told no place that would make it forget a change which is not done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.postgres.lsn import lsn_number, lsn_text, place
from penstock.connectors.postgres.progress import SlotProgress


@given(st.integers(0, 2**64 - 1))
def test_a_place_in_the_log_is_read_as_it_is_written(number: int) -> None:
    assert lsn_number(lsn_text(number)) == number
    assert place([lsn_text(number), 7]) == (number, 7)


@pytest.mark.parametrize("text", ["", "1", "0/", "/1", "0/G", "0/123456789", "0/1\n", " 0/1"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^postgres: a place in the log looks like '0/16B3748', got "):
        lsn_number(text)


def transaction(progress: SlotProgress, commit: int, count: int) -> list[tuple[int, int]]:
    """Have a transaction come, whose commit takes one place in the log; return the places of its changes."""
    progress.began()
    places = [(commit, index) for index in range(count)]
    for each in places:
        progress.came(each)
    progress.ended((commit, count - 1), commit + 1)
    return places


def test_nothing_is_confirmed_before_it_is_done() -> None:
    progress = SlotProgress(5, None)
    transaction(progress, 10, 2)
    progress.idle(99)
    assert progress.confirmed == 5


def test_a_transaction_that_is_done_in_part_is_sent_again() -> None:
    progress = SlotProgress(5, None)
    first, second = transaction(progress, 10, 2)
    progress.done(first)
    assert progress.confirmed == 10
    progress.done(second)
    assert progress.confirmed == 11


def test_the_end_of_a_transaction_may_come_after_its_changes_are_done() -> None:
    progress = SlotProgress(5, None)
    progress.began()
    progress.came((10, 0))
    progress.done((10, 0))
    progress.idle(99)
    assert progress.confirmed == 10
    progress.ended((10, 0), 11)
    assert progress.confirmed == 11


def test_transactions_without_changes_are_passed() -> None:
    progress = SlotProgress(5, None)
    transaction(progress, 10, 0)
    assert progress.confirmed == 11
    (only,) = transaction(progress, 20, 1)
    transaction(progress, 30, 0)
    assert progress.confirmed == 11
    progress.done(only)
    assert progress.confirmed == 31


def test_the_servers_place_is_taken_where_everything_is_done() -> None:
    progress = SlotProgress(5, None)
    progress.idle(8)
    assert progress.confirmed == 8
    (only,) = transaction(progress, 10, 1)
    progress.done(only)
    progress.idle(50)
    assert progress.confirmed == 50
    progress.idle(40)
    assert progress.confirmed == 50


def test_a_position_that_a_run_begins_behind_is_not_taken_for_done() -> None:
    progress = SlotProgress(5, (10, 3))
    progress.idle(50)
    assert progress.confirmed == 5
    progress.done((10, 3))
    progress.idle(50)
    assert progress.confirmed == 50


def test_a_position_that_the_server_knows_as_done_holds_nothing_up() -> None:
    progress = SlotProgress(11, (10, 3))
    progress.idle(50)
    assert progress.confirmed == 50


@given(st.lists(st.integers(0, 3), max_size=8), st.data())
def test_whatever_comes_and_is_done_no_undone_change_is_forgotten(counts: list[int], data: st.DataObject) -> None:
    progress, waiting = SlotProgress(0, None), []
    for number, count in enumerate(counts, 1):
        waiting += transaction(progress, 10 * number, count)
        progress.idle(10 * number + 5)
        done = data.draw(st.integers(0, len(waiting)))
        if done:
            progress.done(waiting[done - 1])
            waiting = waiting[done:]
        # The server sends a transaction again whose commit is not before the place that it was told.
        assert all(commit >= progress.confirmed for commit, _ in waiting)
    if waiting:
        progress.done(waiting[-1])
    progress.idle(1000)
    assert progress.confirmed == 1000
