"""flatten, flat_map and queue_through give several values for one, in order, and close inner before outer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, raising, refuses, values_of

lists = st.lists(st.lists(st.integers(), max_size=4), max_size=6)


@settings(max_examples=50)
@given(items=lists, late=st.booleans(), kind=st.sampled_from(["list", "tuple", "source", "iterator"]))
def test_flatten_agrees_with_its_model(items, late, kind):
    due = pull.Schedule(at_once=not late)

    def inner(n):
        found = items[n - 1]
        if kind == "source":
            return pull.pull(pull.ref_source(len(found), schedule=due), pull.map(lambda k: found[k - 1]))
        return {"list": list, "tuple": tuple, "iterator": iter}[kind](found)

    asker = Asker(pull.pull(pull.ref_source(len(items), schedule=due), pull.flat_map(inner)))
    while not asker.ends:
        asker.ask(2)
        due.run()
    assert asker.values == list(itertools.chain(*items))


def test_a_plain_value_is_given_as_it_is():
    items = [1, "ab", b"cd", {"k": 1}, None, [2]]
    assert values_of(pull.values(items), pull.flatten()) == [1, "ab", b"cd", {"k": 1}, None, 2]


def test_sources_of_every_kind_are_read():
    pushed = pull.pushable()
    pushed.push(3)
    pushed.end()

    def plain(abort, answer=None):
        answer(True)

    inner = [pull.values([1]), pull.many([pull.values([2])]), pushed, plain, pull.count(0)]
    assert values_of(pull.values(inner), pull.flatten()) == [1, 2, 3, 0]


def test_an_inner_source_that_is_read_already_fails_the_stream():
    inner = pull.values([1])
    error, found = collected(pull.values([inner, inner]), pull.flatten())
    assert str(error) == "property B15: values is read already; make a source for each pipeline"
    assert found == [1]


def test_an_inner_error_ends_the_stream_and_aborts_the_outer_source_as_such():
    outer, bad = Upstream(), ValueError("bad")
    asker = Asker(pull.pull(outer, pull.flatten())).ask(2)
    outer.give(pull.error(bad))
    assert (asker.answers, outer.aborts) == ([], [True])
    outer.confirm()
    assert asker.ends == [bad, bad]


@pytest.mark.parametrize("reason", [True, ValueError("why")])
def test_an_abort_reaches_the_inner_source_first(reason):
    outer, inner = Upstream(), Upstream()
    asker = Asker(pull.pull(outer, pull.flatten())).ask(2)
    outer.give(inner)
    asker.abort(reason)
    assert (inner.aborts, outer.aborts) == ([reason], [])
    inner.confirm(reason)
    assert outer.aborts == [reason]
    assert asker.answers == []
    outer.confirm(reason)
    assert asker.ends == [reason] * 3


def test_a_failed_close_of_the_inner_source_is_told():
    outer, inner, bad = Upstream(), Upstream(), OSError("close")
    asker = Asker(pull.pull(outer, pull.flatten())).ask()
    outer.give(inner)
    asker.abort()
    inner.confirm(bad)
    outer.confirm()
    assert asker.ends == [bad, bad]


def test_what_is_left_of_a_list_is_dropped_by_an_abort():
    asker = Asker(pull.pull(pull.values([[1, 2, 3]]), pull.flatten())).ask().abort().ask()
    assert asker.answers == [(None, 1), (True, None), (True, None)]


def test_flat_map_names_the_function_that_raised():
    bad = ValueError("bad")
    told = []
    error, found = collected(pull.values([1, 2], told.append), pull.flat_map(raising(bad, 2)))
    assert (error, found, told) == (bad, [1], [bad])
    assert bad.__notes__[0].startswith("in map(raising.fn), parts.py:")


# queue_through


def test_a_queue_takes_none_one_or_many_and_more_at_the_end():
    def write(queue, value):
        for _ in range(value):
            queue.put(value)

    made = pull.queue_through(write, lambda queue: queue.put("end"))
    assert values_of(pull.values([2, 0, 1]), made) == [2, 2, 1, "end"]
    assert values_of(pull.empty(), made) == ["end"]
    assert values_of(pull.values([1]), pull.queue_through(write)) == [1]


def test_after_an_error_what_is_in_the_queue_comes_first_and_no_more():
    bad = ValueError("bad")

    def failing():
        yield 1
        raise bad

    made = pull.queue_through(lambda queue, value: [queue.put(value), queue.put(value)], lambda queue: queue.put("end"))
    assert collected(pull.values(failing()), made) == (bad, [1, 1])


@pytest.mark.parametrize("error", [None, ValueError("bad")])
def test_a_queue_may_end_the_stream_when_upstream_has_confirmed_it(error):
    upstream = Upstream()

    def write(queue, value):
        queue.put(value)
        queue.end(error)
        queue.put("ignored")
        queue.end()

    asker = Asker(pull.pull(upstream, pull.queue_through(write))).ask(2)
    upstream.give(1)
    end = True if error is None else error
    assert (asker.answers, upstream.aborts) == ([(None, 1)], [end])
    asker.abort()
    assert asker.ends == []
    upstream.confirm()
    assert asker.ends == [end, end]
    assert asker.ask().ends == [end] * 3


def test_a_queue_may_be_filled_later():
    upstream, queues = Upstream(), []
    asker = Asker(pull.pull(upstream, pull.queue_through(lambda queue, value: queues.append(queue)))).ask(2)
    upstream.give(1)
    queues[0].put("late")
    assert asker.values == ["late"]
    queues[0].end()
    upstream.confirm()
    assert asker.ends == [True]
    queues[0].put("too late")
    assert asker.ask().values == ["late"]


@pytest.mark.parametrize("where", ["write", "end"])
def test_a_function_that_raises_ends_the_stream(where):
    bad, told = ValueError("bad"), []
    keep = lambda queue, value: queue.put(value)  # noqa: E731
    made = pull.queue_through(raising(bad) if where == "write" else keep, raising(bad) if where == "end" else None)
    error, found = collected(pull.values([1], told.append), made)
    assert error is bad
    assert found == ([] if where == "write" else [1])
    assert told == ([bad] if where == "write" else [])
    assert bad.__notes__[0].startswith("in queue_through(raising.fn), parts.py:")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pull.flat_map(5), "flat_map: fn must be callable, got 5"),
        (lambda: pull.queue_through(5), "queue_through: write must be callable, got 5"),
        (lambda: pull.queue_through(print, 5), "queue_through: end must be callable, got 5"),
    ],
)
def test_refuses_what_makes_no_sense(make, message):
    with refuses(TypeError, message):
        make()
