"""pair is a sink whose values its source gives; notify gives each value to all who listen; defer_source waits."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, dropped, refuses, values_of

ERROR = ValueError("bad")


def test_a_pair_passes_requests_and_answers():
    pair, upstream = pull.pair(), Upstream()
    asker = Asker(pair.source).ask(2)
    pull.pull(upstream, pair.sink)
    assert len(upstream.waiting) == 2
    upstream.give(1)
    upstream.end()
    assert asker.answers == [(None, 1), (True, None)]


def test_a_pair_reads_nothing_before_its_source_is_read():
    pair, upstream = pull.pair(), Upstream()
    pull.pull(upstream, pair.sink)
    assert upstream.waiting == []


def test_a_pair_is_filled_once():
    pair = pull.pair()
    pull.pull(pull.empty(), pair.sink)
    with refuses(pull.PullError, "property B15: pair is resolved already"):
        pull.pull(pull.empty(), pair.sink)


# defer_source


def test_what_was_asked_before_it_is_known_is_asked_in_order():
    deferred = pull.defer_source()
    asker = Asker(deferred).ask(3)
    deferred.resolve(pull.values([1, 2]))
    assert asker.answers == [(None, 1), (None, 2), (True, None)]


def test_asks_from_inside_an_answer_come_after_those_that_waited():
    deferred, order = pull.defer_source(), []

    def answer(name):
        def answered(end, value=None):
            order.append((name, value))
            if name == "first":
                deferred(None, answer("inside"))

        return answered

    for name in ("first", "second", "third"):
        deferred(None, answer(name))
    deferred.resolve(pull.values([1, 2, 3, 4]))
    assert order == [("first", 1), ("second", 2), ("third", 3), ("inside", 4)]


@pytest.mark.parametrize("reason", [True, ERROR])
def test_an_abort_before_it_is_known_ends_who_waits_and_the_source_when_it_comes(reason):
    deferred, upstream = pull.defer_source(), Upstream()
    asker = Asker(deferred).ask(2).abort(reason)
    assert asker.answers == [(reason, None)] * 3
    deferred.resolve(upstream)
    assert (upstream.aborts, upstream.waiting) == ([reason], [])
    assert asker.ask().abort().ends == [reason] * 5


@pytest.mark.parametrize("reason", [True, ERROR])
def test_an_abort_while_it_passes_asks_on_ends_the_rest(reason):
    deferred, upstream = pull.defer_source(), Upstream()
    asker = Asker(deferred)

    def first(end, value=None):
        asker.answer(end, value)
        asker.abort(reason)

    def answering(abort, answer=None):
        upstream(abort, answer)
        if abort is None:
            upstream.give("one")

    deferred(None, first)
    asker.ask(2)
    deferred.resolve(answering)
    assert (asker.answers, upstream.aborts) == ([(None, "one")], [reason])
    asker.ask()
    upstream.confirm(reason)
    assert asker.answers == [(None, "one")] + [(reason, None)] * 4


@pytest.mark.parametrize("error", [None, ERROR])
def test_it_may_be_aborted_from_outside(error):
    reason = True if error is None else error
    early, late, upstream = pull.defer_source(), pull.defer_source(), Upstream()
    asker = Asker(early).ask()
    early.abort(error)
    assert asker.ends == [reason]
    late.resolve(upstream)
    late.abort(error)
    assert upstream.aborts == [reason]


def test_a_failed_close_that_nobody_hears_of_is_reported():
    deferred, bad = pull.defer_source(), OSError("close")
    deferred.abort()
    with dropped() as reported:
        deferred.resolve(lambda abort, answer=None: answer(bad))
    assert [(each.what, each.error) for each in reported] == [("pull: a source failed to close", bad)]


def test_it_is_resolved_once_and_with_a_source():
    deferred = pull.defer_source()
    with refuses(TypeError, "defer_source: source must be a source, got 5"):
        deferred.resolve(5)
    deferred.resolve(pull.values([1]))
    with refuses(pull.PullError, "property B15: defer_source is resolved already"):
        deferred.resolve(pull.empty())
    assert values_of(deferred) == [1]


# notify


def test_notify_gives_each_value_to_all_who_listen():
    notify = pull.notify()
    notify("nobody")
    one = Asker(notify.listen()).ask(2)
    notify(1)
    other = notify.listen()
    notify(2)
    notify(3)
    assert one.values == [1, 2]
    assert other.buffer == (2, 3)
    assert notify.listeners == 2


@pytest.mark.parametrize("error", [None, ERROR])
def test_an_end_comes_after_what_was_given_and_is_told_to_latecomers(error):
    notify = pull.notify()
    listener = notify.listen()
    notify(1)
    notify.end(error)
    end = True if error is None else error
    assert Asker(listener).ask(2).answers == [(None, 1), (end, None)]
    assert Asker(notify.listen()).ask().answers == [(end, None)]
    assert notify.listeners == 0


@pytest.mark.parametrize("error", [None, ERROR])
def test_an_abort_ends_all_at_once(error):
    notify = pull.notify()
    listener = notify.listen()
    notify(1)
    notify.abort(error)
    assert Asker(listener).ask().answers == [(True if error is None else error, None)]


def test_a_listener_that_aborts_is_forgotten():
    notify = pull.notify()
    first, second = notify.listen(), notify.listen()
    Asker(first).abort()
    assert notify.listeners == 1
    notify(1)
    assert second.buffer == (1,)


def test_notify_ends_whoever_begins_to_listen_while_it_ends():
    class Listeners(list):
        def append(self, listener):
            notify.end()
            super().append(listener)

    notify, told = pull.notify(), []
    notify._listeners = Listeners()
    pull.pull(notify.listen(), pull.drain(None, told.append))
    assert (told, notify.listeners) == ([None], 0)
