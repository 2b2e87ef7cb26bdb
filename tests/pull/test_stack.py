"""However many values pass, are dropped, or are empty, the stack stays bounded: the recursion limit is 1000."""

from __future__ import annotations

import asyncio
import sys

import pytest

from penstock import flow, pull
from tests.pull.parts import Upstream

MANY = 100_000
SOME = 5_000


@pytest.fixture(autouse=True)
def recursion_limit():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def apart(read):
    """Be a plain function, so that nothing is looped over."""
    return lambda abort, answer=None: read(abort, answer)


def counted(*modules):
    """Run modules and return how many values came."""
    count, told = 0, []

    def op(value):
        nonlocal count
        count += 1

    pull.pull(*modules, pull.drain(op, told.append))
    assert told == [None]
    return count


CHAINS = {
    "map and filter": ([pull.map(lambda n: n), pull.filter(lambda n: n % 2)], MANY // 2),
    "a filter that drops everything": ([pull.filter(lambda n: False)], 0),
    "unique": ([pull.unique(lambda n: 0)], 1),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("way", [lambda read: read, apart], ids=["looped over", "asked"])
def test_steps(name, way):
    modules, wanted = CHAINS[name]
    assert counted(way(pull.count(MANY - 1)), *modules) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    "empty", [lambda n: [], lambda n: iter(()), lambda n: pull.empty()], ids=["lists", "iterators", "sources"]
)
def test_100_000_empty_inners(empty):
    assert counted(pull.count(MANY - 1), pull.flat_map(empty)) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: pull.flatten(),
        lambda: pull.batch(7),
        lambda: pull.sliding(len, 50),
        lambda: pull.buffer(9),
        lambda: pull.catch(),
        lambda: pull.abortable(),
        lambda: pull.queue_through(lambda queue, value: None),
        lambda: pull.async_map(lambda value, finished: finished(None, value)),
        lambda: pull.para_map(lambda value, finished: finished(None, value), 5),
        lambda: pull.para_map(lambda value, finished: finished(None, value)),
        lambda: pull.checker(),
        lambda: pull.ref_through(),
        lambda: pull.through_flow(flow(lambda stream: stream.filter(lambda n: n % 3))),
        lambda: lambda read: pull.cat([read]),
        lambda: lambda read: pull.many([read]),
        lambda: lambda read: pull.merge([read]),
        lambda: lambda read: pull.zip_sources(read),
        lambda: lambda read: pull.from_publisher(pull.to_publisher(read)),
    ],
)
def test_every_through_over_a_source_that_answers_at_once(make):
    counted(apart(pull.count(SOME)), make())


def test_many_sources_one_after_the_other():
    assert counted(pull.cat(pull.empty() for _ in range(SOME))) == 0


def test_many_asks_that_wait_are_answered_without_nesting():
    source, seen = pull.pushable(), 0

    def answer(end, value=None):
        nonlocal seen
        seen += 1
        if seen < SOME:
            read(None, answer)

    read = pull.pull(source, pull.filter(lambda n: True), pull.flatten()).read
    read(None, answer)
    for value in range(SOME):
        source.push(value)
    assert seen == SOME


def test_an_upstream_that_answers_late_does_not_pile_up():
    upstream = Upstream()
    seen = []
    pull.pull(upstream, pull.map(str), pull.filter(bool), pull.flatten(), pull.drain(seen.append))
    for value in range(SOME):
        upstream.give(value)
    assert len(seen) == SOME


def test_an_event_loop_does_not_pile_up():
    async def numbers():
        for number in range(3000):
            yield number

    async def main():
        return [n async for n in pull.to_async_iter(pull.pull(pull.from_async_iter(numbers()), pull.map(abs)))]

    assert len(asyncio.run(main())) == 3000


NESTED = {
    "map": lambda: pull.map(lambda value: value),
    "through": lambda: pull.through(None, lambda error: None),
    "batch": lambda: pull.batch(1),
    "flatten": lambda: pull.flatten(),
    "sliding": lambda: pull.sliding(lambda window: window[0], 1),
    "buffer": lambda: pull.buffer(2),
    "catch": lambda: pull.catch(),
    "abortable": lambda: pull.abortable(),
    "queue_through": lambda: pull.queue_through(lambda queue, value: queue.put(value)),
    "async_map": lambda: pull.async_map(lambda value, finished: finished(None, value)),
    "para_map": lambda: pull.para_map(lambda value, finished: finished(None, value), 2),
    "checker": lambda: pull.checker(),
    "probe": lambda: pull.probe([]),
    "ref_through": lambda: pull.ref_through(),
    "through_flow": lambda: pull.through_flow(flow(lambda stream: stream.map(lambda value: value))),
    "pair": lambda: pull.pair(),
    "cat": lambda: lambda read: pull.cat([read]),
    "many": lambda: lambda read: pull.many([read]),
    "merge": lambda: lambda read: pull.merge([read], str),
    "zip_sources": lambda: lambda read: pull.zip_sources(read),
    "hand-written": lambda: lambda read: lambda abort, answer=None: read(abort, answer),
    "hand-written, with answers": lambda: answering,
}


