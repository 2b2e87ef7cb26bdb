"""A neighbour that breaks the protocol is reported by property and isolated; nothing hangs."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, dropped, raising

ERROR = ValueError("bad")
THROUGHS = {
    "map": lambda: pull.map(lambda value: value),
    "filter": lambda: pull.filter(lambda value: True),
    "take": lambda: pull.take(99),
    "flatten": lambda: pull.flatten(),
    "batch": lambda: pull.pull(pull.batch(1), pull.flatten()),
    "buffer": lambda: pull.buffer(1),
    "catch": lambda: pull.catch(raising(ERROR)),
    "queue_through": lambda: pull.queue_through(lambda queue, value: queue.put(value)),
    "async_map": lambda: pull.async_map(lambda value, finished: finished(None, value)),
    "abortable": lambda: pull.abortable(),
    "many": lambda: lambda read: pull.many([read]),
    "cat": lambda: lambda read: pull.cat([read]),
}
each_through = pytest.mark.parametrize("make", THROUGHS.values(), ids=THROUGHS)


def ids(reported):
    return [each.error.property_id for each in reported]


@each_through
def test_a_second_answer_is_reported_and_ignored_at_once_and_later(make):
    answers = []

    def source(abort, answer=None):
        answers.append(answer)
        if abort is not None:
            answer(True)

    asker = Asker(pull.pull(source, make())).ask()
    with dropped() as reported:
        answers[0](None, 1)
        answers[0](None, "again")
        asker.ask()
        answers[0](None, "late")
        answers[-1](None, 2)
    assert asker.values == [1, 2]
    assert ids(reported) == ["B2", "B2"]


def test_a_second_answer_to_a_sink_is_reported_and_ignored():
    upstream, seen, told = Upstream(), [], []
    pull.pull(upstream, pull.drain(seen.append, told.append))
    answer = upstream.waiting[0]
    with dropped() as reported:
        upstream.give(1)
        answer(None, "again")
        upstream.end()
        answer(ERROR)
    assert (seen, told, ids(reported)) == ([1], [None], ["B2", "B2"])


def test_an_answer_out_of_turn_fails_the_stream():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.map(str))).ask(3)
    upstream.waiting.pop(1)(None, "second")
    assert asker.answers == []
    upstream.confirm()
    assert [str(end) for end in asker.ends] == ["property B3: request 2 was answered before request 1"] * 3
    assert [str(each) for each in upstream.aborts] == ["property B3: request 2 was answered before request 1"]


def test_a_value_after_the_end_is_reported_and_ignored():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.map(str))).ask(2)
    with dropped() as reported:
        upstream.end()
        upstream.give("late")
    assert asker.answers == [(True, None)] * 2
    assert ids(reported) == ["B7"]


@each_through
def test_a_value_that_comes_after_an_abort_is_dropped(make):
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, make())).ask().abort()
    upstream.give("in flight")
    upstream.confirm()
    assert asker.answers == [(True, None)] * 2


@each_through
def test_a_read_that_raises_ends_the_stream_with_that(make):
    error, _ = collected(lambda abort, answer=None: raise_it(), make())
    assert error is ERROR
    assert "in a read that raised instead of answering (property F10)" in ERROR.__notes__


def raise_it():
    raise ERROR


def test_a_read_that_raises_ends_a_sink_with_that():
    told = []
    pull.pull(lambda abort, answer=None: raise_it(), pull.drain(None, told.append))
    assert told == [ERROR]


@each_through
def test_a_read_that_raises_at_an_abort_confirms_it_with_that(make):
    def source(abort, answer=None):
        if abort is not None:
            raise ERROR

    asker = Asker(pull.pull(source, make())).ask().abort()
    assert asker.ends == [ERROR, ERROR]


def test_a_read_that_raises_at_the_abort_of_a_sink_is_told():
    def source(abort, answer=None):
        if abort is not None:
            raise ERROR
        answer(None, 1)

    told = []
    pull.pull(source, pull.drain(lambda value: False, told.append))
    assert told == [ERROR]


@each_through
def test_a_read_that_raises_after_it_has_answered_ends_the_stream(make):
    def source(abort, answer=None):
        answer(None, 1)
        raise ERROR

    asker = Asker(pull.pull(source, make())).ask().ask(2)
    assert asker.ends[-2:] == [ERROR, ERROR]
    assert asker.values in ([], [1])


@each_through
def test_an_answer_function_that_raises_harms_nobody_else(make):
    upstream = Upstream()
    source = pull.pull(upstream, make())
    others = Asker(source)
    bad = ValueError("in an answer function")
    with dropped() as reported:
        source(None, raising(bad))
        others.ask(2)
        upstream.give(1)
        upstream.give(2)
        upstream.end()
    assert others.answers == [(None, 2), (True, None)]
    assert [(each.what, each.error) for each in reported] == [("property F10: an answer function raised", bad)]


@each_through
def test_an_upstream_that_never_answers_does_not_keep_an_abort_from_going_up(make):
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, make())).ask(3).abort()
    assert upstream.aborts == [True]
    assert asker.answers == []
    upstream.confirm()
    assert asker.answers == [(True, None)] * 4


def test_an_error_that_is_no_exception_is_an_error_all_the_same():
    class Stop(BaseException):
        pass

    stop, told = Stop(), []
    pull.pull(lambda abort, answer=None: answer(stop), pull.map(str), pull.flatten(), pull.drain(None, told.append))
    assert told == [stop]


@each_through
@pytest.mark.parametrize("end", ["bad", 0, ValueError], ids=repr)
def test_an_answer_that_is_neither_a_value_nor_an_end_is_a_failure(make, end):
    told = []
    pull.pull(lambda abort, answer=None: answer(end), make(), pull.drain(None, told.append))
    if make is THROUGHS["catch"]:
        assert told == [ERROR]
    else:
        assert [str(error) for error in told] == [
            f"property B6: a request was answered with {end!r}, which is neither a value nor an end"
        ]


def test_a_checker_tells_the_consumer_of_a_read_that_raised():
    watched, told = pull.checker(), []
    pull.pull(lambda abort, answer=None: raising(ERROR)(), watched, pull.drain(None, told.append))
    assert told == [ERROR]
    assert [fault.property_id for fault in watched.faults] == ["F10"]


def test_a_checker_names_an_answer_that_is_neither_a_value_nor_an_end():
    watched = pull.checker()
    pull.pull(lambda abort, answer=None: answer("bad"), watched, pull.drain(None, lambda error: None))
    assert [str(fault) for fault in watched.faults] == [
        "property B6: request 1 was answered with 'bad', which is neither a value nor an end"
    ]


@pytest.mark.parametrize("make", [lambda: pull.map(str), lambda: pull.batch(1)], ids=["map", "batch"])
def test_a_source_that_stops_when_it_is_opened_has_failed(make):
    told = []
    pull.pull(pull.error(StopIteration("bad")), make(), pull.drain(None, told.append))
    assert [str(error) for error in told] == [
        "pull: a source that was opened raised StopIteration; that is an error, not an end"
    ]
