"""pushable gives what was pushed, from any thread, and tells once when it is closed."""

from __future__ import annotations

import sys
import threading

import pytest

from penstock import flow, pull
from tests.pull.parts import Asker, refuses, values_of

ERROR = ValueError("bad")


def test_what_is_pushed_before_and_after_it_is_asked_for_comes_in_order():
    source = pull.pushable()
    source.push(1)
    source.push(2)
    assert source.buffer == (1, 2)
    asker = Asker(source).ask(3)
    assert (asker.values, source.buffer) == ([1, 2], ())
    source.push(3)
    assert asker.values == [1, 2, 3]


@pytest.mark.parametrize("error", [None, ERROR])
def test_the_end_comes_after_what_was_pushed(error):
    told = []
    source = pull.pushable(told.append)
    source.push(1)
    source.end(error)
    source.push(2)
    source.end(OSError("again"))
    asker = Asker(source).ask(3)
    end = True if error is None else error
    assert asker.answers == [(None, 1), (end, None), (end, None)]
    assert told == [error]


def test_an_end_is_told_to_all_who_wait():
    source = pull.pushable()
    asker = Asker(source).ask(3)
    source.end()
    assert asker.answers == [(True, None)] * 3


@pytest.mark.parametrize("error", [None, ERROR])
@pytest.mark.parametrize("who", ["reader", "owner"])
def test_an_abort_drops_what_was_pushed_and_ends_who_waits_first(error, who):
    told = []
    source = pull.pushable(told.append)
    asker = Asker(source).ask()
    reason = True if error is None else error
    if who == "reader":
        asker.abort(reason)
    else:
        source.abort(error)
    source.push(1)
    source.end()
    assert set(asker.ask().answers) == {(reason, None)}
    assert told == [error]
    assert source.buffer == ()


def test_a_buffer_is_dropped_by_an_abort():
    source = pull.pushable()
    source.push(1)
    source.push(2)
    asker = Asker(source).ask().abort().ask()
    assert asker.answers == [(None, 1), (True, None), (True, None)]


def test_pushing_from_inside_an_answer_keeps_the_order():
    source = pull.pushable()
    found = []

    def op(value):
        found.append(value)
        if value < 3:
            source.push(value + 10)
            source.push(value + 20)

    pull.pull(source, pull.drain(op))
    for value in (1, 2, 3):
        source.push(value)
    assert found == [1, 11, 21, 2, 12, 22, 3]


def test_it_composes_as_a_source():
    source = pull.pushable()
    made = pull.pull(source, pull.map(str), pull.batch(2))
    for value in (1, 2, 3):
        source.push(value)
    source.end()
    assert values_of(made) == [["1", "2"], ["3"]]


CHAINS = {
    "nothing": list,
    "steps": lambda: [pull.map(lambda value: value), pull.filter(lambda value: True)],
    "filter that drops": lambda: [pull.flat_map(lambda value: [value, None]), pull.filter(lambda v: v is not None)],
    "buffers": lambda: [pull.buffer(4), pull.batch(3), pull.flatten()],
    "work": lambda: [pull.para_map(lambda value, finished: finished(None, value), 4)],
    "checker": lambda: [pull.checker(), pull.take(10**9)],
    "tube": lambda: [pull.pair()],
    "many": lambda: [lambda read: pull.many([read])],
    "flow": lambda: [pull.through_flow(flow(lambda stream: stream.map(lambda value: value)))],
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_pushes_from_several_threads_all_arrive_and_those_of_one_thread_in_its_order(chain):
    threads, each, over, found = 4, 300, threading.Event(), []
    source = pull.pushable()

    def push(name):
        for number in range(each):
            source.push((name, number))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        pushers = [threading.Thread(target=push, args=(name,)) for name in range(threads)]
        for pusher in pushers[:2]:
            pusher.start()
        pull.pull(source, *chain(), pull.drain(found.append, lambda error: over.set() or error))
        for pusher in pushers[2:]:
            pusher.start()
        for pusher in pushers:
            pusher.join(30)
        source.end()
        assert over.wait(30)
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == threads * each
    for name in range(threads):
        assert [number for who, number in found if who == name] == list(range(each))


def test_refuses_what_cannot_be_called():
    with refuses(TypeError, "pushable: on_close must be callable, got 5"):
        pull.pushable(5)


def test_on_close_is_told_when_the_end_is_read_and_not_when_it_is_said():
    told = []
    source = pull.pushable(told.append)
    source.push(1)
    source.push(2)
    source.end()
    asker = Asker(source).ask(2)
    assert (asker.values, told) == ([1, 2], [])
    asker.ask(2)
    assert (asker.ends, told) == ([True, True], [None])


@pytest.mark.parametrize(
    "read", [lambda source: Asker(source).ask(), lambda source: pull.pull(source, pull.on_end(print))]
)
def test_on_close_is_told_the_error_that_the_stream_ended_with(read):
    told, error = [], ValueError("bad")
    source = pull.pushable(told.append)
    source.end(error)
    assert told == []
    read(source)
    assert told == [error]


def test_on_close_is_told_of_an_abort_at_once():
    told = []
    source = pull.pushable(told.append)
    source.push(1)
    source.end()
    source.abort()
    source.abort()
    assert told == [None]
