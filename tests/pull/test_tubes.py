"""pair is a sink whose values its source gives; notify gives each value to all who listen; defer_source waits."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, dropped, refuses, values_of

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


# The end of defer_source and pair, and at most one abort


def deferred(made):
    return made, made.resolve


def tube(made):
    return made.source, made.sink


LATE = {
    "defer_source": lambda: deferred(pull.defer_source()),
    "pair": lambda: tube(pull.pair()),
}


@pytest.mark.parametrize("make", LATE.values(), ids=LATE)
def test_an_abort_inside_the_answer_that_carried_the_end_changes_nothing(make):
    source, connect = make()
    upstream, answers = Upstream(), []

    def answer(end, value=None):
        answers.append(end)
        if len(answers) == 1:
            source(ERROR, answer)

    connect(upstream)
    source(None, answer)
    upstream.end()
    source(None, answer)
    assert (answers, upstream.aborts, upstream.waiting) == ([True] * 3, [], [])


@pytest.mark.parametrize("make", LATE.values(), ids=LATE)
def test_at_most_one_abort_goes_up_and_nothing_after_the_end(make):
    source, connect = make()
    upstream = Upstream()
    connect(upstream)
    asker = Asker(source).ask().abort().abort(ERROR).ask()
    assert (upstream.aborts, len(upstream.waiting)) == ([True], 1)
    upstream.confirm()
    asker.abort(ERROR).ask()
    assert (upstream.aborts, upstream.waiting) == ([True], [])
    assert asker.answers == [(True, None)] * 6


@pytest.mark.parametrize("make", LATE.values(), ids=LATE)
def test_a_failed_end_stays(make):
    source, connect = make()
    upstream = Upstream()
    asker = Asker(source).ask()
    connect(upstream)
    upstream.end(ERROR)
    assert asker.abort().ask().ends == [ERROR] * 3
    assert upstream.aborts == []


def test_a_pair_stands_between_others():
    found = pull.values([1, 2]) | pull.map(str) | pull.pair() | pull.map(str.upper) | pull.pair() | pull.collect()
    assert found.get() == ["1", "2"]
    assert values_of((pull.map(str) | pull.pair())(pull.values([1]))) == ["1"]
    pair = pull.pair()
    pull.values([3]) | pair.sink
    assert (pair | pull.collect()).get() == [3]


# defer_through, defer_sink, cont


def test_a_through_that_is_known_later_is_asked_for_what_was_asked():
    later, upstream = pull.defer_through(), Upstream()
    asker = Asker(pull.pull(upstream, later)).ask(2)
    assert upstream.waiting == []
    later.resolve(pull.map(str))
    upstream.give(1)
    upstream.end()
    assert asker.answers == [(None, "1"), (True, None)]


@pytest.mark.parametrize("through", [pull.map(str), lambda read: read, pull.pair(), pull.take(1) | pull.map(str)])
def test_a_through_is_whatever_may_stand_there(through):
    later = pull.defer_through()
    result = pull.values(["a"]) | later | pull.collect()
    later.resolve(through)
    assert result.get() == ["a"]


def test_an_abort_before_the_through_is_known_goes_up_and_waits_for_the_confirmation():
    later, upstream = pull.defer_through(), Upstream()
    asker = Asker(pull.pull(upstream, later)).ask().abort(ERROR)
    assert (upstream.aborts, asker.answers) == ([ERROR], [])
    upstream.confirm()
    assert asker.ends == [ERROR, ERROR]
    later.resolve(pull.map(str))
    assert asker.ask().ends == [ERROR] * 3
    assert upstream.aborts == [ERROR]


def test_a_sink_that_is_known_later_reads_nothing_before():
    later, upstream, seen = pull.defer_sink(), Upstream(), []
    pull.pull(upstream, pull.map(str), later)
    assert upstream.waiting == []
    later.resolve(pull.drain(seen.append))
    upstream.give(1)
    assert seen == ["1"]


@pytest.mark.parametrize("early", [True, False])
def test_a_sink_of_ones_own_may_be_known_later_or_before(early):
    later, told = pull.defer_sink(), []

    def sink(read):
        read(None, lambda end, value=None: told.append(value))

    if early:
        later.resolve(sink)
    pull.pull(pull.values([1]), later)
    if not early:
        later.resolve(sink)
    assert told == [1]


def test_a_sink_that_is_not_known_yet_can_be_aborted():
    later, upstream, told = pull.defer_sink(), Upstream(), []
    pull.pull(upstream, later)
    later.abort(ERROR)
    later.abort()
    assert upstream.aborts == [ERROR]
    ended = pull.defer_sink()
    ended.abort()
    pull.pull(pull.values([1], told.append), ended)
    assert told == [None]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pull.defer_through().resolve(5), TypeError, "defer_through: through must be a through, got 5"),
        (lambda: pull.defer_sink().resolve(5), TypeError, "defer_sink: sink must be a sink, got 5"),
        (lambda: pull.cont(5), TypeError, "cont: start must be an awaitable or a function, got 5"),
    ],
)
def test_refuses_what_is_no_module(make, error, message):
    with refuses(error, message):
        make()


def test_deferred_modules_are_wired_and_resolved_once():
    through, sink = pull.defer_through(), pull.defer_sink()
    through.resolve(pull.map(str))
    sink.resolve(pull.drain())
    for module in (through, sink):
        with pytest.raises(pull.PullError, match="is resolved already"):
            module.resolve(pull.pair() if module is through else pull.drain())
        pull.pull(pull.empty(), module)
        with pytest.raises(pull.PullError, match="reads from a source already"):
            pull.pull(pull.empty(), module)


def test_cont_begins_at_the_first_ask_and_takes_the_first_source_it_is_told():
    calls = []

    def find(found):
        calls.append(found)
        found(None, pull.values([1, 2]))
        found(None, pull.values([9]))

    source = pull.cont(find)
    assert calls == []
    assert values_of(source) == [1, 2]
    assert len(calls) == 1


@pytest.mark.parametrize(
    "find",
    [lambda found: found(ERROR), lambda found: raise_error(), lambda found: found(None, 5)],
    ids=["tells", "raises", "no source"],
)
def test_cont_fails_as_the_search_does(find):
    error, found = collected(pull.cont(find))
    assert found == []
    assert error is ERROR or str(error) == "cont: source must be a source, got 5"


def raise_error():
    raise ERROR


def test_cont_takes_an_awaitable_and_a_coroutine_function():
    import asyncio

    async def find():
        await asyncio.sleep(0)
        return pull.values([1, 2])

    async def main():
        return [
            await (pull.cont(given) | pull.collect())
            for given in (find, find(), asyncio.ensure_future(find()), lambda: find())
        ]

    assert asyncio.run(main()) == [[1, 2]] * 4


def test_an_abort_while_the_source_is_looked_for_aborts_it_when_it_comes():
    finds, told = [], []
    asker = Asker(pull.cont(finds.append)).ask().abort(ERROR)
    assert asker.ends == [ERROR, ERROR]
    finds[0](None, pull.values([1], told.append))
    assert told == [ERROR]
