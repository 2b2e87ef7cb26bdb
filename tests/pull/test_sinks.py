"""Sinks read to the end, one ask at a time, and tell once how it ended; what nobody is told is raised."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, dropped, nothing_dropped, raising, refuses

ERROR = ValueError("bad")

HASHABLE = (
    "reduce: initial must be hashable, since all runs begin with it, got []; "
    "give create=, a function that makes one for each run"
)


def failing():
    yield 1
    yield 2
    raise ERROR


def asked(read):
    """Read as a source that does not have its values at hand."""
    return lambda abort, answer=None: read(abort, answer)


each_way = pytest.mark.parametrize("way", [lambda source: source, asked], ids=["looped over", "asked"])


@each_way
@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda done: pull.drain(None, done), ()),
        (pull.on_end, ()),
        (pull.collect, ([1, 2, 3],)),
        (lambda done: pull.reduce(lambda a, b: a + b, 10, done), (16,)),
        (lambda done: pull.reduce(lambda a, b: a + b, done=done), (6,)),
        (lambda done: pull.find(lambda n: n == 2, done), (2,)),
        (lambda done: pull.find(lambda n: n == 9, done), (None,)),
        (pull.concat, ("123",)),
    ],
)
def test_a_good_end_is_told_once_with_the_result(way, make, wanted):
    told = []
    pull.pull(way(pull.values([1, 2, 3])), make(lambda *given: told.append(given)))
    assert told == [(None, *wanted)]


@each_way
@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda done: pull.drain(None, done), ()),
        (pull.on_end, ()),
        (pull.collect, ([1, 2],)),
        (lambda done: pull.reduce(lambda a, b: a + b, 10, done), (13,)),
        (lambda done: pull.find(lambda n: n == 9, done), (None,)),
        (pull.concat, ("12",)),
    ],
)
def test_an_error_is_told_once_with_the_result_so_far(way, make, wanted):
    told = []
    pull.pull(way(pull.values(failing())), make(lambda *given: told.append(given)))
    assert told == [(ERROR, *wanted)]


def test_of_nothing_there_is_nothing_to_reduce():
    told = []
    for initial in (pull.MISSING, None, 5):
        pull.pull(pull.empty(), pull.reduce(max, initial, lambda *given: told.append(given)))
    assert told == [(None, None), (None, None), (None, 5)]


def test_log_prints_and_tells(capsys):
    told = []
    pull.pull(pull.values(["a", None]), pull.log(told.append))
    assert (capsys.readouterr().out, told) == ("a\nNone\n", [None])


@each_way
def test_an_op_that_returns_false_stops_well(way):
    told, aborted, seen = [], [], []

    def op(value):
        seen.append(value)
        return value < 2

    pull.pull(way(pull.values([1, 2, 3], aborted.append)), pull.drain(op, told.append))
    assert (seen, aborted, told) == ([1, 2], [None], [None])


@each_way
def test_only_false_itself_stops(way):
    seen = []
    pull.pull(way(pull.values([1, 2])), pull.drain(lambda value: [seen.append(value), 0][1]))
    assert seen == [1, 2]


@each_way
def test_an_op_that_raises_aborts_the_source_with_that(way):
    told, aborted, bad = [], [], ValueError("bad")
    pull.pull(way(pull.values([1, 2, 3], aborted.append)), pull.drain(raising(bad, 2), told.append))
    assert (aborted, told) == ([bad], [bad])
    assert bad.__notes__[0].startswith("in drain(raising.fn), parts.py:")


@each_way
def test_an_error_that_nobody_is_told_is_raised_where_the_sink_was_started(way):
    with pytest.raises(ValueError) as caught:
        pull.pull(way(pull.values(failing())), pull.drain())
    assert caught.value is ERROR
    with refuses(ValueError, "own"):
        pull.pull(way(pull.values([1])), pull.drain(raising(ValueError("own"))))


def test_or_goes_to_the_hook_when_that_is_long_over():
    upstream = Upstream()
    pull.pull(upstream, pull.drain())
    with dropped() as reported:
        upstream.end(ERROR)
    assert [each.error for each in reported] == [ERROR]


@each_way
def test_what_a_done_raises_is_raised_where_the_sink_was_started_and_does_not_reach_the_source(way):
    answered = []

    def source(abort, answer=None):
        answer(True)
        answered.append("returned")

    with refuses(ValueError, "bad"):
        pull.pull(way(source), pull.drain(None, raising(ValueError("bad"))))
    assert answered == ["returned"]


def test_what_a_done_raises_later_goes_to_the_hook():
    upstream, bad = Upstream(), ValueError("bad")
    pull.pull(upstream, pull.drain(None, raising(bad)))
    with dropped() as reported:
        upstream.end()
    assert [each.error for each in reported] == [bad]


def test_one_ask_is_out_at_a_time():
    upstream, seen = Upstream(), []
    pull.pull(upstream, pull.drain(seen.append))
    for value in range(3):
        assert len(upstream.waiting) == 1
        upstream.give(value)
    assert seen == [0, 1, 2]


@each_way
def test_an_interrupt_passes_and_closes_what_is_looped_over(way):
    closed = []

    def numbers():
        try:
            yield from range(9)
        finally:
            closed.append(True)

    items = numbers()

    def op(value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull.pull(way(pull.values(items)), pull.drain(op))
    items.close()
    assert closed == [True]


def test_an_interrupt_closes_the_iterator_at_once():
    class Items:
        closed = 0

        def __iter__(self):
            return self

        def __next__(self):
            return 1

        def close(self):
            self.closed += 1

    items = Items()

    def interrupted(value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull.pull(pull.values(items), pull.drain(interrupted))
    assert items.closed == 1


# drain.abort


@pytest.mark.parametrize("error", [None, ERROR])
def test_a_drain_can_be_aborted_from_outside(error):
    upstream, told, later = Upstream(), [], []
    sink = pull.drain(None, told.append)
    pull.pull(upstream, sink)
    sink.abort(error, later.append)
    reason = True if error is None else error
    assert (upstream.aborts, told) == ([reason], [])
    upstream.confirm(reason)
    assert (told, later) == ([error], [error])
    sink.abort(OSError("again"), later.append)
    assert later == [error, error]
    assert upstream.aborts == [reason]


@pytest.mark.parametrize("error", [None, ERROR])
def test_a_drain_that_was_aborted_before_it_reads_aborts_its_source_and_tells(error):
    told, later, aborted = [], [], []
    sink = pull.drain(None, told.append)
    sink.abort(error, later.append)
    pull.pull(pull.values([1], aborted.append), sink)
    assert (aborted, told, later) == ([error], [error], [error])


def test_a_drain_may_be_aborted_by_its_own_op():
    seen, told = [], []
    sink = pull.drain(lambda value: [seen.append(value), value == 2 and sink.abort(ERROR)][0], told.append)
    pull.pull(pull.count(), sink)
    assert (seen, told) == ([0, 1, 2], [ERROR])


def test_a_value_that_comes_after_the_abort_is_dropped():
    upstream, seen = Upstream(), []
    sink = pull.drain(seen.append)
    pull.pull(upstream, sink)
    sink.abort()
    upstream.give("late")
    upstream.confirm()
    assert seen == []


def test_a_failed_close_is_told():
    upstream, told, bad = Upstream(), [], OSError("close")
    sink = pull.drain(None, told.append)
    pull.pull(upstream, sink)
    sink.abort()
    upstream.confirm(bad)
    assert told == [bad]


def test_a_drain_that_has_ended_tells_who_asks_later_how():
    told = []
    sink = pull.drain(None, told.append)
    pull.pull(pull.error(ERROR), sink)
    sink.abort(done=told.append)
    assert told == [ERROR, ERROR]


def test_a_sink_is_wired_once():
    sink = pull.drain()
    pull.pull(pull.empty(), sink)
    with refuses(pull.PullError, "property B15: drain reads from a source already; a sink is wired once"):
        pull.pull(pull.empty(), sink)


def test_collect_may_be_used_again_because_it_carries_nothing():
    told = []
    sink = pull.collect(lambda error, found: told.append(found))
    pull.pull(pull.values([1]), sink)
    pull.pull(pull.values([2]), sink)
    assert told == [[1], [2]]


def test_a_sink_may_be_given_a_plain_read():
    told = []
    pull.collect(lambda error, found: told.append(found))(pull.values([1]).read)
    pull.drain(told.append)(lambda abort, answer=None: answer(True))
    assert told == [[1]]


def test_nothing_is_reported_when_all_is_well():
    with nothing_dropped():
        pull.pull(pull.count(3), pull.map(str), pull.take(2), pull.buffer(2), pull.drain())
        Asker(pull.pull(pull.count(), pull.flatten(), pull.take(2))).ask(3).abort(ERROR)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pull.drain(5), "drain: op must be callable, got 5"),
        (lambda: pull.drain(None, 5), "drain: done must be callable, got 5"),
        (lambda: pull.on_end(5), "on_end: done must be callable, got 5"),
        (lambda: pull.log(5), "log: done must be callable, got 5"),
        (lambda: pull.collect(5), "collect: done must be callable, got 5"),
        (lambda: pull.reduce(5, 0, print), "reduce: fn must be callable, got 5"),
        (
            lambda: pull.reduce(max, []),
            HASHABLE,
        ),
        (lambda: pull.reduce(max, 0, create=int), "reduce: one of initial and create must be given"),
        (lambda: pull.reduce(max, 0, 5), "reduce: done must be callable, got 5"),
        (lambda: pull.find(5, print), "find: predicate must be callable, got 5"),
        (lambda: pull.find(print, 5), "find: done must be callable, got 5"),
        (lambda: pull.concat(5), "concat: done must be callable, got 5"),
        (lambda: pull.drain()(5), "drain: source must be a source, got 5"),
    ],
)
def test_refuses_what_makes_no_sense(make, message):
    with refuses(TypeError, message):
        make()


@each_way
def test_an_interrupt_passes_and_closes_the_source_on_its_way(way):
    closed, told = [], []

    def numbers():
        try:
            yield from range(9)
        finally:
            closed.append(True)

    def interrupted(value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull.pull(way(pull.from_iter(numbers())), pull.drain(interrupted, told.append))
    assert (closed, told) == ([True], [])


# Results without a function to be told


@pytest.mark.parametrize(
    ("sink", "wanted"),
    [
        (lambda: pull.collect(), [1, 2, 3]),
        (lambda: pull.reduce(lambda a, b: a + b, 10), 16),
        (lambda: pull.reduce(lambda a, b: a + b), 6),
        (lambda: pull.reduce(lambda found, n: [*found, n], create=list), [1, 2, 3]),
        (lambda: pull.find(lambda n: n == 2), 2),
        (lambda: pull.find(lambda n: n == 9), None),
        (lambda: pull.concat(), "123"),
        (lambda: pull.on_end(), None),
    ],
)
def test_a_sink_without_a_function_returns_what_can_be_awaited_or_got(sink, wanted):
    import asyncio

    async def awaited():
        return await pull.pull(pull.from_async_iter(later_numbers()), sink())

    async def later_numbers():
        for number in (1, 2, 3):
            await asyncio.sleep(0)
            yield number

    result = pull.pull(pull.values([1, 2, 3]), sink())
    assert (result.done, result.get(), result.so_far) == (True, wanted, wanted)
    assert asyncio.run(awaited()) == wanted


def test_a_result_raises_what_the_stream_failed_with_and_keeps_what_there_was():
    result = pull.pull(pull.values(failing()), pull.collect())
    with pytest.raises(ValueError) as caught:
        result.get()
    assert caught.value is ERROR
    assert result.so_far == [1, 2]


def test_a_result_is_waited_for_across_threads():
    import threading

    inbox = pull.pushable()
    result = inbox | pull.map(str) | pull.collect()
    assert not result.done
    worker = threading.Thread(target=lambda: [inbox.push(1), inbox.push(2), inbox.end()])
    worker.start()
    assert result.get(timeout=30) == ["1", "2"]
    worker.join(30)


def test_a_result_that_never_comes_is_not_waited_for_beyond_the_timeout():
    with refuses(TimeoutError, "collect: the stream has not ended within 0.01 seconds"):
        (pull.pushable() | pull.collect()).get(timeout=0.01)


def test_getting_a_result_where_an_event_loop_runs_is_refused_with_the_cure():
    import asyncio

    async def main():
        with refuses(RuntimeError, "collect: get() would stop the event loop that runs here; await it"):
            (pull.pushable() | pull.collect()).get()

    asyncio.run(main())


def test_an_error_that_nobody_asks_a_result_for_is_not_swallowed():
    import gc

    with dropped() as reported:
        pull.pull(pull.error(ValueError("of its own")), pull.collect())
        gc.collect()
    assert [(each.what, str(each.error)) for each in reported] == [
        ("pull: a stream failed and no caller asked for the result of collect", "of its own")
    ]


def test_runs_of_one_sink_do_not_share_what_they_begin_with():
    sink = pull.reduce(lambda found, n: [found.append(n), found][1], create=list)
    assert [pull.pull(pull.values([1, 2]), sink).get() for _ in range(2)] == [[1, 2], [1, 2]]


def test_find_tells_what_it_found_before_the_abort_is_confirmed():
    upstream, told = Upstream(), []
    pull.pull(upstream, pull.find(lambda n: n == 2, lambda *given: told.append(given)))
    upstream.give(2)
    assert (told, upstream.aborts) == ([(None, 2)], [True])
    with dropped() as reported:
        upstream.confirm(ERROR)
    assert told == [(None, 2)]
    assert [each.error for each in reported] == [ERROR]


def test_concat_joins_bytes_and_refuses_a_mixture():
    assert pull.pull(pull.values([b"a", bytearray(b"b"), memoryview(b"c")]), pull.concat()).get() == b"abc"
    assert pull.pull(pull.values([1, "a", None]), pull.concat()).get() == "1aNone"
    with refuses(TypeError, "concat: values must be all bytes or none of them, got 'b' among bytes"):
        pull.pull(pull.values([b"a", "b"]), pull.concat()).get()
