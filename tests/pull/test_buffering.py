"""batch, sliding and buffer keep values for a while, give them before the end, and drop them at an abort."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import VirtualClock, pull
from tests.pull.parts import Asker, Upstream, collected, raising, refuses, values_of


def failing(*values):
    def items():
        yield from values
        raise ERROR

    return pull.values(items())


ERROR = ValueError("bad")


@settings(max_examples=50)
@given(count=st.integers(0, 12), size=st.integers(1, 5), late=st.booleans(), at_a_time=st.integers(1, 4))
def test_batch_agrees_with_its_model(count, size, late, at_a_time):
    due = pull.Schedule(at_once=not late)
    items = list(range(1, count + 1))
    asker = Asker(pull.pull(pull.ref_source(count, schedule=due), pull.batch(size)))
    while not asker.ends:
        asker.ask(at_a_time)
        due.run()
    assert asker.values == [items[start : start + size] for start in range(0, count, size)]


def test_a_batch_is_given_as_it_is_at_the_end_and_at_an_error():
    assert values_of(pull.count(2), pull.batch(2)) == [[0, 1], [2]]
    assert collected(failing(1, 2, 3), pull.batch(2)) == (ERROR, [[1, 2], [3]])


def test_a_batch_that_is_old_is_given_to_whoever_waits():
    clock, upstream = VirtualClock(), Upstream()
    asker = Asker(pull.pull(upstream, pull.batch(3, 2.0, clock=clock))).ask(2)
    upstream.give(1)
    clock.advance(1.9)
    assert asker.values == []
    upstream.give(2)
    clock.advance(0.1)
    assert asker.values == [[1, 2]]
    upstream.give(3)  # a new batch, with a time of its own
    clock.advance(1.9)
    assert asker.values == [[1, 2]]
    clock.advance(0.1)
    assert asker.values == [[1, 2], [3]]


def test_a_full_batch_calls_its_timer_off():
    clock = VirtualClock()
    source = pull.pull(pull.values([1, 2, 3]), pull.batch(2, timedelta(seconds=1), clock=clock))
    asker = Asker(source).ask()
    assert asker.values == [[1, 2]]
    clock.advance(5)
    assert asker.ask(2).values == [[1, 2], [3]]


def test_a_batch_by_time_alone_has_no_size():
    clock, upstream = VirtualClock(), Upstream()
    asker = Asker(pull.pull(upstream, pull.batch(seconds=1, clock=clock))).ask()
    for value in range(50):
        upstream.give(value)
    clock.advance(1)
    assert asker.values == [list(range(50))]


@pytest.mark.parametrize("reason", [True, ERROR])
def test_an_abort_drops_the_batch_and_its_timer(reason):
    clock, upstream = VirtualClock(), Upstream()
    asker = Asker(pull.pull(upstream, pull.batch(3, 1, clock=clock))).ask()
    upstream.give(1)
    asker.abort(reason)
    upstream.confirm(reason)
    clock.advance(5)
    assert asker.answers == [(reason, None)] * 2


# sliding


@settings(max_examples=50)
@given(count=st.integers(0, 9), width=st.integers(1, 4))
def test_sliding_agrees_with_its_model(count, width):
    items = list(range(count))
    wanted = [items[at : at + width] for at in range(count - width + 1)]
    assert values_of(pull.values(items), pull.sliding(list, width)) == wanted
    assert collected(failing(*items), pull.sliding(list, width)) == (ERROR, wanted)


def test_a_function_that_raises_fails_the_stream():
    bad, told = ValueError("bad"), []
    error, found = collected(pull.values([1, 2, 3], told.append), pull.sliding(raising(bad, [2, 3]), 2))
    assert (error, found, told) == (bad, [[1, 2]], [bad])
    assert bad.__notes__[0].startswith("in sliding(raising.fn), parts.py:")


# buffer


@settings(max_examples=50)
@given(count=st.integers(0, 12), high=st.integers(1, 5), data=st.data(), late=st.booleans())
def test_buffer_changes_nothing(count, high, data, late):
    low = data.draw(st.integers(0, high - 1))
    due = pull.Schedule(at_once=not late)
    asker = Asker(pull.pull(pull.ref_source(count, schedule=due), pull.buffer(high, low)))
    while not asker.ends:
        asker.ask(data.draw(st.integers(1, 3)))
        due.run()
    assert asker.values == list(range(1, count + 1))


def test_buffer_reads_ahead_to_its_high_mark_once_asked_and_again_at_its_low_mark():
    source = pull.ref_source(None)
    asker = Asker(pull.pull(source, pull.buffer(4, 1)))
    assert source.asked == 0
    asker.ask()
    assert source.given == 4
    asker.ask()
    assert source.given == 4
    asker.ask()
    assert source.given == 3 + 4
    assert asker.values == [1, 2, 3]


def test_buffer_asks_for_no_more_while_an_answer_is_out():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.buffer(4))).ask(3)
    assert len(upstream.waiting) == 1
    for value in (1, 2, 3, 4, 5):
        upstream.give(value)
    assert asker.values == [1, 2, 3]
    assert len(upstream.waiting) == 1


def test_buffer_gives_what_it_holds_before_an_error():
    asker = Asker(pull.pull(failing(1, 2, 3), pull.buffer(5))).ask(4)
    assert asker.answers == [(None, 1), (None, 2), (None, 3), (ERROR, None)]


def test_an_abort_drops_what_a_buffer_holds():
    asker = Asker(pull.pull(pull.count(9), pull.buffer(5))).ask().abort().ask()
    assert asker.answers == [(None, 0), (True, None), (True, None)]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pull.batch(), TypeError, "batch: size or seconds must be given"),
        (lambda: pull.batch(0), ValueError, "batch: size must be >= 1, got 0"),
        (lambda: pull.batch(1, -1), ValueError, "batch: seconds must be >= 0 and finite, got -1"),
        (lambda: pull.batch(1, "1"), TypeError, "batch: seconds must be seconds or a timedelta, got '1'"),
        (lambda: pull.sliding(5, 1), TypeError, "sliding: fn must be callable, got 5"),
        (lambda: pull.sliding(list, 0), ValueError, "sliding: width must be >= 1, got 0"),
        (lambda: pull.buffer(0), ValueError, "buffer: high must be >= 1, got 0"),
        (lambda: pull.buffer(1, -1), ValueError, "buffer: low must be >= 0, got -1"),
        (lambda: pull.buffer(2, 2), ValueError, "buffer: low must be < high, got 2 and 2"),
    ],
)
def test_refuses_what_makes_no_sense(make, error, message):
    with refuses(error, message):
        make()