def answering(read):
    """Pass requests up and answers down, by functions of its own."""

    def request(abort, answer=None):
        def answered(end, value=None):
            answer(end, value)

        read(abort, answer and answered)

    return request


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
def test_two_hundred_modules_fit_on_the_stack(name, late):
    due = pull.Schedule(at_once=not late)
    told, seen = [], []
    modules = [NESTED[name]() for _ in range(200)]
    pull.pull(pull.ref_source(3, schedule=due), *modules, pull.drain(seen.append, told.append))
    due.run()
    assert (len(seen), told) == (3, [None])


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
def test_two_hundred_modules_of_all_kinds_fit_on_the_stack_and_can_be_aborted(late):
    due = pull.Schedule(at_once=not late)
    makes = [make for name, make in NESTED.items() if name not in {"batch", "zip_sources", "through_flow"}]
    told, seen = [], []
    modules = [makes[number % len(makes)]() for number in range(200)]
    sink = pull.drain(seen.append, told.append)
    source = pull.ref_source(None, schedule=due)
    pull.pull(source, *modules, pull.take(3), sink)
    due.run()
    assert (len(seen), told, source.aborts) == (3, [None], [True])


DEEP = {
    "map": lambda source: pull.map(lambda value: value)(source),
    "through": lambda source: pull.through(None, lambda error: None)(source),
    "batch": lambda source: pull.batch(1)(source),
    "async_map": lambda source: pull.async_map(lambda value, finished: finished(None, value))(source),
    "cat": lambda source: pull.cat([source]),
}


@pytest.mark.parametrize("wrap", DEEP.values(), ids=DEEP)
def test_a_thousand_modules_fit_where_each_reads_the_other(wrap):
    source = apart(pull.count(3))
    for _ in range(1000):
        source = wrap(source)
    told = []
    pull.pull(source, pull.drain(None, told.append))
    assert told == [None]


TOO_DEEP = {
    "checker": lambda source: pull.checker()(source),
    "hand-written": apart,
}


@pytest.mark.parametrize("wrap", TOO_DEEP.values(), ids=TOO_DEEP)
def test_a_pipeline_that_is_too_deep_for_the_stack_fails_and_does_not_hang(wrap):
    source = apart(pull.count(3))
    for _ in range(1000):
        source = wrap(source)
    told = []
    pull.pull(source, pull.drain(None, told.append))
    assert [type(error) for error in told] == [RecursionError]


def test_deferred_sources_that_are_too_many_for_the_stack_fail_and_do_not_hang():
    last = first = pull.defer_source()
    for _ in range(1000):
        following = pull.defer_source()
        last.resolve(following)
        last = following
    told = []
    pull.pull(first, pull.drain(None, told.append))
    assert [type(error) for error in told] == [RecursionError]


def test_a_pipeline_in_a_function_of_a_long_pipeline_runs_to_its_end_there():
    inner = []

    def run_another(value):
        found = []
        pull.pull(pull.count(2), *[pull.catch() for _ in range(99)], pull.drain(found.append))
        inner.append(found)
        return value

    chain = [pull.catch() for _ in range(99)]
    assert counted(pull.count(1), *chain, pull.map(run_another), *[pull.catch() for _ in range(99)]) == 2
    assert inner == [[0, 1, 2]] * 2


# Sinks and throughs of one's own


def recursive(got, ends):
    """Be the sink of pull-stream's README: it asks where it is answered."""

    def sink(read):
        def answered(end, value=None):
            if end is not None:
                ends.append(end)
                return
            got.append(value)
            read(None, answered)

        read(None, answered)

    return sink


def hand_written(count):
    def read(abort, answer=None):
        nonlocal given
        given += 1
        answer(True) if abort is not None or given > count else answer(None, given)

    given = 0
    return read


HAND_WRITTEN = {
    "nothing": list,
    "a through": lambda: [apart],
    "a through that answers": lambda: [answering],
    "a through and a map": lambda: [apart, pull.map(str)],
    "a map and a through": lambda: [pull.map(str), answering],
    "throughs and a filter": lambda: [answering, pull.filter(lambda n: True), apart],
    "a through and others": lambda: [pull.batch(1), apart, pull.flatten(), answering, pull.catch()],
    "a through and a buffer": lambda: [answering, pull.buffer(3), apart],
    "a through and a checker": lambda: [apart, pull.checker(), answering],
}


@pytest.mark.parametrize("source", [pull.values, lambda items: hand_written(len(items))], ids=["ours", "hand-written"])
@pytest.mark.parametrize("modules", HAND_WRITTEN.values(), ids=HAND_WRITTEN)
def test_a_recursive_sink_of_ones_own_gets_every_value(modules, source):
    got, ends = [], []
    pull.pull(source(range(20_000)), *modules(), recursive(got, ends))
    assert (len(got), ends) == (20_000, [True])


@pytest.mark.slow
def test_a_recursive_sink_gets_a_million_values_through_a_through_of_ones_own():
    got, ends = [], []
    pull.pull(pull.values(range(1_000_000)), apart, pull.map(abs), recursive(got, ends))
    assert (len(got), ends) == (1_000_000, [True])


def test_a_sink_that_recurses_without_end_by_itself_fails_aloud():
    def sink(read):
        def answered(end, value=None):
            answered(end, value)

        read(None, answered)

    with pytest.raises(RecursionError):
        pull.pull(pull.values([1, 2]), apart, pull.map(abs), sink)
