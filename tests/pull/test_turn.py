"""A turn lets one thread at a time work, keeps the order of each thread, and leaves nothing undone."""

from __future__ import annotations

import sys
import threading

import pytest

from penstock.pull.ground.turn import Turn


def test_runs_at_once_where_nobody_else_is_at_work():
    turn, seen = Turn(), []
    turn.run(seen.append, 1)
    turn.run(lambda: [seen.append(2), turn.run(seen.append, 3), seen.append(4)])
    assert seen == [1, 2, 3, 4]


def test_what_another_thread_brings_is_done_before_the_thread_at_work_leaves():
    turn, seen = Turn(), []

    def work():
        seen.append("begin")
        other = threading.Thread(target=turn.run, args=(seen.append, "other"))
        other.start()
        other.join(10)  # it does not wait for us
        assert seen == ["begin"]
        turn.run(seen.append, "inside")
        seen.append("end")

    turn.run(work)
    assert seen == ["begin", "inside", "end", "other"]


def test_a_long_loop_can_let_others_in():
    turn, seen = Turn(), []

    def work():
        other = threading.Thread(target=turn.run, args=(seen.append, "other"))
        other.start()
        other.join(10)
        turn.let_in()
        seen.append("end")

    turn.run(work)
    assert seen == ["other", "end"]


def test_the_turn_is_given_back_when_something_raises():
    turn, seen = Turn(), []
    with pytest.raises(ValueError, match=r"^bad$"):
        turn.run(raise_bad)
    turn.run(seen.append, 1)
    assert seen == [1]


def raise_bad():
    raise ValueError("bad")


def test_many_threads_do_everything_once_one_at_a_time_and_each_in_its_order():
    turn, threads, each = Turn(), 4, 2000
    seen, inside, overlaps = [], 0, 0

    def step(name, number):
        nonlocal inside, overlaps
        inside += 1
        overlaps += inside > 1
        seen.append((name, number))
        inside -= 1

    def work(name):
        for number in range(each):
            turn.run(step, name, number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work, args=(name,)) for name in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(30)
    finally:
        sys.setswitchinterval(interval)
    assert overlaps == 0
    assert len(seen) == threads * each
    for name in range(threads):
        assert [number for who, number in seen if who == name] == list(range(each))
