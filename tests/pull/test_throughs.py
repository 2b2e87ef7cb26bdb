"""Throughs of one value at a time agree with their list models, aborted at any place, and say who raised."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, raising, refuses, values_of


def odd(n):
    return n % 2


def small(n):
    return n < 3


def taken_while_last(items):
    kept = list(itertools.takewhile(small, items))
    return items[: len(kept) + 1]


def first_of_each(items):
    return list(dict.fromkeys(items))


def repeats(items):
    return [item for position, item in enumerate(items) if item in items[:position]]


MODELS = {
    "map": (lambda: pull.map(str), lambda items: [str(item) for item in items]),
    "filter": (lambda: pull.filter(odd), lambda items: [item for item in items if odd(item)]),
    "filter_not": (lambda: pull.filter_not(odd), lambda items: [item for item in items if not odd(item)]),
    "take": (lambda: pull.take(3), lambda items: items[:3]),
    "take none": (lambda: pull.take(0), lambda items: []),
    "take_while": (lambda: pull.take_while(small), lambda items: list(itertools.takewhile(small, items))),
    "take_while last": (lambda: pull.take_while(small, last=True), taken_while_last),
    "unique": (pull.unique, first_of_each),
    "non_unique": (pull.non_unique, repeats),
    "through": (pull.through, lambda items: items),
    "scan": (lambda: pull.scan(lambda a, b: a + b, 0), lambda items: list(itertools.accumulate(items))),
}
MODELS["unique by key"] = (
    lambda: pull.unique(odd),
    lambda items: [item for at, item in enumerate(items) if odd(item) not in map(odd, items[:at])],
)
each_model = pytest.mark.parametrize("name", MODELS)
items_given = st.lists(st.integers(0, 5), max_size=12)


@each_model
@settings(max_examples=30)
@given(items=items_given, schedule=st.booleans(), at_a_time=st.integers(1, 5))
def test_agrees_with_its_model_however_it_is_asked(name, items, schedule, at_a_time):
    make, model = MODELS[name]
    due = pull.Schedule(at_once=schedule)
    asker = Asker(pull.pull(late(items, due), make()))
    while not asker.ends:
        asker.ask(at_a_time)
        due.run()
    assert asker.values == model(items)
    assert set(asker.ends) == {True}
    assert values_of(pull.values(items), make()) == model(items)


def late(items, due):
    """Give items when the schedule says so, and not by an iterator."""

    def through(read):
        def request(abort, answer=None):
            def answered(end, value=None):
                answer(end, None if value is None else items[value - 1])

            read(abort, answer and answered)

        return request

    return pull.pull(pull.ref_source(len(items), schedule=due), through)


@each_model
@settings(max_examples=30)
@given(items=items_given, asks=st.integers(0, 8), schedule=st.booleans(), error=st.booleans())
def test_an_abort_at_any_place_gives_a_prefix_and_ends(name, items, asks, schedule, error):
    make, model = MODELS[name]
    due = pull.Schedule(at_once=schedule)
    reason = ValueError("why") if error else True
    watched = pull.checker(strict=True)
    asker = Asker(pull.pull(late(items, due), watched, make())).ask(asks)
    asker.abort(reason).ask(2).abort()
    due.run()
    assert asker.values == model(items)[: len(asker.values)]
    assert len(asker.answers) == asks + 4
    assert None not in [end for end, _ in asker.answers[asks:]]
    watched.verify()


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("map", lambda fn: pull.map(fn)),
        ("filter", lambda fn: pull.filter(fn)),
        ("filter_not", lambda fn: pull.filter_not(fn)),
        ("take_while", lambda fn: pull.take_while(fn)),
        ("unique", lambda fn: pull.unique(fn)),
        ("non_unique", lambda fn: pull.non_unique(fn)),
        ("through", lambda fn: pull.through(fn)),
        ("scan", lambda fn: pull.scan(fn, 0)),
    ],
)
def test_a_function_that_raises_ends_the_stream_and_is_named(fused, name, make):
    bad = ValueError("bad")

    def parse(*arguments):
        if arguments[-1] == 2:
            raise bad
        return True

    told = []
    source = [pull.values([1, 2, 3], told.append if not fused else None), pull.map(int), make(parse)]
    error, found = collected(*source)
    assert error is bad
    assert len(found) <= 1
    assert [note for note in bad.__notes__ if re.match(rf"in {name}\(.*parse\), test_throughs.py:\d+$", note)]
    assert told == ([] if fused else [bad])


@pytest.mark.parametrize("fused", [True, False])
def test_a_stop_that_leaks_from_a_function_is_an_error(fused):
    def leaks(value):
        return next(iter(()))

    source = [pull.values([1]), *([] if fused else [lambda read: read]), pull.map(leaks)]
    error, _ = collected(*source)
    assert isinstance(error, RuntimeError)
    assert str(error) == (
        "map(test_a_stop_that_leaks_from_a_function_is_an_error.leaks): the function raised StopIteration; "
        "that is an error, not an end"
    )


@pytest.mark.parametrize(
    ("end", "abort", "wanted"), [(True, None, None), ("fails", None, "fails"), (True, True, None), (True, "why", "why")]
)
def test_a_hook_is_told_once_how_it_ended(end, abort, wanted):
    errors = {name: ValueError(name) for name in ("fails", "why")}
    told, seen = [], []
    source = pull.pull(pull.ref_source(2, errors.get(end, end)), pull.through(seen.append, told.append))
    asker = Asker(source).ask(3 if abort is None else 1)
    asker.abort(errors.get(abort, True)).abort().ask()
    assert told == [errors.get(wanted)]
    assert seen == [1, 2][: len(asker.values)]


def test_a_hook_that_raises_harms_nobody():
    from tests.pull.parts import dropped

    bad = ValueError("bad")
    with dropped() as reported:
        assert values_of(pull.values([1]), pull.through(None, raising(bad))) == [1]
    assert [each.error for each in reported] == [bad]


async def later(value):
    return value


@pytest.mark.parametrize(
    ("name", "parameter", "make"),
    [
        ("map", "fn", pull.map),
        ("filter", "predicate", pull.filter),
        ("flat_map", "fn", pull.flat_map),
        ("drain", "op", pull.drain),
        ("reduce", "fn", lambda fn: pull.reduce(fn, 0, print)),
        ("sliding", "fn", lambda fn: pull.sliding(fn, 2)),
    ],
)
def test_a_coroutine_function_is_refused_and_the_cure_named(name, parameter, make):
    with refuses(
        TypeError, f"{name}: {parameter} must not be a coroutine function, got {later!r}; async_map awaits one"
    ):
        make(later)


def test_take_asks_for_no_more_than_it_lets_through():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.take(2))).ask(3)
    upstream.give(1)
    upstream.give(2)
    assert (asker.values, upstream.waiting, upstream.aborts) == ([1, 2], [], [True])
    assert asker.ends == []  # not before it is confirmed
    upstream.confirm()
    assert asker.ends == [True]


def test_take_none_asks_for_nothing():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.take(0))).ask()
    assert (upstream.waiting, upstream.aborts) == ([], [True])
    upstream.confirm()
    assert asker.answers == [(True, None)]


def test_take_that_is_not_asked_again_leaves_upstream_open():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.take(1))).ask()
    upstream.give(1)
    assert (asker.values, upstream.aborts) == ([1], [])


def test_a_failed_close_is_told_by_the_ask_that_stops():
    upstream, error = Upstream(), OSError("close")
    asker = Asker(pull.pull(upstream, pull.take(1))).ask(2)
    upstream.give(1)
    upstream.confirm(error)
    assert asker.answers == [(None, 1), (error, None)]


def test_asks_are_passed_on_as_they_come_where_one_value_makes_one():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.map(str), pull.scan(lambda a, b: a + b, ""), pull.through())).ask(3)
    assert len(upstream.waiting) == 3
    for value in (1, 2, 3):
        upstream.give(value)
    assert asker.values == ["1", "12", "123"]


def test_a_failure_holds_younger_answers_until_upstream_has_confirmed_it():
    upstream, bad = Upstream(), ValueError("bad")
    asker = Asker(pull.pull(upstream, pull.map(raising(bad, 1)))).ask(3)
    upstream.give(1)
    assert (asker.answers, upstream.aborts) == ([], [bad])
    upstream.confirm(OSError("close"))
    assert asker.answers == [(bad, None)] * 3


def test_an_error_that_is_false_is_an_error():
    class FalseError(Exception):
        def __bool__(self):
            return False

    false = FalseError("false")
    assert collected(pull.values([1]), pull.map(raising(false))) == (false, [])
    assert collected(pull.error(false), pull.buffer(2), pull.flatten()) == (false, [])
    asker = Asker(pull.pull(pull.pushable(), pull.map(abs), pull.flatten())).abort(false).ask()
    assert asker.ends == [false, false]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pull.map(5), TypeError, "map: fn must be callable, got 5"),
        (lambda: pull.filter(None), TypeError, "filter: predicate must be callable, got None"),
        (lambda: pull.filter_not(5), TypeError, "filter_not: predicate must be callable, got 5"),
        (lambda: pull.take(-1), ValueError, "take: count must be >= 0, got -1"),
        (lambda: pull.take(2.0), TypeError, "take: count must be a whole number, got 2.0"),
        (lambda: pull.take(True), TypeError, "take: count must be a whole number, got True"),
        (lambda: pull.take_while(5), TypeError, "take_while: predicate must be callable, got 5"),
        (lambda: pull.unique(5), TypeError, "unique: key must be callable, got 5"),
        (lambda: pull.non_unique(5), TypeError, "non_unique: key must be callable, got 5"),
        (lambda: pull.through(5), TypeError, "through: op must be callable, got 5"),
        (lambda: pull.through(None, 5), TypeError, "through: on_end must be callable, got 5"),
        (lambda: pull.scan(5, 0), TypeError, "scan: fn must be callable, got 5"),
        (lambda: pull.map(print)(5), TypeError, "map: source must be a source, got 5"),
    ],
)
def test_refuses_what_makes_no_sense(make, error, message):
    with refuses(error, message):
        make()
