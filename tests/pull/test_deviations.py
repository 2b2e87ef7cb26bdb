"""Where npm's pull-stream and its satellites leave the protocol, the modules of the same name here do not."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, dropped, values_of

ERROR = ValueError("bad")
SOURCES = {
    "values": lambda: pull.values([1, 2, 3]),
    "keys": lambda: pull.keys({1: 1, 2: 2}),
    "once": lambda: pull.once(1),
    "count": lambda: pull.count(),
    "infinite": lambda: pull.infinite(),
}
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


@each_source
@pytest.mark.parametrize("reason", [True, ERROR])
def test_sources_give_no_value_again_after_an_abort(source, reason):
    asker = Asker(source()).abort(reason).ask(3)
    assert asker.answers == [(reason, None)] * 4


@each_source
def test_sources_take_an_abort_without_an_answer_function(source):
    made = source()
    made(True)
    assert Asker(made).ask().ends == [True]


def test_once_of_nothing_gives_that_and_count_of_zero_has_an_end():
    assert values_of(pull.once(None)) == [None]
    assert values_of(pull.count(0)) == [0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pull.async_map(lambda value, finished: finished(None, value)),
        lambda: pull.para_map(lambda value, finished: finished(None, value), 2),
        lambda: pull.take(9),
        lambda: pull.flatten(),
        lambda: pull.filter(lambda value: True),
        lambda: pull.buffer(2),
        lambda: pull.pair(),
    ],
)
def test_no_answer_is_lost_under_concurrent_asks(make):
    due = pull.Schedule()
    asker = Asker(pull_source(pull.pull(pull.ref_source(5, schedule=due), make()))).ask(20)
    due.run()
    assert asker.answers == [*((None, n) for n in range(1, 6)), *[(True, None)] * 15]


def pull_source(made):
    return made if isinstance(made, pull.PullSource) else made.source


def test_pushable_and_defer_keep_every_ask_that_waits():
    pushed, deferred = pull.pushable(), pull.defer_source()
    one, other = Asker(pushed).ask(3), Asker(deferred).ask(3)
    for value in (1, 2, 3):
        pushed.push(value)
    deferred.resolve(pull.values([1, 2, 3]))
    assert one.values == other.values == [1, 2, 3]


def test_take_aborts_once_and_not_what_has_ended():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.take(1))).ask(2).abort().abort()
    upstream.give(1)
    upstream.confirm()
    assert (upstream.aborts, len(asker.ends)) == ([True], 4)
    ended = Upstream()
    asker = Asker(pull.pull(ended, pull.take(1))).ask()
    ended.end()
    assert (asker.abort().ask().ends, ended.aborts) == ([True] * 3, [])


def test_take_none_takes_nothing():
    assert values_of(pull.count(), pull.take(0)) == []


def test_throughs_can_be_used_again():
    take, unique = pull.take(1), pull.unique()
    for _ in range(2):
        assert values_of(pull.values([1, 1]), unique, take) == [1]


@pytest.mark.parametrize("make", [pull.filter, pull.take_while], ids=["filter", "take_while"])
def test_predicates_that_raise_end_the_stream_and_do_not_escape(make):
    told = []

    def predicate(value):
        raise ERROR

    assert collected(pull.values([1], told.append), make(predicate)) == (ERROR, [])
    assert told == [ERROR]


def test_para_map_answers_asks_that_wait_before_the_abort_and_never_with_a_value():
    works = []
    asker = Asker(pull.pull(pull.count(), pull.para_map(lambda value, finished: works.append(finished), 2))).ask()
    asker.abort()
    for finished in works:
        finished(None, "late")
    assert asker.answers == [(True, None), (True, None)]


def test_para_map_errors_wait_for_their_turn_and_abort_upstream():
    works, told = [], []
    source = pull.values([1, 2], told.append)
    asker = Asker(pull.pull(source, pull.para_map(lambda value, finished: works.append(finished), 2))).ask(2)
    works[1](ERROR)
    assert asker.answers == []
    works[0](None, "one")
    assert (asker.answers, told) == ([(None, "one"), (ERROR, None)], [ERROR])


def test_many_is_aborted_while_an_input_is_stuck():
    stuck = Upstream()
    asker = Asker(pull.many([stuck])).ask().abort()
    stuck.confirm()
    assert asker.ends == [True, True]


def test_merge_keeps_equal_values_and_the_errors_of_both_sides():
    assert values_of(pull.merge([pull.values([1]), pull.values([1])])) == [1, 1]
    for sources in ([pull.error(ERROR), pull.empty()], [pull.empty(), pull.error(ERROR)]):
        assert collected(pull.merge(sources)) == (ERROR, [])


def test_zip_hears_of_aborts_and_errors():
    told = []
    Asker(pull.zip_sources(pull.values([1], told.append), pull.values([1], told.append))).abort(ERROR)
    assert told == [ERROR, ERROR]
    assert collected(pull.zip_sources(pull.empty(), pull.error(ERROR))) == (ERROR, [])


def test_a_queue_takes_none_for_a_value():
    made = pull.queue_through(lambda queue, value: queue.put(value))
    assert values_of(pull.values([None, 1]), made) == [None, 1]


def test_an_abort_before_a_deferred_source_is_known_lets_no_value_through():
    deferred = pull.defer_source()
    asker = Asker(deferred).ask().abort()
    deferred.resolve(pull.values([1]))
    assert asker.answers == [(True, None), (True, None)]


def test_abortable_passes_an_abort_from_below_on_and_answers_once():
    upstream, switch = Upstream(), pull.abortable()
    asker = Asker(pull.pull(upstream, switch)).ask().abort()
    switch.abort()
    upstream.confirm()
    assert (upstream.aborts, asker.answers) == ([True], [(True, None)] * 2)


def test_catch_asks_nothing_of_an_upstream_that_has_failed():
    upstream = Upstream()
    Asker(pull.pull(upstream, pull.catch(str))).ask(3)
    upstream.end(ERROR)
    assert upstream.waiting == []


def test_flat_map_drops_its_queue_at_an_abort():
    asker = Asker(pull.pull(pull.values([1]), pull.flat_map(lambda value: [value] * 3))).ask().abort().ask()
    assert asker.values == [1]


def test_a_buffer_stops_reading_at_an_abort_and_gives_what_it_holds_before_an_error():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.buffer(5))).ask()
    asker.abort()
    assert len(upstream.waiting) == 1
    upstream.confirm()
    assert (upstream.waiting, asker.ends) == ([], [True, True])


def test_drain_tells_none_when_it_stops_and_keeps_an_abort_that_came_early():
    told = []
    pull.pull(pull.count(), pull.drain(lambda value: False, told.append))
    early = pull.drain(None, told.append)
    early.abort(ERROR)
    pull.pull(pull.count(), early)
    assert told == [None, ERROR]


def test_notify_forgets_who_has_left():
    notify = pull.notify()
    listener = notify.listen()
    Asker(listener).abort()
    notify(1)
    assert (notify.listeners, listener.buffer) == (0, ())


def test_a_batch_that_is_old_does_not_wait_for_upstream():
    from penstock import VirtualClock

    clock, upstream = VirtualClock(), Upstream()
    asker = Asker(pull.pull(upstream, pull.batch(9, 1, clock=clock))).ask()
    upstream.give(1)
    clock.advance(1)
    assert asker.values == [[1]]


def test_an_abort_that_nobody_hears_of_is_not_swallowed_when_it_fails():
    deferred = pull.defer_source()
    deferred.abort()
    with dropped() as reported:
        deferred.resolve(lambda abort, answer=None: answer(ERROR))
    assert [each.error for each in reported] == [ERROR]
