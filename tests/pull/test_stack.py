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


def test_sixty_throughs_that_are_not_one_fit_on_the_stack():
    throughs = [pull.checker() if n % 2 else pull.map(abs) for n in range(60)]
    assert counted(pull.count(99), *throughs) == 100


DEEP = {
    "map": lambda source: pull.map(lambda value: value)(source),
    "through": lambda source: pull.through(None, lambda error: None)(source),
    "batch": lambda source: pull.batch(1)(source),
    "async_map": lambda source: pull.async_map(lambda value, finished: finished(None, value))(source),
    "checker": lambda source: pull.checker()(source),
    "cat": lambda source: pull.cat([source]),
}


@pytest.mark.parametrize("wrap", DEEP.values(), ids=DEEP)
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
