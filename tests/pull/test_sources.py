"""Sources give their values in order, lazily, once, and let go of what they hold at the first end."""

from __future__ import annotations

import itertools

import pytest

from penstock import pull
from tests.pull.parts import Asker, collected, dropped, refuses, values_of


class Items:
    """Be an iterator that can be closed, or fails to."""

    def __init__(self, count=3, *, error=None, close_error=None):
        self.items = iter(range(count))
        self.error = error
        self.close_error = close_error
        self.closed = 0
        self.taken = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.taken += 1
        for item in self.items:
            return item
        if self.error is not None:
            raise self.error
        raise StopIteration

    def close(self):
        self.closed += 1
        if self.close_error is not None:
            raise self.close_error


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (lambda: pull.values([1, None, 0, False, ""]), [1, None, 0, False, ""]),
        (lambda: pull.values({"a": 1, "b": 2}), [1, 2]),
        (lambda: pull.values("ab"), ["a", "b"]),
        (lambda: pull.keys({"a": 1, "b": 2}), ["a", "b"]),
        (lambda: pull.once(None), [None]),
        (lambda: pull.count(3), [0, 1, 2, 3]),
        (lambda: pull.count(0), [0]),
        (lambda: pull.empty(), []),
        (lambda: pull.from_iter(n for n in (1, 2)), [1, 2]),
        (lambda: pull.pull(pull.count(), pull.take(3)), [0, 1, 2]),
        (lambda: pull.pull(pull.infinite(itertools.count(5).__next__), pull.take(2)), [5, 6]),
    ],
)
def test_gives_its_values(source, wanted):
    assert values_of(source()) == wanted
    asker = Asker(source()).ask(len(wanted) + 2)
    assert asker.answers == [*((None, value) for value in wanted), (True, None), (True, None)]


def test_infinite_gives_random_numbers_by_itself():
    found = values_of(pull.infinite(), pull.take(3))
    assert len(set(found)) == 3
    assert all(0 <= number < 1 for number in found)


def test_an_error_is_told_at_the_first_ask_and_ever_after():
    error = OSError("no disk")
    asker = Asker(pull.error(error)).ask(2).abort()
    assert [end is error for end in asker.ends] == [True] * 3


def test_nothing_is_opened_before_the_first_ask():
    opened = []

    class Lazy:
        def __iter__(self):
            opened.append(True)
            return iter([1])

    source = pull.values(Lazy())
    assert opened == []
    Asker(source).ask()
    assert opened == [True]


def test_what_is_never_asked_is_never_opened():
    asker = Asker(pull.values(Items(error=OSError("never")))).abort()
    assert asker.answers == [(True, None)]


@pytest.mark.parametrize("asks", range(5))
def test_an_abort_closes_the_iterator_once(asks):
    items, told = Items(), []
    asker = Asker(pull.values(items, told.append)).ask(asks).abort().abort().ask()
    assert items.closed == (asks > 0)
    assert told == ([None] if asks < 4 else [])
    assert asker.ends == [True] * (len(asker.answers) - min(asks, 3))


def test_an_abort_with_an_error_is_told_and_answered():
    told, why = [], ValueError("why")
    asker = Asker(pull.values([1], told.append)).ask().abort(why)
    assert told == [why]
    assert asker.ends == [why]


def test_a_generator_is_closed():
    seen = []

    def numbers():
        try:
            yield 1
            yield 2
        finally:
            seen.append("closed")

    assert values_of(pull.from_iter(numbers()), pull.take(1)) == [1]
    assert seen == ["closed"]


def test_an_iterator_is_closed_when_it_is_used_up():
    items = Items()
    assert values_of(pull.from_iter(items)) == [0, 1, 2]
    assert items.closed == 1


def test_a_failed_close_is_told_in_the_answer_of_a_plain_abort():
    error = OSError("close")
    asker = Asker(pull.values(Items(close_error=error))).ask().abort().ask()
    assert asker.ends == [error, error]


def test_a_failed_close_is_told_at_the_end():
    error = OSError("close")
    assert collected(pull.values(Items(close_error=error))) == (error, [0, 1, 2])
    assert collected(pull.values(Items(close_error=error)), pull.map(abs)) == (error, [0, 1, 2])


def test_a_failed_close_does_not_hide_the_reason_of_an_abort():
    error, why = OSError("close"), ValueError("why")
    with dropped() as reported:
        asker = Asker(pull.values(Items(close_error=error))).ask().abort(why)
    assert asker.ends == [why]
    assert [each.error for each in reported] == [error]


def test_a_failed_close_does_not_hide_what_failed_before():
    error, first = OSError("close"), ValueError("first")
    with dropped() as reported:
        assert collected(pull.values(Items(error=first, close_error=error))) == (first, [0, 1, 2])
    assert [each.error for each in reported] == [error]


def test_an_error_of_the_iterator_is_the_end():
    error = ValueError("bad")
    assert collected(pull.values(Items(error=error))) == (error, [0, 1, 2])
    assert collected(pull.values(Items(error=error)), pull.map(abs)) == (error, [0, 1, 2])


def test_a_stop_that_leaks_from_a_function_is_an_error():
    def leaks():
        raise StopIteration

    error, found = collected(pull.infinite(leaks))
    assert isinstance(error, RuntimeError)
    assert found == []


def test_an_indication_needs_no_answer():
    items = Items()
    source = pull.values(items)
    asker = Asker(source).ask()
    source(True)
    source(ValueError("late"))
    assert asker.ask().answers == [(None, 0), (True, None)]
    assert items.closed == 1


def test_an_ask_without_an_answer_function_is_refused():
    message = "property B6: an ask came without an answer function; only an abort may do without"
    for source in (pull.values([1]), pull.pushable(), pull.defer_source(), pull.pull(pull.pushable(), pull.map(abs))):
        with refuses(pull.PullError, message):
            source(None)


def test_false_asks_as_none_does():
    asker = Asker(pull.values([1]))
    asker.read(False, asker.answer)
    assert asker.answers == [(None, 1)]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pull.values(5), TypeError, "values: items must be iterable, got 5"),
        (lambda: pull.from_iter(None), TypeError, "from_iter: items must be iterable, got None"),
        (lambda: pull.keys([1]), TypeError, "keys: items must be a mapping, got [1]"),
        (lambda: pull.values([1], 5), TypeError, "values: on_abort must be callable, got 5"),
        (lambda: pull.once(1, 5), TypeError, "once: on_abort must be callable, got 5"),
        (lambda: pull.count(-1), ValueError, "count: stop must be >= 0, got -1"),
        (lambda: pull.count(True), TypeError, "count: stop must be a whole number, got True"),
        (lambda: pull.count(1.5), TypeError, "count: stop must be a whole number, got 1.5"),
        (lambda: pull.infinite(5), TypeError, "infinite: generate must be callable, got 5"),
        (lambda: pull.error("no"), TypeError, "error: exception must be an Exception, got 'no'"),
    ],
)
def test_refuses_what_makes_no_sense(make, error, message):
    with refuses(error, message):
        make()
