"""cat, many, merge and zip_sources make one source of several, and close all of them."""

from __future__ import annotations

import heapq
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, raising, refuses, values_of

ERROR = ValueError("bad")
inputs = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=4)


def sources(items, due):
    def one(values):
        return pull.pull(pull.ref_source(len(values), schedule=due), pull.map(lambda n: values[n - 1]))

    return [one(values) for values in items]


def read(source, due, at_a_time=1):
    asker = Asker(source)
    while not asker.ends:
        asker.ask(at_a_time)
        due.run()
    assert set(asker.ends) == {True}
    return asker.values


@settings(max_examples=50)
@given(items=inputs, late=st.booleans(), at_a_time=st.integers(1, 3))
def test_all_agree_with_their_models(items, late, at_a_time):
    due = pull.Schedule(at_once=not late)
    ordered = [sorted(values) for values in items]
    assert read(pull.cat(sources(items, due)), due, at_a_time) == list(itertools.chain(*items))
    assert sorted(read(pull.many(sources(items, due)), due, at_a_time)) == sorted(itertools.chain(*items))
    assert read(pull.merge(sources(ordered, due)), due, at_a_time) == list(heapq.merge(*ordered))
    assert read(pull.zip_sources(*sources(items, due)), due, at_a_time) == list(itertools.zip_longest(*items))


MAKES = {
    "cat": pull.cat,
    "many": pull.many,
    "merge": pull.merge,
    "zip_sources": lambda given: pull.zip_sources(*given),
}
each_make = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)


@each_make
def test_of_nothing_is_empty(make):
    assert values_of(make([])) == []


@each_make
@pytest.mark.parametrize("asks", [0, 1])
@pytest.mark.parametrize("reason", [True, ERROR])
def test_an_abort_reaches_every_input_that_has_not_ended_and_is_answered_after_the_last(make, asks, reason):
    ups = [Upstream() for _ in range(3)]
    asker = Asker(make(ups)).ask(asks).abort(reason)
    assert [up.aborts for up in ups] == [[reason]] * 3
    for up in ups[1:]:
        up.confirm(reason)
        assert asker.answers == []
    ups[0].confirm(reason)
    assert asker.ends == [reason] * (asks + 1)


@each_make
def test_the_first_failed_close_is_told(make):
    ups, bad = [Upstream() for _ in range(3)], OSError("close")
    asker = Asker(make(ups)).abort()
    ups[0].confirm()
    ups[1].confirm(bad)
    ups[2].confirm(OSError("later"))
    assert asker.ends == [bad]


@each_make
def test_a_failure_of_one_aborts_the_others_with_it_first(make):
    ups = [Upstream() for _ in range(3)]
    asker = Asker(make(ups)).ask(2)
    ups[0].end(ERROR)
    assert [up.aborts for up in ups] == [[], [ERROR], [ERROR]]
    ups[1].confirm()
    assert asker.answers == []
    ups[2].confirm(OSError("close"))
    assert asker.ends == [ERROR, ERROR]


# cat


def test_cat_leaves_none_out_and_reads_one_after_the_other():
    second = pull.ref_source(1)
    asker = Asker(pull.cat([pull.values([7]), None, second])).ask()
    assert (asker.values, second.asked) == ([7], 0)
    assert asker.ask(2).values == [7, 1]


def test_cat_does_not_read_on_after_a_failure():
    told = []
    error, found = collected(pull.cat([pull.values([1]), pull.error(ERROR), pull.values([2], told.append)]))
    assert (error, found, told) == (ERROR, [1], [ERROR])


# many


def test_many_interleaves_and_holds_one_value_of_each():
    one, other = pull.ref_source(None), pull.ref_source(None)
    asker = Asker(pull.many([one, other])).ask(6)
    assert asker.values == [1, 1, 2, 2, 3, 3]
    assert max(one.given, other.given) <= 4


def test_many_gives_what_comes_first():
    slow, fast = Upstream(), Upstream()
    asker = Asker(pull.many([slow, fast])).ask(2)
    fast.give("fast")
    fast.give("again")
    assert asker.values == ["fast", "again"]
    assert len(slow.waiting) == 1


def test_many_goes_on_until_it_is_capped():
    many = pull.many()
    asker = Asker(many).ask()
    many.add(pull.values([1]))
    assert asker.values == [1]
    asker.ask()
    assert asker.ends == []
    many.add(pull.values([2]))
    many.cap()
    assert asker.ask(2).values == [1, 2]
    assert asker.ends == [True, True]


def test_many_aborts_what_is_added_after_the_end():
    many, late = pull.many([]), Upstream()
    Asker(many).ask()
    many.add(late)
    assert late.aborts == [True]
    failed, later = pull.many([pull.error(ERROR)]), Upstream()
    Asker(failed).ask()
    failed.add(later)
    assert later.aborts == [ERROR]


def test_many_drops_what_it_holds_when_one_fails():
    one, other = Upstream(), Upstream()
    many = pull.many([one, other])
    asker = Asker(many).ask()
    one.give(1)
    asker.ask()
    other.end(ERROR)
    one.confirm()
    assert asker.answers == [(None, 1), (ERROR, None)]


# merge


def test_merge_is_stable_and_keeps_equal_values():
    left, right = [("l", 1), ("l", 2)], [("r", 1), ("r", 2)]
    found = values_of(pull.merge([pull.values(left), pull.values(right)], lambda pair: pair[1]))
    assert found == [("l", 1), ("r", 1), ("l", 2), ("r", 2)]


def test_merge_takes_zero_and_false_for_values():
    assert values_of(pull.merge([pull.values([0, False, 1]), pull.values([0])])) == [0, 0, False, 1]


def test_merge_fails_when_values_cannot_be_compared():
    told = []
    error, found = collected(pull.merge([pull.values([1], told.append), pull.values(["a"], told.append)]))
    assert isinstance(error, TypeError)
    assert (found, told) == ([], [error, error])


def test_merge_names_the_key_that_raised():
    bad = ValueError("bad")
    assert collected(pull.merge([pull.values([1])], raising(bad)))[0] is bad
    assert bad.__notes__[0].startswith("in merge(raising.fn), parts.py:")


# zip_sources


def test_zip_fills_up_what_is_too_short():
    assert values_of(pull.zip_sources(pull.count(1), pull.count(0), fill="-")) == [(0, 0), (1, "-")]


def test_a_strict_zip_fails_when_lengths_differ():
    told = []
    source = pull.zip_sources(pull.count(0), pull.values("abc", told.append), pull.count(0), strict=True)
    error, found = collected(source)
    assert isinstance(error, pull.LengthError)
    assert str(error) == "zip_sources: sources [0, 2] ended before the others"
    assert (found, told) == ([(0, "a", 0)], [error])
    assert values_of(pull.zip_sources(pull.count(1), pull.count(1), strict=True)) == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pull.cat(5), "cat: sources must be an iterable of sources, got 5"),
        (lambda: pull.cat([pull.empty(), 5]), "cat: source 1 must be a source, got 5"),
        (lambda: pull.many([5]), "many: source 0 must be a source, got 5"),
        (lambda: pull.many(5), "many: sources must be an iterable of sources, got 5"),
        (lambda: pull.many().add(5), "many: source must be a source, got 5"),
        (lambda: pull.merge([5]), "merge: source 0 must be a source, got 5"),
        (lambda: pull.merge([], 5), "merge: key must be callable, got 5"),
        (lambda: pull.zip_sources(5), "zip_sources: source 0 must be a source, got 5"),
    ],
)
def test_refuses_what_makes_no_sense(make, message):
    with refuses(TypeError, message):
        make()
